#!/bin/bash
# dcpimem: of programs whose answer is known, it names the object by who allocated it, and what to do; of those in which
# nothing is wrong, it says so; what it recorded is in the database
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"
# shellcheck source=tests/system/objects_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/objects_lib.sh"

emulator_or_skip 'dcpimem finds what is wrong with objects' || exit 0
objects=$build/workloads/objects

# observe PROGRAM NAME MACHINE WORD 'LOOPS MIB' [OPTION...] - the report is in $report; the program's output in $scratch/out
observe()
{
	rm -f "$report"
	# shellcheck disable=SC2086 # two words
	dcpimem run --machine "$3" --threads 8 --no-db --quiet --json --output "$report" "${@:6}" -- \
		"$objects/$1" "$2" "$4" 8 $5 >"$scratch/out" 2>"$scratch/err" </dev/null
}

# verdict NAME MACHINE OBJECT TYPE - the pattern NAME is found, at OBJECT, and the remedied variant has no such fault
verdict()
{
	local size=${pattern_size["$1 $2"]}

	observe patterns "$1" "$2" plain "$size"
	check_equal "$1 on $2: object, verdict and type" "$3 $1 $4" \
		"$(jq -r '[.objects[] | select(.verdict != "nothing") | (.object | sub("[+].*"; "")) + " " + .verdict + " " + .type] |
			first' "$report")"
	observe patterns "$1" "$2" remedied "$size"
	check_equal "$1 on $2, remedied" 0 "$(jq "[.objects[] | select(.verdict == \"$1\")] | length" "$report")"
}

# nothing NAME MACHINE LOOPS MIB
nothing()
{
	observe controls "$1" "$2" plain "$3 $4"
	check_equal "$1 on $2: nothing to change" '[]' \
		"$(jq -c '[.objects[] | select(.verdict != "nothing") | .object + " " + .verdict]' "$report")"
}

# gains NAME MACHINE PERCENT - what --try says the program would gain is what the remedied variant gains, but for so
# many percent of that
gains()
{
	local plain tried remedied size=${pattern_size["$1 $2"]}

	observe patterns "$1" "$2" plain "$size" --try "$1"
	plain=$(jq .seconds "$report")
	tried=$(jq '.tried[0].seconds' "$report")
	# shellcheck disable=SC2086 # two words
	emulate "$2" 8 --no-db --no-samples -- "$objects/patterns" "$1" remedied 8 $size ||
		not_ok "$1 on $2, remedied, runs" "$(cat "$scratch/err")"
	remedied=$(jq .seconds "$report")
	figure "$(awk -v p="$plain" -v t="$tried" -v r="$remedied" -v what="$1 on $2" \
		'BEGIN { printf "%s: %.2f times as fast, %.2f when tried", what, p / r, p / t }')"
	check_at_most "$1 on $2: how far the gain that was tried is off, percent" "$3" \
		"$(awk -v p="$plain" -v t="$tried" -v r="$remedied" \
			'BEGIN { tried = p / t - 1; gain = p / r - 1; print (tried > gain ? tried - gain : gain - tried) / gain * 100 }')"
}

verdict replicate $opteron make_matrix 'uint64_t[]'
verdict interleave $opteron make_points 'uint64_t[]'
verdict local $opteron make_buffer 'uint64_t[]'
verdict pin $opteron make_pool 'atomic_uint_fast64_t[]'
verdict migrate $opteron make_block 'uint64_t[]'
verdict pad $opteron make_counters 'uint64_t[]'
verdict split $opteron make_session 'struct session[]'
verdict replicate $xeon make_matrix 'uint64_t[]'
verdict interleave $xeon make_points 'uint64_t[]'
verdict local $xeon make_buffer 'uint64_t[]'
verdict pin $xeon make_pool 'atomic_uint_fast64_t[]'
verdict pad $xeon make_counters 'uint64_t[]'
verdict split $xeon make_session 'struct session[]'

each_control nothing

gains pad $opteron 25
gains split $xeon 25
gains interleave $opteron 25
gains interleave $xeon 25
gains local $opteron 25
gains local $xeon 25
gains pin $opteron 25
gains pin $xeon 25
gains migrate $opteron 25
gains replicate $opteron 25
gains replicate $xeon 25

[ $failures = 0 ]
