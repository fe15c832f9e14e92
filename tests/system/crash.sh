#!/bin/bash
# crash.sh [SEED] - what the real dcpid writes and syncs, and every kind of disk that a crash of the machine leaves of it
#
# tests/faults/record_writes.c takes down the writes, crash_images.c makes the disks and judges them.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seed=${1:-$((SRANDOM % 100000))}
db=$scratch/db

record_a_run()
{
	printf '%s\n' 'flush_interval = 3600; slice = 3600;' \
		'events = ( { name = "cpu-clock"; rate = 250; }, { name = "page-faults"; period = 101; } );' \
		>"$scratch/dcpid.conf"
	start env LD_PRELOAD="$build/workloads/record_writes.so" RECORD_WRITES="$scratch/log" \
		dcpid --foreground --db "$db" --config "$scratch/dcpid.conf" 2>"$db.log"
	wait_for 10 dcpictl --db "$db" status || not_ok 'dcpid starts' "$(cat "$db.log")"
	for _ in {1..6}; do
		find /usr/bin -name 'a*' -type f -exec head -c 1000 '{}' + >/dev/null
		dcpictl --db "$db" flush
	done
	dcpictl --db "$db" epoch >/dev/null
	find /usr/bin -name 'b*' -type f -exec head -c 1000 '{}' + >/dev/null
	check 'a run is recorded' dcpictl --db "$db" quit
	wait "$started"
}

may_sample_or_skip 'a crash of the machine loses nothing that was committed' || exit 0
echo "# seed $seed"
record_a_run
# On memory: nothing is to be synced here.
images=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$scratch")" dcpi-crash.XXXXXX)
"$build/tests/system/crash_images" "$scratch/log" "$images/db" "$seed" 1 || not_ok 'the disks are made'
rm -rf "$images"
