#!/bin/bash
# emulate_poster.sh - a matrix times a vector scales as on the poster: on the old machine to all of its cores, on the new
# ones not. A smaller matrix than its: 72 MiB, more than any of the caches.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "$0")/emulate_lib.sh"

emulator_or_skip 'machines scale as on the poster' || exit 0

# scale MACHINE THREADS - into $scratch/MACHINE.json
scale()
{
	dcpiemu sweep --no-db --no-samples --machine "$1" --threads "1,$2" --json --quiet -- \
		"$build/workloads/emulated/matvec" 3072 1 >"$scratch/$1.json"
}

# last MACHINE FILTER - of the point with most threads
last()
{
	jq "[.points[]] | max_by(.threads) | $2" "$scratch/$1.json"
}

scale e5-2603v1 4
scale e5-2699v3 18
scale e5-2690v4 14
check_at_least 'four old cores are nearly four times as fast as one, percent' 85 "$(last e5-2603v1 '100 * .of_perfect')"
check_at_most 'eighteen cores of 2014 are not, percent' 70 "$(last e5-2699v3 '100 * .of_perfect')"
check_at_most 'nor are fourteen of 2016' 75 "$(last e5-2690v4 '100 * .of_perfect')"
check_at_least 'they use what memory can do, percent' 60 \
	"$(last e5-2699v3 '100 * .gb_per_second / .limit_gb_per_second')"
check_at_most 'the old ones do not need all of theirs, percent' 50 \
	"$(last e5-2603v1 '100 * .gb_per_second / .limit_gb_per_second')"
# What no model may break, whatever its figures are (a roofline: Williams and others, CACM 52(4), 2009): all cores together
# read no faster than one core does, times cores, and than memory can.
# shellcheck disable=SC2016 # jq's variables
for machine in e5-2603v1 e5-2699v3 e5-2690v4; do
	check "$machine: neither more than its cores nor more than its memory" json_holds '
		(.points | min_by(.threads)) as $one | .points[] | select(.threads > 1) |
			.of_perfect <= 1.01 and .of_perfect <= 1.01 * .limit_gb_per_second / (.threads * $one.gb_per_second)' \
		"$scratch/$machine.json"
done
[ $failures = 0 ]
