#!/bin/bash
# dcpiemu and threads: who waits for a lock waits for the misses of who holds it; real delay has the proportions of virtual
# time; a loop that is scheduled dynamically takes the same time each time.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'threads wait for each other' || exit 0
workloads=$build/workloads/emulated

# critical PLACE THREADS - virtual seconds
critical()
{
	emulate in-order-2 "$2" --no-samples -- "$workloads/critical" "$1" "$2" 1000 time
	timed
}

# ratio A B
ratio()
{
	awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) print a / b }'
}

# Outside of the lock, misses of several threads overlap; inside, one thread's come after another's.
critical_sections()
{
	local one inside outside

	one=$(critical inside 1)
	outside=$(critical outside 2)
	inside=$(critical inside 2)
	check_at_most 'loads before a lock do not hold up the other thread' 1.2 "$(ratio "$outside" "$one")"
	check_at_least 'loads inside are waited for' 1.8 "$(ratio "$inside" "$one")"
	check_at_most 'once' 2.2 "$(ratio "$inside" "$one")"
	check 'the time is that of threads that are blocked' json_holds \
		'.cycles.blocked > 0.3 * .busy_cycles' "$report"
}

# The same loop five times: how far apart are the fastest and the slowest?
dynamic_loop()
{
	local threads

	for threads in 2 4; do
		for _ in 1 2 3 4 5; do
			emulate e5-2690v4 $threads --no-samples -- "$workloads/dynamic_loop" 4000 time
			timed
		done | sort -g | awk 'NR == 1 { first = $1 } END { if (NR == 5) print 100 * ($1 - first) / first }' >"$scratch/spread"
		check_at_most "percent that a dynamic loop of $threads threads varies by" 2 "$(cat "$scratch/spread")"
	done
}

critical_sections
dynamic_loop
