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

test_deaf_socket
may_sample_or_skip 'dcpid stands what is done to it' || exit 0
test_no_socket
test_early_signals
test_clients
