#!/bin/bash
# robust.sh - the real dcpid under what users, disks and other programs do to it
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Somebody else's socket: whoever made it neither accepts nor leaves, and two are in its queue, which is full.
test_deaf_socket()
{
	local path=$scratch/deaf

	# shellcheck disable=SC2016 # perl's own
	start perl -MSocket -e '
		socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un($ARGV[0])) && listen(S, 0) or die $!;
		socket(C, AF_UNIX, SOCK_STREAM, 0) && connect(C, pack_sockaddr_un($ARGV[0])) or die $!;
		rename($ARGV[0], "$ARGV[0].ready");
		sleep 60' "$path"
	wait_for 5 test -S "$path.ready"
	check_fails 'a socket whose owner is deaf is refused, not waited for' 1 \
		"dcpid: $path.ready: a process listens there and does not answer" \
		timeout 5 dcpid --foreground --db "$scratch/deaf.db" --socket "$path.ready"
	check 'and nothing is made' test ! -e "$scratch/deaf.db"
	kill "$started"
}

# A dcpid that cannot serve leaves no epoch behind: an empty one would be the latest.
test_no_socket()
{
	local db=$scratch/no-socket

	mkdir -p "$db/control"
	check_fails 'what is no socket is not replaced by one' 1 "$db/control: exists and is not a socket" \
		dcpid --foreground --db "$db"
	check_fails 'and no epoch has begun' 4 'holds no epoch yet' dcpiprof --db "$db"
}

# early_signal SIGNAL - start dcpid and send it SIGNAL before its loop runs, if we are quick enough
early_signal()
{
	local tries=0

	start dcpid --foreground --db "$scratch/early" 2>"$scratch/early.log"
	# HUP, INT and TERM are held (bits 0, 1, 14) from its beginning on, and caught once the loop is there.
	until [ "$(cat "/proc/$started/comm")" = dcpid ] && grep -qE 'Sig(Blk|Cgt):.*4003$' "/proc/$started/status" ||
		[ $((tries++)) = 2000 ]; do :; done
	kill -s "$1" "$started"
}

test_early_signals()
{
	early_signal TERM
	wait "$started"
	check_equal 'SIGTERM at the start is an ordinary end' 0 $?
	early_signal HUP
	check 'SIGHUP at the start is no end' wait_for 10 dcpictl --db "$scratch/early" status
	stop "$started" INT
	check_equal 'SIGINT is one' 0 $?
}

# connect_perl PATH STATEMENTS - perl with connection() to the socket at PATH
connect_perl()
{
	# shellcheck disable=SC2016 # perl's own
	perl -MSocket -e '
		sub connection {
			my $c;
			socket($c, AF_UNIX, SOCK_STREAM, 0) && connect($c, pack_sockaddr_un($ARGV[0])) or die $!;
			return $c;
		}
		$SIG{PIPE} = "IGNORE"; $| = 1; '"$2" "$1"
}

test_clients()
{
	local db=$scratch/clients commands

	start_dcpid "$db" || {
		not_ok 'dcpid starts' "$(cat "$db.log")"
		return
	}
	# shellcheck disable=SC2016 # perl's own
	{
		check_equal 'a megabyte without an end is refused' '{"ok":false,"error":"the request is too long"}' \
			"$(connect_perl "$db/control" '$c = connection(); syswrite($c, "x" x 4096) for 1 .. 256; print <$c>')"
		connect_perl "$db/control" 'for (1 .. 50) { $c = connection(); syswrite($c, qq({"command":"flush"}\n)); close $c }'
		start connect_perl "$db/control" '$c[$_] = connection() for 1 .. 20; sleep 60'
	}
	check 'clients that leave, and clients that say nothing, lock nobody out' timeout 20 dcpictl --db "$db" status
	commands=$(printf '%s\n' {flush,epoch,status,reload}\ {1..20} | cut -d ' ' -f 1)
	check 'eighty requests, twenty at once, are all granted' \
		timeout 60 xargs -P 20 -I '{}' dcpictl --db "$db" '{}' <<<"$commands"
	check_equal 'twenty epochs were begun' 21 "$(dcpictl --db "$db" status --json | jq .epoch.id)"
	check 'dcpid quits' dcpictl --db "$db" quit
	check 'the database is sound' dcpictl --db "$db" check
}

# A disk on which not even an empty database has room: at no size is it a crash, and nothing is left in the way.
test_tiny_disk()
{
	local disk=$scratch/tiny size wrong=''

	mkdir "$disk"
	if ! mount -t tmpfs -o size=4k,mode=755 tmpfs "$disk" 2>/dev/null; then
		skip 'a tiny disk' 'not allowed to mount one'
		return
	fi
	for size in 4 8 12 16 20 24 28; do
		mount -o "remount,size=${size}k" "$disk"
		output=$(dcpid --foreground --db "$disk/db" --seconds 1 2>&1)
		[ $? = 1 ] && [[ $output == *'No space left on device' ]] || wrong+="$size KiB: $output"$'\n'
	done
	check_equal 'a disk too small for a database is told, whatever its size' '' "$wrong"
	mount -o remount,size=64m "$disk"
	check 'with room, the same directory is fine' dcpid --foreground --db "$disk/db" --seconds 1
	check 'and the database is sound' dcpictl --db "$disk/db" check
	umount "$disk"
}

# damage DATA HOW
damage()
{
	local pages

	pages=$(($(stat -c %s "$1") / 4096))
	case $2 in
	'cut short') truncate -s 8192 "$1" ;;
	'cut in the middle') truncate -s $((pages * 2048 / 4096 * 4096)) "$1" ;;
	'overwritten') yes damage | dd of="$1" bs=4096 seek=2 count=$((pages - 2)) conv=notrunc iflag=fullblock 2>/dev/null ;;
	'without its beginning') dd if=/dev/zero of="$1" bs=4096 count=2 conv=notrunc 2>/dev/null ;;
	'flipped here and there') # of the file that is there now, and of no other
		# shellcheck disable=SC2016 # perl's own
		perl -e 'open(F, "+<", $ARGV[0]) or die $!;
			for ($at = 8192; $at < -s F; $at += 512) { seek(F, $at, 0); print F "\xff" }' "$1"
		;;
	esac
}

# set_aside DB - what was put aside there; fails unless it is one
set_aside()
{
	[ "$(find "$1" -path '*/damaged-*/data.mdb' | wc -l)" = 1 ] && dirname "$(find "$1" -path '*/damaged-*/data.mdb')"
}

# A damaged database is put aside, loudly, and a new one is begun: at the start, and while running.
test_damage()
{
	local db=$scratch/damaged how kept

	printf 'flush_interval = 1; events = ( { name = "cpu-clock"; rate = 500; } );\n' >"$scratch/damaged.conf"
	dcpid --foreground --db "$db" --config "$scratch/damaged.conf" --seconds 1 2>/dev/null
	cp "$db/data.mdb" "$scratch/sound"
	for how in 'cut short' 'cut in the middle' overwritten 'without its beginning' 'flipped here and there'; do
		rm -rf "$db" "$db.log" "$db.new"
		mkdir "$db"
		cp "$scratch/sound" "$db/data.mdb"
		damage "$db/data.mdb" "$how"
		check "dcpid begins beside a database that is $how" timeout 60 \
			dcpid --foreground --db "$db" --config "$scratch/damaged.conf" --seconds 6
		check "what is $how is put aside" set_aside "$db"
		check "beside what is $how, the new one is sound" dcpictl --db "$db" check
		check_fails "the doctor tells of what is $how" 1 "salvage --to $db.salvaged" dcpictl --db "$db" doctor

		rm -rf "$db"
		start_dcpid "$db" --config "$scratch/damaged.conf" --label before || not_ok 'dcpid starts' "$(cat "$db.log")"
		dcpictl --db "$db" flush
		damage "$db/data.mdb" "$how"
		check "running, it puts what is $how aside" wait_for 60 set_aside "$db"
		kept=$(set_aside "$db")
		check "and the status says so of what is $how" wait_for 30 eval \
			"dcpictl --db '$db' status --json | json_holds '.trouble[0] // \"\" | contains(\"dcpictl --db $kept salvage --to NEWDIR\")'"
		check "the log says how to save what is $how" grep -q "'dcpictl --db $kept salvage --to NEWDIR' saves what is whole" "$db.log"
		rm -r "$kept"
		check "once what was $how is removed, all is well" wait_for 30 eval \
			"dcpictl --db '$db' status --json | json_holds '.trouble == []'"
		check "it goes on after it met what is $how" dcpictl --db "$db" status
		stop "$started"
		check_equal "and ends well after it met what is $how" 0 $?
		check "in place of what is $how, the new one is sound" dcpictl --db "$db" check
	done
}

# A fault makes another process of it, which goes on as the first would have: its label, its end, its exit status.
test_fault()
{
	local db=$scratch/faulty kept

	printf 'flush_interval = 3600; slice = 3600; events = ( { name = "cpu-clock"; rate = 500; } );\n' >"$scratch/faulty.conf"
	start_dcpid "$db" --config "$scratch/faulty.conf" --label before --seconds 16 || not_ok 'dcpid starts' "$(cat "$db.log")"
	check 'another epoch begins' dcpictl --db "$db" epoch --label after
	dcpictl --db "$db" flush
	sleep 4
	damage "$db/data.mdb" 'cut short'
	dcpictl --db "$db" flush >/dev/null 2>&1
	check 'a fault is met, and said' wait_for 20 grep -q 'the database is damaged (a part of it cannot be read)' "$db.log"
	check 'the new process goes on with the label of the epoch' wait_for 20 eval \
		"[ \"\$(dcpictl --db '$db' status --json | jq -r .epoch.label)\" = after ]"
	wait "$started"
	check_equal 'it ends with success when its time is over' 0 $?
	# After 16 s from the start, more than 4 of which had passed: not 16 s of its own.
	check_at_most 'and that is the time of the first' 15.5 "$(sed -n 's/.* samples in \([0-9.]*\) s .*/\1/p' "$db.log" | tail -n 1)"

	rm -rf "$db" "$db.log"
	start_dcpid "$db" --config "$scratch/faulty.conf" || not_ok 'dcpid starts' "$(cat "$db.log")"
	dcpictl --db "$db" flush
	damage "$db/data.mdb" 'cut short'
	stop "$started"
	check_equal 'a fault while it ends is no other end' 0 $?
	check 'but said' grep -q 'the database is damaged (a part of it cannot be read); what was sampled since the last flush is lost' "$db.log"
	kept=$(set_aside "$db")
	check 'what was damaged lies aside' test -n "$kept"
	check 'and no database is begun any more' test ! -e "$db/data.mdb"
}

# Not damage: nothing is moved.
test_not_damaged()
{
	local db=$scratch/foreign

	mkdir "$db" "$db/data.mdb"
	check_fails 'what is no file is refused' 3 'what lies there is not a profile database' \
		timeout 20 dcpid --foreground --db "$db" --seconds 1
	check 'and left alone' test -d "$db/data.mdb"
}

# Wherever descriptors end, a sentence says what to raise.
test_few_descriptors()
{
	local limit wrong='' output

	for limit in 8 10 12 16 20 24; do
		output=$(ulimit -Sn $limit && ulimit -Hn $limit && dcpid --foreground --db "$scratch/few" --seconds 1 2>&1) && continue
		[[ $output == *"ulimit -n"* ]] || wrong+="$limit: $output"$'\n'
	done
	check_equal 'with few descriptors, dcpid says what to raise' '' "$wrong"
}

test_deaf_socket
may_sample_or_skip 'dcpid stands what is done to it' || exit 0
test_no_socket
test_early_signals
test_clients
test_tiny_disk
test_few_descriptors
test_damage
test_fault
test_not_damaged
