#!/bin/bash
# dcpiemu and time: programs see virtual time, the target's cores and the seed's random numbers; sleeps, timeouts, pipes,
# children and conditions take what they take there; real delay keeps the host in proportion.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'programs see virtual time' || exit 0
options=(--no-samples --model clock)

# seen SENTENCE EXPECTED THREADS COMMAND... - what it prints
seen()
{
	emulate in-order-2 "$3" "${options[@]}" -- "${@:4}"
	check_equal "$1" "$2" "$(cat "$scratch/out")"
}

# took SENTENCE SECONDS COMMAND... - virtual seconds of the run, and at most a tenth more
took()
{
	local seconds

	emulate in-order-2 4 "${options[@]}" -- "${@:3}"
	seconds=$(jq .seconds "$report")
	check_at_least "$1" "$2" "$seconds"
	check_at_most '... and no longer' "$(awk -v s="$2" 'BEGIN { print s * 1.1 }')" "$seconds"
}

# Their shells are to expand these.
# shellcheck disable=SC2016
processors()
{
	seen 'nproc counts the cores of the target' 3 3 env -u OMP_NUM_THREADS nproc
	seen 'so does the C library, and the kernel is asked' '3 3' 3 sh -c \
		'echo "$(getconf _NPROCESSORS_ONLN) $(grep -c ^processor /proc/cpuinfo)"'
	sed 's/^cores = 4;/cores = 1024;/; s/^name = .*/name = "large";/' "$top/config/machines/in-order-2.conf" >"$scratch/large.conf"
	emulate "$scratch/large.conf" 1000 --no-db -- sh -c 'echo "$(env -u OMP_NUM_THREADS nproc) $(nproc --all)"'
	check_equal 'also more than the host has room for' '1000 1000' "$(cat "$scratch/out")"
	seen 'a program may be pinned to cores that are not here' '2 0,1' 4 sh -c \
		'echo "$(taskset -c 2,3 env -u OMP_NUM_THREADS nproc) $(taskset -cp 0,1 $$ >/dev/null; taskset -cp $$ | sed "s/.*: //")"'
}

# A core's node is known, and a thread that is pinned to it touches that node's memory.
nodes()
{
	local cpu

	for cpu in 0 3; do
		emulate e5-2699v3-2s 4 --no-db --no-samples -- taskset -c $cpu sort "$top/tests/system/lib.sh"
		jq -r '[.nodes[].bytes] | if .[0] > .[1] then 0 else 1 end' "$report"
	done >"$scratch/nodes"
	check_equal 'a program that is pinned to a core of another node has its memory on that node' '0 1' "$(paste -sd ' ' "$scratch/nodes")"
}

chance()
{
	local once

	emulate in-order-2 1 "${options[@]}" -- head -c 16 /dev/urandom
	once=$(od -An -tx1 "$scratch/out")
	emulate in-order-2 1 "${options[@]}" -- head -c 16 /dev/urandom
	check_equal 'random numbers are the same again' "$once" "$(od -An -tx1 "$scratch/out")"
	emulate in-order-2 1 "${options[@]}" --seed 2 -- head -c 16 /dev/urandom
	check 'but with another seed' [ "$once" != "$(od -An -tx1 "$scratch/out")" ]
}

times()
{
	seen 'time begins in 2030' '2030-01-01 00:00' 1 date -u '+%F %H:%M'
	took 'a sleep takes what was asked for' 0.2 sleep 0.2
	took 'who waits for a child has its time' 0.3 sh -c 'sleep 0.3 & wait'
	took 'one after another' 0.3 sh -c 'sleep 0.1; sleep 0.2'
	took 'who reads from a pipe waits for who writes' 0.2 sh -c '(sleep 0.2; echo) | cat >/dev/null'
}

# A notice of a condition after 50 ms, a timeout of 100, one of poll() of 30: each at its time, to 2 ms.
waits()
{
	emulate in-order-2 4 "${options[@]}" -- /usr/bin/python3 -c '
import select, threading, time
condition = threading.Condition()
begin = time.monotonic()
times = []
def notify():
    time.sleep(0.05)
    with condition:
        condition.notify()
with condition:
    thread = threading.Thread(target=notify)
    thread.start()
    condition.wait(10)
    times.append(time.monotonic())
    condition.wait(0.1)
    times.append(time.monotonic())
select.poll().poll(30)
times.append(time.monotonic())
thread.join()
print(*[round((t - begin) * 100) for t in times])'
	check_equal 'conditions, timeouts and poll() end when they should' '5 15 18' "$(cat "$scratch/out")"
}

# An alarm of 1 s; a timer of 0.3 s; one of a descriptor, until a time, then twice.
timers()
{
	seen 'an alarm ends a wait' 1.0 1 /usr/bin/python3 -c 'import signal, time
begin = time.monotonic()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.alarm(1)
signal.pause()
print(round(time.monotonic() - begin, 1))'
	took 'a program that is given a time has it' 0.3 sh -c 'timeout 0.3 sleep 20; [ $? = 124 ]'
	took 'timers of descriptors run out in time' 0.5 "$build/workloads/emulated/timers"
	check_equal '... as they say themselves' '0.3 0.5' "$(cat "$scratch/out")"
}

# All threads of the parent are there when it forks.
children_with_threads()
{
	seen 'the child of a program with threads has threads of its own' 'child 3 0' 4 /usr/bin/python3 -c 'import os, threading
gate = threading.Event()
for _ in range(3):
    threading.Thread(target=gate.wait).start()
child = os.fork()
if child == 0:
    done = []
    threads = [threading.Thread(target=done.append, args=(1,)) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    os.write(1, b"child %d " % len(done))
    os._exit(0)
status = os.waitpid(child, 0)[1]
gate.set()
print(status)'
}

# A second there takes 40 here: the part that is timed is some 50 ms there.
delay()
{
	local there here

	emulate in-order-2 1 "${options[@]}" --delay real --dilation 40 -- sleep 0.05
	there=$(jq .seconds "$report")
	here=$(jq .host_seconds "$report")
	check_at_least 'a real delay stretches a sleep' "$(awk -v s="$there" 'BEGIN { print 40 * s * 0.95 }')" "$here"
}

# near A B - they are within 10 %
near()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.9 * b && a < 1.1 * b) }'
}

# One thread, two, and two that need one lock: the host takes as many times as long as the target, though the emulator
# does no more in one case than in the other. A host that lets threads wait for long is asked again.
proportions()
{
	local try two locked two_here locked_here

	for try in 1 2 3; do
		emulate e5-2603v1 2 --no-samples --quantum 10000 --delay real --dilation 1500 -- \
			"$build/workloads/emulated/paced"
		read -r two locked two_here locked_here <"$scratch/out"
		near "$two" "$two_here" && near "$locked" "$locked_here" || [ $try = 3 ] && break
		retry 'real delay' "the host took $two_here and $locked_here times as long, not $two and $locked"
	done
	check_at_least 'two threads are faster than one' 1.8 "$two"
	check_at_most 'but not when they need one lock' 1.1 "$locked"
	check "by as much on the host, with a real delay: $two, $two_here" near "$two" "$two_here"
	check "with the lock, too: $locked, $locked_here" near "$locked" "$locked_here"
}

processors
nodes
chance
times
waits
timers
children_with_threads
delay
proportions
