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

test_deaf_socket
