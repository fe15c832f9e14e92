#!/bin/bash
# tick.sh - samples say how much CPU time was used, also by what keeps step with the scheduler's tick
#
# Processes that work all the time are scheduled by the tick, those that nap run between ticks. A clock that samples in
# step with the tick meets the one kind too often and the other too rarely, by up to a half. The truth is the CPU time
# that the kernel accounts to each process; n samples of it differ from that by some square roots of n.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='samples of busy and of napping processes are their CPU time'
may_sample_or_skip "$sentence" || exit 0
printf 'events = ( { name = "cpu-clock"; rate = 250; } );\n' >"$scratch/dcpid.conf"
start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
dcpid=$started

# run NAME WORK_US SLEEP_US - under a command name of its own; its CPU time goes to NAME.cpu
run()
{
	cp "$build/workloads/naps" "$scratch/$1"
	"$scratch/$1" 12 "$2" "$3" >"$scratch/$1.cpu" &
	workers+=($!)
}

workers=()
for name in busy1 busy2 busy3; do
	run $name 1000 0
done
for name in nap1 nap2 nap3 nap4; do
	run $name 700 3300
done
wait "${workers[@]}"
stop "$dcpid"

for name in busy nap; do
	seconds=$(awk '{ sum += $1 } END { print sum }' "$scratch/$name"?.cpu)
	dcpiprof --db "$scratch/db" --comm "$name?" --json |
		jq -r '.events[0] | [.selected, .period] | @tsv' |
		awk -v name="$name" -v seconds="$seconds" '{
			expected = seconds * 1e9 / $2
			printf "%s %.2f %d %.0f %.1f\n", name, seconds, $1, expected, ($1 - expected) / sqrt(expected)
		}'
done >"$scratch/compared"
while read -r name seconds samples expected deviation; do
	figure "$name: $seconds s of CPU time, $samples samples, $expected expected ($deviation standard deviations)"
	check_at_most "$sentence: $name" 5 "${deviation#-}"
done <"$scratch/compared"
check_equal 'both kinds were compared' 2 "$(wc -l <"$scratch/compared")"
