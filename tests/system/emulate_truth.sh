#!/bin/bash
# emulate_truth.sh - the profile of an emulated run: what every tool makes of it, and that what is inferred from its
# samples is what happened, as far as docs/accuracy.md says
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=emulate_lib.sh
. "$top/tests/system/emulate_lib.sh"

emulator_or_skip 'an emulated run is profiled' || exit 0
inferred=$build/tests/accuracy/inferred

events=(--event cycles:503)
for event in cache-misses L1-dcache-load-misses L1-icache-load-misses branch-misses dTLB-load-misses dTLB-load-walks \
	iTLB-load-misses iTLB-load-walks; do
	events+=(--event "$event:17")
done

# judged NAME PROGRAM INPUT - of the samples of time and the stall cycles so many percent are estimated and explained
# rightly: DCPI's own figures for frequencies, 90 for the reason, 85 for the culprit
judged()
{
	rm -rf "$db"
	emulate in-order-2 1 --label "$1" "${events[@]}" -- "$build/accuracy/$2" "$3" 1
	"$inferred" --db "$db" >"$scratch/check"
	check "of $1 frequencies, reasons and culprits are inferred" json_holds '
		.check | .within_5_percent >= 0.73 * .judged_samples and .within_10_percent >= 0.87 * .judged_samples and
			.within_15_percent >= 0.92 * .judged_samples and .stall_cycles > 0 and
			.right_reason_cycles >= 0.90 * .stall_cycles and .right_culprit_cycles >= 0.85 * .stall_cycles' "$scratch/check"
}

# Counts and samples are of one run: 1 GHz, so that the nanoseconds of a turn, which the program itself has measured, are
# the cycles that its loop takes by the samples.
emulate in-order-2 1 --event cycles:503 -- "$build/workloads/emulated/chase" 4194304 64 100000 time
# shellcheck disable=SC2016 # jq's variables
check 'cycles are by the periods of the samples' json_holds '
	[.blocks[] | select(.frequency.executions > 100000)] | length == 1 and
		(.[0].actual_cycles / $took | . > 0.98 and . < 1.02)' \
	<(dcpicalc --db "$db" --json chase) --argjson took "$(sed -n 's/ ns$//p' "$scratch/err")"
check 'and that is said' grep -q 'epoch 1, cycles (CPI) by the samples' <(dcpicalc --db "$db" chase)

judged zlib zlib text
for kernel in quicksort heap tree sieve search lexer distance machine life hash; do # the last one is looked at below
	judged $kernel kernels $kernel.1
done

check 'the database is sound' dcpictl --db "$db" check
check 'time is the default event' json_holds '.events[0].name == "cycles"' <(dcpiprof --db "$db" --json)
check 'what happened is no event to report' json_holds '[.events[].name | startswith("truth")] | any | not' \
	<(dcpiprof --db "$db" --json)
check 'the procedure is there' grep -q kernel_hash <(dcpiprof --db "$db")
check 'the machine is the model' grep -q 'with the memory of in-order-2, which was emulated' \
	<(dcpicalc --db "$db" kernel_hash)
check 'what was counted is used' grep -q 'counted by dcpiemu in epoch 1' <(dcpicalc --db "$db" kernel_hash)
check 'and compared with what is estimated' grep -q '^Executed:   as dcpiemu counted in epoch 1$' \
	<(dcpicalc --db "$db" --check kernel_hash)
"$inferred" --db "$db" --procedure kernel_hash >"$scratch/check"
check 'so are reasons, of a procedure alone' json_holds '
	.check | .right_reason_cycles > 0 and ([.procedures[].procedure] == ["kernel_hash"])' "$scratch/check"
check 'each instruction can be judged' json_holds \
	'.check.procedures[0].stalls | length > 0 and all(.cycles > 0 and (.reason | length > 0))' "$scratch/check"
check 'the listing has it' grep -q 'imul' <(dcpilist --db "$db" kernel_hash)
check 'so have the worst instructions' grep -q kernel_hash <(dcpitopstalls --db "$db")
check 'so has the summary of all' grep -q 'D-cache miss' <(dcpiwhatcg --db "$db")
check 'counts are listed' grep -q '^event cycles' <(dcpicat --db "$db")
check 'and exported' grep -q kernel_hash <(dcpiexport --db "$db" --folded=-)

# The epochs of two runs, with their labels.
emulate in-order-2 1 --label try2 "${events[@]}" -- "$build/accuracy/kernels" hash.2 1
check 'runs are told apart by their labels' dcpidiff --db "$db" --label hash --label try2
check 'so are they by their statistics' dcpistats --db "$db" --label hash --label try2
# Later epochs, of another machine, are no business of a label.
emulate e5-2699v3 1 --label elsewhere "${events[@]}" -- "$build/accuracy/kernels" hash.2 1
check 'the machine is that of the label' grep -q 'with the memory of in-order-2, which was emulated' \
	<(dcpicalc --db "$db" --label try2 kernel_hash)
check_equal 'times and events are those of the label' "$(dcpiprof --db "$db" --epoch try2 --json | jq -c '[.start, .end, .epochs, .events]')" \
	"$(dcpiprof --db "$db" --label try2 --json | jq -c '[.start, .end, .epochs, .events]')"
check_equal 'also in the head of a procedure' "$(dcpicalc --db "$db" --epoch try2 kernel_hash)" \
	"$(dcpicalc --db "$db" --label try2 kernel_hash)"
check 'so is what was counted' grep -q 'counted by dcpiemu in epoch' <(dcpicalc --db "$db" --label try2 kernel_hash)
check 'samples of other runs are not taken for those of the counts' grep -q 'what a cycle is in samples is not known' \
	<(dcpicalc --db "$db" --epoch all kernel_hash)
truth=$("$inferred" --db "$db" --epoch try2 --procedure kernel_hash | jq -c '.check.procedures[].stalls')
check 'there is a truth of the epoch' test "${#truth}" -gt 2
check_equal 'so is the truth' "$truth" \
	"$("$inferred" --db "$db" --label try2 --procedure kernel_hash | jq -c '.check.procedures[].stalls')"
# Of two runs there are twice as many samples as of the one whose counts are taken: that is no error of the estimates.
rm -rf "$db"
for _ in 1 2; do
	emulate in-order-2 1 --label both --event cycles:503 -- "$build/accuracy/kernels" hash.2 1
done
for procedures in '' '--procedure=kernel_hash'; do
	check "two runs are judged as one is${procedures:+: $procedures}" json_holds '
		.check | .judged_samples > 0 and .within_15_percent >= 0.92 * .judged_samples' \
		<("$inferred" --db "$db" --label both ${procedures:+"$procedures"})
done
check 'dcpicalc, which fits one factor, agrees' json_holds '.check | .samples > 0 and .within_percent."15" >= 0.92 * .samples' \
	<(dcpicalc --db "$db" --label both --check --json kernel_hash)

# What is missing is said with who takes it.
rm -rf "$db"
emulate in-order-2 1 --label uncounted --model caches,clock,samples --event cycles:503 -- \
	"$build/accuracy/kernels" hash.2 1
check_fails 'what an emulation did not count, another one can' 4 \
	"there are no exact counts of it: 'dcpiemu run' takes them, unless --model leaves 'counts' out" \
	dcpicalc --db "$db" --label uncounted --from exact kernel_hash
[ $failures = 0 ]
