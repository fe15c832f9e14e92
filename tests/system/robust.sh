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
		"dcpid: $path.ready: somebody listens there who does not answer" \
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
	if ! mount -t tmpfs -o size=4k tmpfs "$disk" 2>/dev/null; then
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
	case $2 in
	'cut short') truncate -s 8192 "$1" ;;
	'overwritten') yes damage | dd of="$1" bs=4096 seek=2 count=$(($(stat -c %s "$1") / 4096 - 2)) conv=notrunc \
		iflag=fullblock 2>/dev/null ;;
	esac
}

# Damage is no reason to try again and again: a sentence, and the status on which the service is not started again.
test_damage()
{
	local db=$scratch/damaged how

	printf 'flush_interval = 1;\n' >"$scratch/damaged.conf"
	for how in 'cut short' overwritten; do
		rm -rf "$db"
		dcpid --foreground --db "$db" --seconds 1 2>/dev/null
		cp "$db/data.mdb" "$scratch/sound"
		damage "$db/data.mdb" "$how"
		check_fails "dcpid does not begin on a database that was $how" 3 "dcpid: $db: " \
			timeout 20 dcpid --foreground --db "$db" --seconds 5
		cp "$scratch/sound" "$db/data.mdb"
		start_dcpid "$db" --config "$scratch/damaged.conf" || not_ok 'dcpid starts' "$(cat "$db.log")"
		damage "$db/data.mdb" "$how"
		wait_for 20 eval "! kill -0 $started" || kill "$started"
		wait "$started"
		check_equal "nor goes on with one that is $how" 3 $?
		check 'and says what to do' grep -q "'dcpictl salvage' saves what is whole" "$db.log"
	done
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
