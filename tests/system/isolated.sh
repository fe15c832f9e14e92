#!/bin/bash
# isolated.sh - CPUs that dcpid itself may not run on are sampled like the one it may
#
# A CPU set aside (isolcpus, nohz_full, cpusets, taskset) is one whose events must be opened, read and drained from
# another. The truth is the CPU time that the kernel accounts; n samples of it differ from that by some square roots of n.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='a CPU that dcpid may not run on is sampled'
may_sample_or_skip "$sentence" || exit 0
list=$(taskset --cpu-list --pid $$ | sed 's/.*: //')
first=${list%%[-,]*} last=${list##*[-,]}
if [ "$first" = "$last" ]; then
	skip "$sentence" 'there is only one CPU here'
	exit 0
fi

start taskset --cpu-list "$first" dcpid --foreground --db "$scratch/db" 2>>"$scratch/db.log"
dcpid=$started
wait_for 10 dcpictl --db "$scratch/db" status || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
cp "$build/workloads/naps" "$scratch/apart"
taskset --cpu-list "$last" "$scratch/apart" 3 1000 0 >"$scratch/apart.cpu"
dcpictl --db "$scratch/db" flush >/dev/null
read -r seconds <"$scratch/apart.cpu"
read -r samples expected deviation < <(compare_cpu_time "$scratch/db" apart "$seconds")
figure "$seconds s of CPU time on CPU $last, $samples samples, $expected expected ($deviation standard deviations)"
check_at_most "$sentence" 5 "${deviation#-}"
status=$(dcpictl --db "$scratch/db" status --json)
check_equal 'no sample is lost' 0 "$(jq .totals.lost <<<"$status")"
check_equal 'dcpid stayed where it was put' "$first" "$(taskset --cpu-list --pid "$dcpid" | sed 's/.*: //')"
stop "$dcpid"
check_equal 'dcpid ends well' 0 $?
