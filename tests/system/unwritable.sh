#!/bin/bash
# unwritable.sh - a dcpid whose database cannot be written, is deleted under it, or is held by a reader that was stopped
#
# Each time it says so, keeps counting, recovers by itself, and no sample is missing: what dcpid says that it sampled is
# what the database has.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# configure [LINE]... - one event, a flush a second, the smallest memory for counts; each test has a file of its own
configure()
{
	configuration=$scratch/$BASHPID.conf
	{
		printf 'flush_interval = 1;\ntally_limit = 1024;\nevents = ( { name = "cpu-clock"; rate = 1000; } );\n'
		[ $# = 0 ] || printf '%s\n' "$@"
	} >"$configuration"
}

# begin NAME [VARIABLE=VALUE]... - dcpid on $db, its socket beside it, what it tells the service manager in $db.notify
begin()
{
	db=$scratch/$1/db
	socket=$scratch/$1.control
	log=$scratch/$1.log
	notified=$scratch/$1.notify
	shift
	mkdir -p "$(dirname "$db")"
	# shellcheck disable=SC2016 # perl's own
	start perl -MSocket -e '
		socket(S, AF_UNIX, SOCK_DGRAM, 0) && bind(S, pack_sockaddr_un($ARGV[0])) or die $!;
		$| = 1;
		print "$_\n" while defined recv(S, $_, 4096, 0)' "$notified.socket" >"$notified"
	wait_for 10 test -S "$notified.socket"
	start env "$@" NOTIFY_SOCKET="$notified.socket" WATCHDOG_USEC=2000000 \
		dcpid --foreground --db "$db" --socket "$socket" --label kept --config "$configuration" 2>"$log"
	dcpid=$started
	wait_for 20 dcpictl --socket "$socket" status || {
		not_ok 'dcpid starts' "$(cat "$log")"
		return 1
	}
}

status()
{
	dcpictl --socket "$socket" status --json
}

# is FILTER - of the status
is()
{
	status | json_holds "$1" >/dev/null
}

# Programs, addresses and command names in plenty, for a second or so.
work()
{
	find /usr/lib /usr/bin /etc -newer /proc/1 -name 'a*' >/dev/null 2>&1
	perl -e '$x{$_ % 977} .= sprintf("%x", $_) for 1 .. 200000; print join ",", sort values %x' | gzip -9 | sha256sum >/dev/null
	awk 'BEGIN { for (i = 0; i < 400000; i++) s = s % 97 i; print s }' | sort | wc >/dev/null
	ls -lR /usr/include >/dev/null 2>&1
}

# work_until SECONDS FILTER
work_until()
{
	local deadline=$((SECONDS + $1))

	until is "$2"; do
		[ $SECONDS -lt $deadline ] || return 1
		work
	done
}

# work_while_failing NAME TEXT - until it says TEXT as its trouble, and then until it drops samples
work_while_failing()
{
	local fed

	check "$1: status says so" work_until 60 ".trouble[0] // \"\" | startswith(\"cannot write $db: $2; \")"
	check "$1: samples are dropped, and counted, when memory is full" work_until 120 '.events[0].dropped > 0'
	check "$1: no ring overflows meanwhile" is '.events[0].lost == 0'
	check "$1: the service manager is told" grep -q "^STATUS=cannot write $db: $2; .* samples kept in memory, .* dropped since" "$notified"
	check "$1: the log says so" grep -q "cannot write to the database: $2" "$log"
	fed=$(grep -c '^WATCHDOG=1' "$notified")
	check "$1: the watchdog is fed" wait_for 20 eval "[ \$(grep -c '^WATCHDOG=1' '$notified') -gt $fed ]"
}

# settle NAME - it recovers by itself, and what was sampled is in the database
settle()
{
	local sampled counted

	check "$1: it recovers by itself" wait_for 90 is '.trouble == []'
	work
	sampled=$(status | jq '.totals.samples')
	check "$1: dcpid quits" dcpictl --socket "$socket" quit
	wait "$dcpid"
	sampled=$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1)
	counted=$(samples_written "$db" all)
	figure "$1: $(dcpiprof --db "$db" --epoch all --json | jq -c '[.events[] | [.samples, .dropped, .lost]]') samples, dropped, lost"
	check_equal "$1: no sample is missing" "$sampled" "$counted"
	check "$1: the database is sound" dcpictl --db "$db" check
}

test_full_disk()
{
	local disk=$scratch/full

	mount_or_skip 8m "$disk" 'a full disk' || return 0
	configure
	begin full || return
	wait_for 20 is '.slice == 1'
	dd if=/dev/zero of="$disk/filler" bs=4096 >/dev/null 2>&1
	work_while_failing 'a full disk' 'No space left on device'
	rm "$disk/filler"
	settle 'a full disk'
	check 'a full disk: the report says what was dropped' grep -q ' dropped' <(dcpiprof --db "$db")
	umount "$disk"
}

# fail_disk NAME ERRNO TEXT
fail_disk()
{
	configure
	begin "$1" LD_PRELOAD="$build/workloads/fail_disk.so" FAIL_DISK="$scratch/$1.error" || return
	wait_for 20 is '.slice == 1'
	echo "$2" >"$scratch/$1.error"
	work_while_failing "$1" "$3"
	rm "$scratch/$1.error"
	settle "$1"
}

test_failing_disk()
{
	fail_disk failing 5 'Input/output error'
}

# A disk that does not answer at all holds the flusher up, for a minute and more, and nobody else.
test_hanging_disk()
{
	local fed

	configure
	begin hanging LD_PRELOAD="$build/workloads/fail_disk.so" FAIL_DISK="$scratch/hanging.error" || return
	wait_for 20 is '.slice == 1'
	echo 'slow 600000 data.mdb' >"$scratch/hanging.error"
	work
	check 'hanging: status says so' work_until 90 '.trouble[0] // "" | contains(" has taken ")'
	check_fails 'hanging: an epoch is refused' 1 'the counts of the old epoch cannot be written' \
		timeout 60 dcpictl --socket "$socket" epoch
	fed=$(grep -c '^WATCHDOG=1' "$notified")
	check 'hanging: status answers all the same' timeout 30 dcpictl --socket "$socket" status
	check 'hanging: the watchdog is fed' wait_for 20 eval "[ \$(grep -c '^WATCHDOG=1' '$notified') -gt $fed ]"
	rm "$scratch/hanging.error"
	check 'hanging: when it answers, an epoch begins' timeout 60 dcpictl --socket "$socket" epoch --label answered
	settle 'hanging'
}

test_read_only_disk()
{
	fail_disk read-only 30 'Read-only file system'
}

names_stand_still()
{
	local before

	before=$(status | jq .contexts)
	sleep 1
	is ".contexts == $before"
}

# Names and images that are new all the time, for longer than memory has room for them.
test_churn()
{
	local bytes known

	configuration=$scratch/churn.conf
	echo 'flush_interval = 1; events = ( { name = "page-faults"; period = 1; } );' >"$configuration"
	begin churn LD_PRELOAD="$build/workloads/fail_disk.so" FAIL_DISK="$scratch/churn.error" || return
	wait_for 20 is '.slice == 1'
	echo 5 >"$scratch/churn.error"
	start "$build/workloads/name_churn" 2>/dev/null
	check 'churn: status says that names have no room' \
		wait_for 120 is 'any(.trouble[]; startswith("memory for names is full"))'
	check 'churn: images are counted as unknown then' wait_for 60 is '.events[0].unknown["no-memory"] > 1000'
	check 'churn: commands become one in the end' wait_for 120 names_stand_still
	bytes=$(status | jq .own_bytes)
	known=$(status | jq '[.images, .contexts]' -c)
	check 'churn: it goes on' wait_for 120 is ".events[0].unknown[\"no-memory\"] > 2 * $(status | jq '.events[0].unknown["no-memory"]')"
	check_equal 'churn: and no name more is remembered' "$known" "$(status | jq '[.images, .contexts]' -c)"
	check_at_most 'churn: nor memory taken' $((bytes + (8 << 20))) "$(status | jq .own_bytes)"
	figure "churn: $known images and contexts; $((bytes >> 20)) MiB, later $(($(status | jq .own_bytes) >> 20)) MiB"
	stop "$started"
	rm "$scratch/churn.error"
	settle churn
	check 'churn: commands that had no room are one' dcpiprof --db "$db" --epoch all --comm '(other)'
}

test_deleted_database()
{
	configure
	begin deleted || return
	work
	check 'deleted: there is something' dcpictl --socket "$socket" flush
	mkdir "$db.old"
	ln "$db/data.mdb" "$db.old/data.mdb" # so that it can be counted
	rm -rf "${db:?}"/*
	work
	check 'deleted: it is noticed and said' wait_for 30 grep -q 'the database was deleted, moved away or replaced' "$log"
	wait_for 30 test -s "$db/data.mdb"
	check_equal 'deleted: the epoch goes on with its label' kept "$(status | jq -r .epoch.label)"
	check 'deleted: dcpid quits' dcpictl --socket "$socket" quit
	wait "$dcpid"
	check 'deleted: what was sampled since is there' dcpiprof --db "$db" --epoch kept
	check_equal 'deleted: no sample is missing but those that were in it' \
		"$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1)" \
		$(($(samples_written "$db" all) + $(samples_written "$db.old" all)))
	check 'deleted: the kernel has its names again' grep -q ' \[kernel\]$' <(dcpiprof --db "$db")
	check 'deleted: the database is sound' dcpictl --db "$db" check
}

# With the directory goes the socket that dcpictl talks to, and both come back.
test_deleted_directory()
{
	configure
	start_dcpid "$scratch/gone" --config "$configuration" || {
		not_ok 'dcpid starts' "$(cat "$scratch/gone.log")"
		return
	}
	rm -rf "$scratch/gone"
	check 'a deleted directory: dcpid answers again' wait_for 30 dcpictl --db "$scratch/gone" status
	check 'a deleted directory: what is sampled goes there' dcpictl --db "$scratch/gone" flush
	check 'a deleted directory: and it can be read' dcpictl --db "$scratch/gone" check
	stop "$started"
	check_equal 'a deleted directory: dcpid ends well' 0 $?
}

# A dcpid that may not make its directory again, as the service: it asks for it, and loses nothing meanwhile.
test_forbidden_directory()
{
	local rights=+perfmon,+sys_ptrace,+syslog,+ipc_lock command

	db=$scratch/forbidden/db
	socket=$scratch/forbidden.run/control
	log=$scratch/forbidden.log
	chmod a+x "$scratch"
	mkdir "$scratch/forbidden"
	install -d -o nobody -g nogroup "$db" "$(dirname "$socket")"
	configure
	chmod a+r "$configuration"
	setpriv --inh-caps=$rights --ambient-caps=$rights --reuid=nobody --regid=nogroup --clear-groups true 2>/dev/null || {
		skip 'a directory that dcpid may not make' 'setpriv cannot give these capabilities here'
		return
	}
	start setpriv --inh-caps=$rights --ambient-caps=$rights --reuid=nobody --regid=nogroup --clear-groups \
		"$(command -v dcpid)" --foreground --db "$db" --socket "$socket" --config "$configuration" 2>"$log"
	dcpid=$started
	wait_for 20 is '.slice == 1' || {
		not_ok 'dcpid starts as nobody' "$(cat "$log")"
		return
	}
	mv "$db" "$db.old"
	command="install -d -m 0750 -o nobody -g nogroup $db"
	check 'forbidden: status says what mends it' wait_for 60 is ".trouble[0] // \"\" |
		startswith(\"cannot write $db: the directory was removed, and dcpid may not make it again: '$command'; \")"
	check 'forbidden: and the log' grep -q "may not make it again: '$command'; counts are kept in memory" "$log"
	check 'forbidden: the command does' bash -c "$command"
	check 'forbidden: dcpid goes on by itself' wait_for 60 is '.trouble == [] and .slice >= 1'
	check 'forbidden: dcpid quits' dcpictl --socket "$socket" quit
	wait "$dcpid"
	check_equal 'forbidden: no sample is missing' \
		"$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1)" \
		$(($(samples_written "$db" all) + $(samples_written "$db.old" all)))
	check 'forbidden: both are sound' eval "dcpictl --db '$db' check && dcpictl --db '$db.old' check"
}

test_moved_database()
{
	configure
	begin moved || return
	work
	dcpictl --socket "$socket" flush
	mv "$db" "$db.old"
	work
	check 'moved away: another is begun in its place' wait_for 30 test -s "$db/data.mdb"
	work
	check 'moved away: dcpid quits' dcpictl --socket "$socket" quit
	wait "$dcpid"
	check_equal 'moved away: no sample is missing' \
		"$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1)" \
		$(($(samples_written "$db" all) + $(samples_written "$db.old" all)))
	check 'moved away: both are sound' eval "dcpictl --db '$db' check && dcpictl --db '$db.old' check"
}

test_stopped_reader()
{
	local reader

	configure 'size_limit_mib = 16;'
	begin stopped || return
	work
	dcpictl --socket "$socket" flush
	start "$build/tests/system/hold_reader" "$db" >"$scratch/reader" 2>&1
	reader=$started
	wait_for 20 grep -q stopping "$scratch/reader"
	check 'a stopped reader: it is named in the status' \
		work_until 120 ".trouble[0] // \"\" | startswith(\"process $reader (hold_reader) has been reading the database since\")"
	# Grow to the limit: every page that a flush takes is one that it cannot use again.
	check 'a stopped reader: at the limit it is cut off' eval \
		"for i in {1..4000}; do dcpictl --socket '$socket' flush >/dev/null; grep -q 'process $reader was cut off' '$log' && break; done; grep -q 'process $reader was cut off' '$log'"
	check 'a stopped reader: it is no trouble any more' work_until 60 '.trouble == []'
	figure "a stopped reader: $(grep -o 'was cut off.*' "$log")"
	check_at_most 'a stopped reader: the file keeps its limit' $((17 << 20)) "$(stat -c %s "$db/data.mdb")"
	for _ in {1..100}; do dcpictl --socket "$socket" flush >/dev/null; done
	check 'a stopped reader: what it held is used again before any history is dropped' \
		eval "! grep -q 'the database is full' '$log'"
	kill -CONT "$reader"
	wait "$reader"
	# A fault in pages that are others by now says so, too, instead of damage.
	check 'a stopped reader: continued, it is told that what it read has gone' \
		grep -qx -e gone -e '.*the version of the database that was being read has gone .*' "$scratch/reader"
	settle 'a stopped reader'
}

may_sample_or_skip 'dcpid stands a database that cannot be written' || exit 0
side_by_side test_full_disk test_failing_disk test_hanging_disk test_read_only_disk test_deleted_database test_moved_database \
	test_deleted_directory test_forbidden_directory test_stopped_reader test_churn
