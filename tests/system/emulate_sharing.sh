#!/bin/bash
# dcpiemu and lines that threads share: what is known of counters, false sharing, locks and queues on real machines holds
# on emulated ones, whatever the host's order of threads
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'threads share lines' || exit 0
sharing=$build/workloads/emulated/sharing

# turn MACHINE KIND THREADS - virtual ns that a turn takes, of all threads together: of the last three quarters, because it
# takes some quanta until it is known that a line is contended
turn()
{
	local turns

	for turns in 200000 800000; do
		emulate "$1" "$3" --no-samples -- "$sharing" "$2" "$3" $turns time || return
		timed
	done | awk -v threads="$3" 'NR == 1 { first = $1 }
		NR == 2 { printf "%.1f\n", ($1 - first) / 600000 / threads * 1e9 }'
}

# within SENTENCE LEAST MOST VALUE
within()
{
	check_at_least "$1, at least" "$2" "$4"
	check_at_most "$1, at most" "$3" "$4"
}

ns_of()
{
	sed -n "s/^[[:space:]]*$2 = \([0-9]*\);.*/\1/p" "$top/config/machines/$1.conf"
}

# A counter of all is handed over at each addition, to another node for longer; one of each is not.
transfer=$(ns_of e5-2699v3-2s transfer_ns)
far=$(ns_of e5-2699v3-2s remote_transfer_ns)
for threads in 2 4 8; do
	within "a counter of $threads threads of one socket: ns an addition" $((transfer * 6 / 10)) $((transfer * 12 / 10)) \
		"$(turn e5-2699v3 counter $threads)"
	check_at_most "of $threads threads, counters of their own: ns" 5 "$(turn e5-2699v3 padded $threads)"
done
within 'a counter of 8 threads of two sockets: ns an addition' $((transfer * 12 / 10)) "$far" \
	"$(turn e5-2699v3-2s counter 8)"
within 'a counter of 8 threads of four nodes: ns an addition' "$(ns_of opteron-6174-2s transfer_ns)" \
	"$(ns_of opteron-6174-2s remote_transfer_ns)" "$(turn opteron-6174-2s counter 8)"

# False sharing: nobody needs what the others write.
shared=$(turn e5-2699v3 false 4)
private=$(turn e5-2699v3 private 4)
check_at_least "words of four threads in one line, ns $shared, are as many times as slow as in four, ns $private" 5 \
	"$(awk -v a="$shared" -v b="$private" 'BEGIN { print a / (b > 0.1 ? b : 0.1) }')"

# A lock goes from core to core, and so do the ends of a queue.
check_at_least 'a ticket lock of 2 threads: ns a section' $((transfer / 2)) "$(turn e5-2699v3 ticket 2)"
alone=$(turn e5-2699v3 spin 1)
check_at_least "a spin lock of 2 threads is as many times as slow as of one, ns $alone" 4 \
	"$(awk -v a="$(turn e5-2699v3 spin 2)" -v b="$alone" 'BEGIN { print a / b }')"
within 'a queue of one producer: ns an item and thread' 5 $((transfer * 2)) "$(turn e5-2699v3 queue 2)"

# One thread pays nothing.
check_at_most 'a counter of one thread: ns' 5 "$(turn e5-2699v3 counter 1)"

[ $failures = 0 ]
