#!/bin/bash
# dcpimem by the faults of NUMA balancing, without a PMU: in a guest of two nodes (arm64, Debian's kernel, under QEMU)
#
# What a guest's kernel does with pages and faults is looked at by itself first (hinting_faults). Then dcpimem runs the
# programs whose answer is known. What the guests said stays in build-arm64/numa/. Needs no KVM.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=guest.sh
. "$top/tests/system/guest.sh"

results=$top/$guest_build/numa
guest_scripts=numa
guest_programs=(objects/patterns objects/controls hinting_faults)

guest_make_or_skip 'dcpimem in a guest of two nodes' /workloads programs "$guest_build/lib/dcpi/libdcpi-objects.so" || exit 0
rm -rf "$results"
start guest_boot "$results/patterns" patterns.sh "${guest_of_two_nodes[@]}"
guests=("$started")
start guest_boot "$results/controls" controls.sh "${guest_of_two_nodes[@]}"
guests+=("$started")
start guest_boot "$results/one_node" one_node.sh "${guest_of_one_node[@]}"
guests_end "$results" "${guests[@]}" "$started"

# ---- the kernel ----

# faults POLICY FILTER - of what hinting_faults said
faults()
{
	jq -r "$2" "$results/controls/faults_$1"
}

# percent_of POLICY PART WHOLE
percent_of()
{
	faults "$1" "($2) / ($3) * 100"
}

for policy in default bind balancing; do
	figure "$policy: $(faults $policy '"\(.samples) samples of \(.numa_hint_faults) hinting faults, from nodes \(.from_node); " +
		"asked at once, pages are on \(.at_once), \(.at_once_refused) unknown; \(.numa_pages_migrated) moved"')"
done
check_equal 'the guest has two nodes' 2 "$(faults balancing .nodes)"
check_equal 'each page of a process is sampled' "$(faults balancing .pages)" "$(faults balancing .distinct_pages)"
check_equal 'and no sample is lost' 0 "$(faults balancing .lost)"
check_at_most 'each hinting fault is a sample of a page fault: how many are not, percent' 2 \
	"$(percent_of balancing '(.samples - .numa_hint_faults) | fabs' .numa_hint_faults)"
check_at_least 'which has the address of the access, not of its page, percent' 95 "$(percent_of balancing .within_page .samples)"
for node in 0 1; do
	check_at_least "node $node takes part, percent" 20 "$(percent_of balancing ".from_node[$node]" .samples)"
done
check_at_most 'where a page is, the kernel says at once; unknown are, percent' 1 \
	"$(percent_of balancing .at_once_refused .samples)"
check_equal 'pages that are bound stay where they are' 0 "$(faults balancing '.at_once[1] + .at_end[1]')"
check_equal 'pages that are bound without MPOL_F_NUMA_BALANCING are not sampled' 0 "$(faults bind .samples)"
check_at_least 'pages that are not bound move, percent' 10 "$(percent_of default '.at_end[1]' .pages)"

# ---- dcpimem ----

# ran GUEST NAME - dcpimem made a report, which is $report then
ran()
{
	report=$results/$1/$2.json
	[ "$(cat "$results/$1/$2.status")" = 0 ] || {
		not_ok "$2: dcpimem reports" "$(cat "$results/$1/$2.err")"
		return 1
	}
	check "$2: dcpimem reports two nodes, and no sample was lost" json_holds \
		'.nodes == 2 and .lost_samples == 0 and .untracked == 0 and .seconds > 2' "$report"
	figure "$2: $(sed -n 's/ s$//p' "$results/$1/$2.err") s, $(jq -r '"\(.counted) faults, \(.sampled) of repeated use" +
		([.objects[] | select(.kind == "heap")][:1] | map("; \(.object): \(.evidence.samples), from nodes " +
			"\(.evidence.from_nodes), to \(.evidence.to_nodes), \(.evidence.late_writes) writes and " +
			"\(.evidence.watched_words) watched words since a second node came: \(.verdict)") | join("")) +
		"; \(.lost_events) events of objects lost"' "$report")"
}

# verdict NAME OBJECT - this object is the only one with a verdict, which is NAME
verdict()
{
	ran patterns "$1" || return 1
	check_equal "$1: object and verdict" "$2 $1" \
		"$(jq -r '.objects[] | select(.verdict != "nothing") | "\(.object | sub("[+].*"; "")) \(.verdict)"' "$report")"
}

# placed NAME OBJECT - verdict, and its pages are known to be where the thread that touched them first was
placed()
{
	verdict "$@" || return
	check_at_least "$1: accesses to pages of node 0, percent" 85 "$(jq --arg object "$2" \
		'[.objects[] | select(.object | startswith($object))] | first | .evidence.to_nodes | .[0] / add * 100' "$report")"
}

# nothing NAME
nothing()
{
	ran controls "$1" || return
	check_equal "$1: nothing to change" '' \
		"$(jq -r '.objects[] | select(.verdict != "nothing") | .object + " " + .verdict' "$report")"
}

# refuses GUEST NAME TEXT - dcpimem does not run the program, and says why
refuses()
{
	check_equal "$2: dcpimem fails" 1 "$(cat "$results/$1/$2.status")"
	check "$2: and says why" grep -q "$3" "$results/$1/$2.err"
	check_equal "$2: the program did not run" '' "$(cat "$results/$1/$2.out")"
}

placed replicate make_matrix
placed interleave make_points
placed local make_buffer
placed pin make_pool
placed migrate make_block
verdict pad make_counters
verdict split make_session
for name in stream private cached spread counter padded queue churn once rare replicated phases; do
	nothing $name
done
refuses patterns off "is off: 'sysctl kernel.numa_balancing=1'"
refuses one_node one_node 'one NUMA node'

[ $failures = 0 ]
