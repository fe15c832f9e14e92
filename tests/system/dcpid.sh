#!/bin/bash
# dcpid.sh - the real dcpid and dcpictl: life, commands, reloads, refusals, a full disk, a kill
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

db=$scratch/db
log=$db.log
status_of()
{
	dcpictl --db "$db" status --json | jq -r "$1"
}

# said - how many samples the daemon says it took, in its last words
said()
{
	sed -n 's/^dcpid: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1
}

# work SECONDS - keep a CPU busy
work()
{
	timeout "$1" sh -c 'while :; do :; done'
	true
}

epoch_is()
{
	[ "$(status_of .epoch.id)" = "$1" ]
}

# heard_times N PATTERN
heard_times()
{
	[ "$(grep -c "$2" "$scratch/heard")" = "$1" ]
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# end PID SIGNAL STATUS SENTENCE - it ends with STATUS on SIGNAL
end()
{
	local status

	stop "$1" "$2"
	status=$?
	check_equal "$4" "$3" "$status"
	# what a sanitizer had to say
	[ "$status" = "$3" ] || sed -n '/Sanitizer/,$p' "$scratch"/*.log | head -n 60 | sed 's/^/#   /'
}

test_command_lines()
{
	check_equal 'dcpid says its version' "dcpid $(dcpictl --version | cut -d ' ' -f 2)" "$(dcpid --version)"
	check_fails 'an option that is none is refused' 2 'unrecognized option' dcpid --forground
	check_fails 'a time that is none is refused' 2 "--seconds '0' is not a whole number" dcpid --seconds 0
	check_fails 'a label with a slash is refused' 2 'the label may have neither' dcpid --label a/b
	check_fails 'an argument is refused' 2 'Too many arguments' dcpid now
	check_fails 'a misspelt command is suggested' 2 "there is no command 'stats' (did you mean status?)" dcpictl stats
	check_fails 'a label goes with epoch' 2 '--label goes with epoch' dcpictl flush --label x
	check_fails 'a daemon that is not running is told' 1 \
		"$scratch/none/control: dcpid is not running (dcpid --foreground --db $scratch/none)" \
		dcpictl --db "$scratch/none" status
	check_fails 'a database that is not there is told' 1 'there is no profile database here' \
		dcpictl --db "$scratch/none" check
}

test_configuration()
{
	local conf=$scratch/check.conf

	check 'the example of the package is right' dcpid --check-config --config "$top/config/dcpid.conf"
	sed 's/^#\([a-z_]* = \|events\|	{\|);\)/\1/' "$top/config/dcpid.conf" >"$scratch/all.conf"
	: >"$scratch/empty.conf"
	check_equal 'its defaults are those that hold without it' \
		"$(dcpid --check-config --config "$scratch/empty.conf" | sed 1d)" \
		"$(dcpid --check-config --config "$scratch/all.conf" | sed 1d)"
	printf 'slice = 600;\nflush_interval = 0;\n' >"$conf"
	check_fails 'a bad value is named with file, line and range' 2 \
		"$conf:2: flush_interval is 0; it must be from 1 to 3600 seconds" dcpid --check-config --config "$conf"
	check_fails 'a configuration that is named must be there' 2 'No such file or directory' \
		dcpid --config "$scratch/none.conf" --db "$scratch/none"
	printf 'slice = 600;\n' >"$conf"
	chmod o+w "$conf"
	check_fails 'a configuration that others may write is refused' 2 'others may write it' \
		dcpid --check-config --config "$conf"
	printf 'log_level = "error";\n' >"$scratch/dcpid.conf"
	check_equal 'nothing is looked for in the working directory' \
		"$(cd / && dcpid --check-config)" "$(cd "$scratch" && dcpid --check-config)"
}

test_seconds()
{
	local output

	work 2 &
	output=$(dcpid --foreground --db "$scratch/short" --seconds 2 2>&1)
	check_equal 'after --seconds dcpid leaves with 0' 0 $?
	wait $!
	if [[ $output =~ dcpid:\ ([0-9]+)\ samples\ in\ [0-9.]+\ s\ \(([0-9]+)\ unknown,\ ([0-9]+)\ lost\) ]]; then
		ok 'and says what it saw'
		figure "dcpid --seconds 2: ${BASH_REMATCH[1]} samples, ${BASH_REMATCH[2]} unknown, ${BASH_REMATCH[3]} lost"
		check_at_most 'a busy CPU gives at least 100 samples/s' "${BASH_REMATCH[1]}" 200
		check_equal 'none is lost' 0 "${BASH_REMATCH[3]}"
	else
		not_ok 'and says what it saw' "$output"
	fi
	check 'its database is sound' dcpictl --db "$scratch/short" check
}

# Everything from here on talks to one daemon with a configuration of its own.
start_it()
{
	cat >"$scratch/dcpid.conf" <<-'END'
		flush_interval = 2;
		events = ( { name = "cycles"; rate = 250; precise = 3; }, { name = "cache-misses"; period = 100003; } );
	END
	start_dcpid "$db" --config "$scratch/dcpid.conf" --label begin || {
		not_ok 'dcpid starts' "$(cat "$log")"
		return 1
	}
	daemon=$started
	ok 'dcpid starts'
}

test_status()
{
	check_equal 'status names process, schema and epoch' "$daemon dcpictl-status/1 1 begin" \
		"$(status_of '"\(.pid) \(.schema) \(.epoch.id) \(.epoch.label)"')"
	check_equal 'each event that was asked for is there, in order, and call stacks' 'cycles cache-misses stacks' \
		"$(status_of '[.events[].requested | sub(".*[.]stacks$"; "stacks")] | join(" ")')"
	check_equal 'what stands in or is missing has a reason' 0 \
		"$(status_of '[.events[] | select((.name != .requested or (.available | not)) and .note == "")] | length')"
	check_equal 'the log says of each event how it is counted' 3 \
		"$(grep -cE '(samples/s per CPU|a sample every|not available here)' "$log")"
	check_equal 'people get aligned lines' 'dcpid|  unknown|  database|  cost' \
		"$(dcpictl --db "$db" status | grep -oE '^(dcpid|  (unknown|database|cost))' | paste -s -d '|')"
	check_equal 'the socket is for user and group' '660 socket' "$(stat -c '%a %F' "$db/control")"
	check_fails 'a second one on the database is told who has it' 1 \
		"dcpid: $db: another dcpid uses this database (process $daemon)" dcpid --foreground --db "$db"
	check_fails 'a second one on the socket is told who listens' 1 \
		"dcpid: $db/control: another dcpid listens there (process $daemon)" \
		dcpid --foreground --db "$scratch/other" --socket "$db/control"
	check 'and has made no database' test ! -e "$scratch/other"
	check 'a database in use can be checked' dcpictl --db "$db" check
}

test_flush_and_epoch()
{
	local before after

	before=$(status_of .database.slices)
	work 1
	check 'flush succeeds' dcpictl --db "$db" flush
	check_equal 'after a flush it is not long ago' true \
		"$(status_of '(now - (.last_flush.at | fromdate)) < 2')"
	check_at_most 'what was sampled before a flush is in the database' "$(samples_written "$db" begin)" 80
	check_equal 'an epoch is begun and its number printed' 'epoch 2' "$(dcpictl --db "$db" epoch --label second)"
	check_equal 'it has its label' '2 second' "$(status_of '"\(.epoch.id) \(.epoch.label)"')"
	check_fails 'a label with a slash is refused' 1 'the label may have neither' dcpictl --db "$db" epoch --label a/b
	check 'eight flushes at once are all answered' timeout 10 \
		xargs -P 8 -I '{}' dcpictl --db "$db" flush <<<$'1\n2\n3\n4\n5\n6\n7\n8'
	after=$(status_of .database.slices)
	check_at_most 'slices are not made by flushes' $((before + 2)) "$after"
}

test_reload()
{
	local before

	sed -i 's/flush_interval = 2/flush_interval = 3/' "$scratch/dcpid.conf"
	check 'a reload succeeds' dcpictl --db "$db" reload
	check_equal 'another interval begins no epoch' 2 "$(status_of .epoch.id)"
	printf 'flush_intervall = 3;\n' >>"$scratch/dcpid.conf"
	check_fails 'a wrong configuration is refused with its line' 1 \
		"$scratch/dcpid.conf:3: there is no option flush_intervall (did you mean flush_interval?)" \
		dcpictl --db "$db" reload
	check_equal 'and the old one goes on' 2 "$(status_of .epoch.id)"
	printf 'events = ( { name = "page-faults"; period = 10; } );\n' >"$scratch/dcpid.conf"
	kill -HUP "$daemon"
	check 'SIGHUP with other events begins an epoch' wait_for 10 epoch_is 3
	check_equal 'of those events' page-faults "$(status_of '[.events[].name] | join(" ")')"
	before=$(status_of .pid)
	find /usr/include -type f -exec cat '{}' + | wc -c >/dev/null
	dcpictl --db "$db" flush
	check_equal 'by the same process' "$daemon" "$before"
	check_at_most 'which are sampled' "$(samples_written "$db" 3)" 1
	printf 'database = "/nonexistent";\n' >>"$scratch/dcpid.conf"
	check 'a reload leaves places that the command line named alone' dcpictl --db "$db" reload
	check_equal 'they are the same' "$db" "$(status_of .database.path)"
}

# as USER-ID GROUP-ID COMMAND...
as()
{
	local user=$1 group=$2

	shift 2
	setpriv --reuid="$user" --regid="$group" --clear-groups -- "$@"
}

test_permissions()
{
	if [ "$(id -u)" != 0 ]; then
		skip 'others are refused' 'only root can become others'
		return
	fi
	chmod 755 "$scratch"
	check_fails 'who is not in the group does not get in' 1 \
		"$db/control: cannot talk to dcpid: Permission denied (are you in group dcpi?)" \
		as 4711 4711 "$build/bin/dcpictl" --db "$db" status
	check 'who is in the group may look' as 4711 0 "$build/bin/dcpictl" --db "$db" status
	check 'and flush' as 4711 0 "$build/bin/dcpictl" --db "$db" flush
	check_fails 'but not quit' 1 "$db/control: quit is for root only" as 4711 0 "$build/bin/dcpictl" --db "$db" quit
	check_fails 'nor reload' 1 "$db/control: reload is for root only" as 4711 0 "$build/bin/dcpictl" --db "$db" reload
}

test_ends()
{
	local samples

	work 1
	end "$daemon" TERM 0 'on SIGTERM dcpid leaves with 0'
	check_equal 'every sample it took is in the database' "$(said)" "$(samples_written "$db" all)"
	check 'its socket is gone' test ! -e "$db/control"
	samples=$(dcpictl --db "$db" check)
	check_equal 'its database is sound' "$db: 3 epochs" "${samples%%,*}"
	start_it || return
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	check 'a killed one leaves its socket' test -S "$db/control"
	check 'and a sound database' dcpictl --db "$db" check
	start_it || return
	check 'its successor quits when told to' dcpictl --db "$db" quit
	check 'and is gone then' wait_for 5 is_gone "$daemon"
	start_it || return
	end "$daemon" INT 0 'on SIGINT dcpid leaves with 0'
}

# A database with a page overwritten is damaged wherever it is read: said so, with 3, not by a crash.
test_damage()
{
	local page pages copy=$scratch/damaged found=0 wrong=''

	pages=$(($(stat -c %s "$db/data.mdb") / 4096))
	mkdir "$copy"
	for ((page = 2; page < pages; page += pages / 12 + 1)); do
		cp "$db/data.mdb" "$copy/"
		yes 'damage' | dd of="$copy/data.mdb" bs=4096 seek="$page" count=1 conv=notrunc iflag=fullblock 2>/dev/null
		dcpictl --db "$copy" check >"$scratch/check.out" 2>&1
		case $? in
		0) ;; # a free page, or one of an older transaction
		3)
			found=$((found + 1))
			[ -z "$(uniq -d "$scratch/check.out")" ] || wrong+="page $page: a complaint twice"$'\n'
			dcpictl --db "$copy" salvage --to "$scratch/salvaged" >/dev/null 2>"$scratch/check.out" &&
				dcpictl --db "$scratch/salvaged" check >/dev/null 2>"$scratch/check.out" ||
				wrong+="page $page cannot be salvaged: $(head -n 3 "$scratch/check.out")"$'\n'
			rm -rf "$scratch/salvaged"
			;;
		*) wrong+="page $page: status $?; $(head -n 3 "$scratch/check.out")"$'\n' ;;
		esac
	done
	check_equal 'a damaged database is never a crash, and what is whole of it is salvaged' '' "$wrong"
	check_at_most 'and most damage is found' "$found" 3
	head -c 6000 "$db/data.mdb" >"$copy/data.mdb"
	check_fails 'a database cut short is damaged' 3 "$copy" dcpictl --db "$copy" check
	check_fails 'and told how to be salvaged' 3 "'dcpictl salvage' saves what is whole" dcpictl --db "$copy" check
	check_fails 'a directory that is not empty is not salvaged into' 1 'is not empty' \
		dcpictl --db "$copy" salvage --to "$copy"
	check_fails 'salvage wants to know where to' 2 'salvage needs --to NEWDIR' dcpictl --db "$copy" salvage
}

# Who may not sample is told what would be needed.
test_refusal()
{
	if [ "$(id -u)" != 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 0 ]; then
		skip 'who may not sample is told why' 'only root can become others, and all may sample here'
		return
	fi
	mkdir -m 777 "$scratch/anybody"
	check_fails 'who may not sample is told what decides' 1 perf_event_paranoid \
		as 4711 4711 "$build/bin/dcpid" --foreground --db "$scratch/anybody/db"
}

test_long_path()
{
	local long

	long=$scratch/$(printf '%0150d' 0)
	if start_dcpid "$long"; then
		ok 'a path longer than a socket address is no obstacle'
		end "$started" TERM 0 'there, too, it leaves with 0'
	else
		not_ok 'a path longer than a socket address is no obstacle' "$(cat "$long.log")"
	fi
}

# What a service manager hears. perl is on every Debian.
test_notify()
{
	local heard=$scratch/heard

	# shellcheck disable=SC2016 # perl's own
	start perl -MSocket -e '
		socket(S, AF_UNIX, SOCK_DGRAM, 0) && bind(S, pack_sockaddr_un($ARGV[0])) or die $!;
		$| = 1;
		while (defined recv(S, $m, 4096, 0)) { $m =~ s/\n/ /g; print "$m\n" }' "$scratch/notify" >"$heard"
	wait_for 5 test -S "$scratch/notify"
	printf 'flush_interval = 1;\n' >"$scratch/notify.conf"
	start env NOTIFY_SOCKET="$scratch/notify" WATCHDOG_USEC=4000000 dcpid --config "$scratch/notify.conf" \
		--db "$scratch/notified" 2>"$scratch/notified.log"
	check 'the service manager hears READY' wait_for 10 grep -q '^READY=1 ' "$heard"
	check 'and that the watchdog need not bite' wait_for 10 grep -q '^WATCHDOG=1$' "$heard"
	check 'and how it goes' wait_for 10 grep -q '^STATUS=epoch 1: [0-9]* samples' "$heard"
	kill -HUP "$started"
	check 'and RELOADING with its time' wait_for 10 grep -qE '^RELOADING=1 MONOTONIC_USEC=[0-9]+ ' "$heard"
	check 'and READY again' wait_for 10 heard_times 2 '^READY=1 '
	end "$started" TERM 0 'told to leave, it does'
	check 'and has said so' grep -q '^STOPPING=1 ' "$heard"
}

# A disk that fills up under the database: nothing that was counted is lost when there is room again.
test_full_disk()
{
	local disk=$scratch/disk

	mount_or_skip 4m "$disk" 'a full disk' || return 0
	db=$disk/db log=$scratch/disk.log
	printf 'flush_interval = 1; events = ( { name = "cpu-clock"; rate = 250; } );\n' >"$scratch/disk.conf"
	start dcpid --foreground --config "$scratch/disk.conf" --db "$db" 2>"$log"
	daemon=$started
	wait_for 10 dcpictl --db "$db" flush
	dd if=/dev/zero of="$disk/filler" bs=64k 2>/dev/null
	work 3
	check_fails 'a flush to a full disk is refused with the reason' 1 'No space left on device' \
		dcpictl --db "$db" flush
	check_equal 'status says so, too' 'No space left on device' "$(status_of .last_flush.error)"
	check_equal 'the log says it once' 1 "$(grep -c 'No space left on device' "$log")"
	check_fails 'no epoch is begun over it' 1 'the counts of the old epoch cannot be written' \
		dcpictl --db "$db" epoch
	rm "$disk/filler"
	check 'once there is room, a flush is not refused any more' dcpictl --db "$db" flush
	check 'the log says that, too' grep -q 'can be written to again' "$log"
	check_equal 'nothing was lost' 0 "$(status_of '[.events[].lost] | add')"
	end "$daemon" TERM 0 'it leaves with 0'
	check_equal 'every sample it took is in the database' "$(said)" "$(samples_written "$db" all)"
	check_at_most 'and they were not few' "$(said)" 500
	check 'the database is sound' dcpictl --db "$db" check
	umount "$disk"
}

test_command_lines
test_configuration
may_sample_or_skip 'dcpid samples this machine' || exit 0
test_seconds
start_it || exit 0
test_status
test_flush_and_epoch
test_reload
test_permissions
test_refusal
test_ends
test_damage
test_long_path
test_notify
test_full_disk
