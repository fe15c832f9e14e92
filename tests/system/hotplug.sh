#!/bin/bash
# hotplug.sh - a CPU goes and comes back under a dcpid that samples, slowly and at once: nothing counted is lost
#
# The truth is the CPU time that the kernel accounts to a process bound to that CPU; n samples of it differ from that by
# some square roots of n.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='a CPU that went and came back is sampled'
may_sample_or_skip "$sentence" || exit 0
system=/sys/devices/system/cpu
cpu=$(grep -l 1 $system/cpu[0-9]*/online 2>/dev/null | sed 's/.*cpu\([0-9]*\)\/online/\1/' | tail -n 1)
if [ -z "$cpu" ]; then
	skip "$sentence" 'this machine has no CPU that can go offline'
	exit 0
fi
trap 'echo 1 >$system/cpu"$cpu"/online; end_everything' EXIT
if ! (echo 0 >$system/cpu"$cpu"/online) 2>/dev/null; then
	skip "$sentence" 'CPUs may not be taken offline here'
	exit 0
fi
without=$(cat $system/online)
echo 1 >$system/cpu"$cpu"/online
all=$(cat $system/online)

start_dcpid "$scratch/db" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
dcpid=$started

# is_sampled LIST - status shows these CPUs
is_sampled()
{
	[ "$(dcpictl --db "$scratch/db" status --json | jq -r .cpus)" = "$1" ]
}

# run NAME [SECONDS] - on the CPU, under a command name of its own; its CPU time goes to NAME.cpu
run()
{
	cp "$build/workloads/naps" "$scratch/$1"
	taskset --cpu-list "$cpu" "$scratch/$1" "${2:-3}" 1000 0 >"$scratch/$1.cpu"
}

# judge NAME - were the samples its CPU time?
judge()
{
	local seconds samples expected deviation

	read -r seconds <"$scratch/$1.cpu"
	dcpictl --db "$scratch/db" flush >/dev/null
	read -r samples expected deviation < <(compare_cpu_time "$scratch/db" "$1" "$seconds")
	figure "$1: $seconds s of CPU time, $samples samples, $expected expected ($deviation standard deviations)"
	check_at_most "$2" "$3" "${deviation#-}"
}

check 'status shows the CPUs' is_sampled "$all"
run before
judge before 'before: samples are CPU time' 5

run leaving 4 &
leaving=$!
sleep 1
echo 0 >$system/cpu"$cpu"/online
check 'status shows that the CPU went' wait_for 10 is_sampled "$without"
wait $leaving
judge leaving 'what ran on the CPU when it went is sampled on, where it went' 6
used=$(dcpictl --db "$scratch/db" status --json | jq .cpu_seconds)
sleep 2
check_at_most 'dcpid does not spin over the CPU that went' 0.5 \
	"$(dcpictl --db "$scratch/db" status --json | jq ".cpu_seconds - $used")"

echo 1 >$system/cpu"$cpu"/online
check 'status shows that the CPU came back' wait_for 10 is_sampled "$all"
run after
judge after 'after: samples are CPU time' 5

# Too short for the list of CPUs to be seen without it.
echo 0 >$system/cpu"$cpu"/online
echo 1 >$system/cpu"$cpu"/online
came_twice()
{
	[ "$(grep -c "cpu $cpu came online" "$scratch/db.log")" = 2 ]
}
check 'a CPU that came back at once is noticed' wait_for 10 came_twice
run again
judge again 'again: samples are CPU time' 5

status=$(dcpictl --db "$scratch/db" status --json)
check_equal 'no sample is lost' 0 "$(jq .totals.lost <<<"$status")"
check_equal 'the log says each that the CPU went, once' 2 "$(grep -c "cpu $cpu went offline" "$scratch/db.log")"
check_equal 'and each that it came' 2 "$(grep -c "cpu $cpu came online" "$scratch/db.log")"
figure "$(jq -c '.totals, .events[0].unknown' <<<"$status" | paste -sd ' ')"
check_at_most 'at most 0.5 % of the samples are unknown, whatever the cause' 0.5 \
	"$(jq '100 * .totals.unknown / .totals.samples' <<<"$status")"
stop "$dcpid"
check_equal 'dcpid ends well' 0 $?
check 'the database is whole' dcpictl --db "$scratch/db" check
