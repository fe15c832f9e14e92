#!/bin/bash
# dcpix --bursts: the probabilities of branches, the budget, and that the program does not notice.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

db=$scratch/db
report=$scratch/report
branches=$build/workloads/branches

# bursts PID OPTION... - on process PID, report to $report
bursts()
{
	dcpix --db "$db" --json --output "$report" --bursts --pid "$@"
}

reported()
{
	jq "$1" "$report"
}

# For a branch at 3 + 6 bytes behind PROCEDURE: how often it was there, taken (to TO bytes behind), and how many standard
# deviations that is from the PROBABILITY.
branch()
{
	local start

	start=$((0x$(nm "$branches" | awk -v name="$1" '$3 == name { print $1 }')))
	"$build/tests/system/show_edges" "$db" bursts branches | awk -v from="$(printf %x $((start + 9)))" \
		-v to="$(printf %x $((start + $2)))" -v p="$3" '
		$1 == from { all += $3 }
		$1 == from && $2 == to { taken = $3 }
		END { print all + 0, taken + 0, all ? (taken - p * all) / sqrt(p * (1 - p) * all) : 99 }'
}

probabilities()
{
	local pid all taken deviation

	start "$branches" 60 >/dev/null
	pid=$started
	check 'bursts of a running program are taken' bursts "$pid" --seconds 8 --budget 40
	read -r all taken deviation < <(branch one_in_four 16 0.25)
	figure "a branch that is taken once in four: $taken of $all, $deviation standard deviations off;" \
		"$(reported .steps) steps, $(reported .step_us) us each, $(reported .stopped_percent) % of the time"
	check 'there are enough of them' [ "$all" -ge 30 ]
	check_at_most 'a branch goes where it goes as often as it does' 4.5 "${deviation#-}"
	check_at_most 'the thread is stopped no longer than allowed' 42 "$(reported .stopped_percent)"
	bursts "$pid" --seconds 5
	check_at_most 'nor by default' 6 "$(reported .stopped_percent)"
	check 'the database is sound' dcpictl check --db "$db"
	already_traced "$pid"
	stop "$pid"
}

# Both processes of dcpix are killed at 100 moments by chance, many of them within a burst; programs compute what they
# compute by themselves.
killed()
{
	local alone tracer i programs=0 wrong=0 turns=300000000 target=

	alone=$("$branches" 0 $turns)
	for ((i = 0; i < 100; i++)); do
		if ! kill -0 $target 2>/dev/null; then
			[ -z "$target" ] || wait $target || wrong=$((wrong + 1))
			programs=$((programs + 1))
			start "$branches" 0 $turns >>"$scratch/computed"
			target=$started
		fi
		dcpix --db "$db.killed" --bursts --pid $target --budget 50 --seconds 20 >/dev/null 2>&1 &
		tracer=$!
		sleep "0.$(printf %03d $((30 + RANDOM % 150)))"
		# the replica first, half of the time
		((RANDOM % 2)) && pkill -KILL -P $tracer
		kill -KILL $tracer 2>/dev/null
		wait $tracer 2>/dev/null
	done
	wait $target || wrong=$((wrong + 1))
	figure "dcpix was killed $i times while $programs programs ran"
	check_equal 'a program goes on when dcpix is killed at any moment' "0, $programs times $alone" \
		"$wrong, $(uniq -c "$scratch/computed" | awk '{ print $1, "times", $2 }')"
}

# cpu_and_waiting PID - nanoseconds that its main thread ran and waited for a CPU; a thread that stands still does neither
cpu_and_waiting()
{
	local ran waited

	# not by awk, of which mawk shows six digits of such a sum
	read -r ran waited _ <"/proc/$1/task/$1/schedstat"
	echo $((ran + waited))
}

# How much slower a program is, by the kernel's accounts of it and not by those of dcpix: than another at the same time,
# for a virtual machine's CPUs stand still, too.
budget()
{
	local percent before left_before began share left_alone

	start "$branches" 120 >/dev/null
	left_alone=$started
	start "$branches" 120 >/dev/null
	for percent in 2 10 30; do
		began=$(date +%s%N) before=$(cpu_and_waiting "$started") left_before=$(cpu_and_waiting "$left_alone")
		bursts "$started" --seconds 5 --budget $percent
		share=$(awk -v gone=$(($(date +%s%N) - began)) -v used=$(($(cpu_and_waiting "$started") - before)) \
			-v could=$(($(cpu_and_waiting "$left_alone") - left_before)) 'BEGIN { print 100 * (could - used) / gone }')
		check 'the program to compare with runs' kill -0 "$left_alone"
		figure "budget $percent %: a program stood still for $share % of the time, by the scheduler's accounts;" \
			"$(reported .steps) steps"
		check_at_most "a program is slowed down by at most $percent %" "$(awk "BEGIN { print $percent * 1.1 + 0.3 }")" "$share"
		check 'and not by next to nothing' [ "$(reported .steps)" -ge 400 ]
	done
	stop "$started"
	stop "$left_alone"
}

# Three of a hundred threads run: bursts are of those.
many_threads()
{
	start python3 -c 'import threading, time
for i in range(97):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
end = time.time() + 60
while time.time() < end:
    sum(range(1000))'
	wait_for 20 [ -e "/proc/$started/task" ]
	wait_for 20 eval "[ \$(ls /proc/$started/task | wc -l) = 98 ]"
	bursts "$started" --seconds 4 --budget 20
	check 'of a hundred threads the one that runs is taken' [ "$(reported .steps)" -ge 1000 ]
	check_at_most 'whose search is part of the budget' 22 \
		"$(reported '.stopped_percent + .own_percent')"
	stop "$started"
}

# ^Z stops dcpix and not the program.
stopped()
{
	local tracer i states=

	start "$branches" 60 >/dev/null
	dcpix --db "$db.stopped" --bursts --pid "$started" --budget 50 --seconds 60 >/dev/null 2>&1 &
	tracer=$!
	for ((i = 0; i < 15; i++)); do
		sleep "0.$(printf %03d $((30 + RANDOM % 100)))"
		kill -TSTP $tracer
		wait_for 20 grep -q '^State:.T' /proc/$tracer/status || states+='dcpix runs '
		grep -q '^State:.[RS]' "/proc/$started/status" || states+="$(grep '^State' "/proc/$started/status") "
		kill -CONT $tracer
	done
	kill -TERM $tracer
	wait $tracer
	check_equal 'a program goes on when dcpix is stopped from the terminal' '0 ' "$? $states"
	stop "$started"
}

already_traced()
{
	start python3 -c 'import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4
print(libc.ptrace(0x4206, int(sys.argv[1]), 0, 0), flush=True)
time.sleep(60)' "$1" >"$scratch/seized"
	wait_for 20 grep -q '^0' "$scratch/seized"
	check_fails 'a process that somebody traces' 1 "process $started traces it already" \
		dcpix --db "$db" --bursts --pid "$1" --seconds 20
	stop "$started"
}

unharmed()
{
	local alone

	alone=$("$branches" 0 150000000)
	start "$branches" 0 150000000 >"$scratch/out"
	bursts "$started" --seconds 60 --budget 20
	wait "$started"
	check_equal 'a program computes what it computes by itself' "$alone" "$(cat "$scratch/out")"
	check_equal 'its end is the end of dcpix' true "$(reported .ended)"
	start python3 -c 'import signal, threading, time
count = 0
def tick(number, frame):
    global count
    count += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
end, sums = time.time() + 4, set()
while time.time() < end:
    threads = [threading.Thread(target=lambda: sums.add(sum(range(20000)))) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
print(sums, count > 10)' >"$scratch/out" 2>&1
	bursts "$started" --seconds 60 --budget 40
	wait "$started"
	check_equal 'nor do signals and threads that come and go matter' '{199990000} True' "$(cat "$scratch/out")"
	start "$build/workloads/rough" 6 >"$scratch/out"
	check 'bursts of a program that executes itself are taken' bursts "$started" --seconds 60 --budget 50
	wait "$started"
	check_equal 'handlers, breakpoints, children, programs that it executes, blocked signals: all as without' \
		'rough wrong 0' "$(cat "$scratch/out")"
	check 'and they were counted all the time' [ "$(reported .bursts)" -ge 50 ]
	start "$build/workloads/waits" 6 >"$scratch/out" 2>&1
	bursts "$started" --seconds 60 --budget 50
	wait "$started"
	check_equal 'no system call that waits is cut short' 'waits many wrong 0' "$(cat "$scratch/out")"
	check 'that a thread waits is counted' [ "$(reported .asleep)" -ge 50 ]
}

refusals()
{
	check_fails 'a process that is not there' 1 'No such process' dcpix --db "$db" --bursts --pid 4194304
	check_fails 'a thread of the kernel' 1 'Operation not permitted' dcpix --db "$db" --bursts --pid 2 --seconds 1
	check_fails 'bursts of nothing' 2 'belong together' dcpix --db "$db" --bursts
	start sleep 60
	chmod 755 "$scratch"
	mkdir -m 777 "$scratch/theirs"
	cp "$build/bin/dcpix" "$scratch/"
	check_fails 'a process of another user' 1 'cannot take bursts of it: Permission denied (' \
		setpriv --reuid nobody --clear-groups "$scratch/dcpix" --db "$scratch/theirs/db" --bursts --pid "$started" --seconds 1
	check_fails 'a process that sleeps' 4 'no thread of the process was found running' \
		dcpix --db "$db" --bursts --pid "$started" --seconds 0.5
}

if [ "$(id -u)" != 0 ]; then
	skip 'bursts are taken' 'not root'
	exit 0
fi
probabilities
budget
many_threads
stopped
killed
unharmed
refusals
exit 0
