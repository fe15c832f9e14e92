#!/bin/bash
# idle_cpus.sh - the timer that stands in for cycles hardly wakes a CPU that is idle, and what works there has its share
#
# Timer interrupts are counted by /proc/interrupts on a machine that does little else: without dcpid, with it, and with
# one that samples idle CPUs as busy ones. What a program has of the processor's time says the kernel.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='an idle machine is hardly woken'
may_sample_or_skip "$sentence" || exit 0
seconds=5

# Of all CPUs, a second: the local timer's, or arm64's.
timer_interrupts()
{
	local before after

	before=$(count_interrupts)
	sleep "$seconds"
	after=$(count_interrupts)
	echo $(((after - before) / seconds))
}

count_interrupts()
{
	awk '$1 == "LOC:" || /arch_timer/ { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i } END { print sum + 0 }' \
		/proc/interrupts
}

# with_dcpid NAME IDLE_RATE [RATE] - starts one with a clock of RATE (2000) samples a second; sets $db
with_dcpid()
{
	db=$scratch/$1
	printf 'idle_rate = %s;\nevents = ({ name = "cpu-clock"; rate = %s; });\n' "$2" "${3:-2000}" >"$scratch/$1.conf"
	start_dcpid "$db" --config "$scratch/$1.conf" || {
		not_ok 'dcpid starts' "$(cat "$db.log")"
		exit 0
	}
	dcpid=$started
}

# ended - stops it, and checks that
ended()
{
	stop "$dcpid"
	check_equal 'dcpid ends well' 0 $?
}

without=$(timer_interrupts)
with_dcpid full 0
sleep 2
full=$(timer_interrupts)
status=$(dcpictl --db "$db" status --json)
figure "idle_rate 0: dcpid says $(jq .idle.ticks_per_second <<<"$status") ticks a second found a CPU idle"
check 'with idle_rate 0 no CPU is sampled rarely' json_holds '.idle.cpus == 0' <<<"$status"
dcpictl --db "$db" flush >/dev/null
check_at_least 'the ticks that find a CPU idle are counted, and are part of the cost' 1000 \
	"$(dcpictl --db "$db" status --json | jq '.idle.ticks_per_second | floor')"
ended
with_dcpid rare 20
sleep 2
rare=$(timer_interrupts)
figure "timer interrupts a second: $without without dcpid, $rare with it, $full with idle_rate 0"
check_at_least 'the full rate wakes idle CPUs' 2000 $((full - without))
check_at_most "$sentence" $(((full - without) / 8)) $((rare - without))
# To ask makes a CPU work for a moment.
some_cpu_is_idle()
{
	sleep 1
	json_holds '.idle.cpus >= 1' <<<"$(dcpictl --db "$db" status --json)"
}
check 'status says that CPUs are idle' wait_for 10 some_cpu_is_idle

# A program on a CPU that was idle is sampled at the full rate soon.
list=$(taskset --cpu-list --pid $$ | sed 's/.*: //')
last=${list##*[-,]}
cp "$build/workloads/naps" "$scratch/steady"
taskset --cpu-list "$last" "$scratch/steady" 3 1000 0 >"$scratch/steady.cpu"
dcpictl --db "$db" flush >/dev/null
read -r cpu_seconds <"$scratch/steady.cpu"
taken=$(dcpiprof --db "$db" --comm steady --json | jq '.events[0] | .selected_taken // .selected')
figure "a program of $cpu_seconds s: $taken samples taken at 2000/s"
check_at_least 'a program on a CPU that was idle is sampled at the full rate' \
	"$(awk -v seconds="$cpu_seconds" 'BEGIN { print int(seconds * 2000 * .85) }')" "$taken"

# Labelled runs are short, and all of them counts: no CPU is idle meanwhile.
dcpilabel --db "$db" --runs 1 run -- sleep 3 >/dev/null &
labelled=$!
sleep 1
check 'while a process has a label no CPU is sampled rarely' \
	json_holds '.idle.cpus == 0' <<<"$(dcpictl --db "$db" status --json)"
wait "$labelled"
ended

# Bursts of 2 ms, 40 ms apart, on an idle CPU: few of them are met, and those stand for the others. At 200 samples a
# second of an idle CPU some hundred are met, and their number varies by a tenth.
with_dcpid bursts 200 4000
sleep 1
cp "$build/workloads/naps" "$scratch/burster"
taskset --cpu-list "$last" "$scratch/burster" 30 2000 38000 >"$scratch/burster.cpu"
dcpictl --db "$db" flush >/dev/null
read -r cpu_seconds <"$scratch/burster.cpu"
sampled=$(dcpiprof --db "$db" --comm burster --json |
	jq '.events[0] | (.selected_events // (.selected * .period)) / 1e9')
rest=$(dcpiprof --db "$db" --comm burster --json | jq '.events[0] | .selected_taken // .selected')
figure "bursts: $cpu_seconds s of CPU time, $rest samples stand for $sampled s"
check 'samples of an idle CPU stand for the time between them' \
	awk -v truth="$cpu_seconds" -v sampled="$sampled" 'BEGIN { exit !(sampled > .65 * truth && sampled < 1.35 * truth) }'
ended
