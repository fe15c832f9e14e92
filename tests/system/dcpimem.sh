#!/bin/bash
# dcpimem: of programs whose answer is known, it names the object by who allocated it, and what to do; of those in which
# nothing is wrong, it says so; what it recorded is in the database
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'dcpimem finds what is wrong with objects' || exit 0
xeon='e5-2699v3-2s'
opteron='opteron-6174-2s'
objects=$build/workloads/objects

# observe PROGRAM MACHINE NAME WORD LOOPS MIB [OPTION...] - the report is in $report; the program's output in $scratch/out
observe()
{
	local program=$1 machine=$2 arguments=("${@:3:2}" 8 "${@:5:2}")

	shift 6
	dcpimem run --machine "$machine" --threads 8 --no-db --quiet --json --output "$report" "$@" -- \
		"$objects/$program" "${arguments[@]}" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# verdict NAME MACHINE LOOPS MIB OBJECT TYPE - the pattern NAME is found, at OBJECT, and the remedied variant has no such fault
verdict()
{
	observe patterns "$2" "$1" plain "$3" "$4"
	check_equal "$1 on $2: object, verdict and type" "$5 $1 $6" \
		"$(jq -r '[.objects[] | select(.verdict != "nothing") | (.object | sub("[+].*"; "")) + " " + .verdict + " " + .type] |
			first' "$report")"
	observe patterns "$2" "$1" remedied "$3" "$4"
	check_equal "$1 on $2, remedied" 0 "$(jq "[.objects[] | select(.verdict == \"$1\")] | length" "$report")"
}

# nothing NAME MACHINE LOOPS MIB
nothing()
{
	observe controls "$2" "$1" plain "$3" "$4"
	check_equal "$1 on $2: nothing to change" '' \
		"$(jq -r '.objects[] | select(.verdict != "nothing") | .object + " " + .verdict' "$report")"
}

# gains NAME MACHINE LOOPS MIB PERCENT - what --try says the program would gain is what the remedied variant gains, but for so
# many percent of that
gains()
{
	local plain tried remedied

	observe patterns "$2" "$1" plain "$3" "$4" --try "$1"
	plain=$(jq .seconds "$report")
	tried=$(jq '.tried[0].seconds' "$report")
	emulate "$2" 8 --no-db --no-samples -- "$objects/patterns" "$1" remedied 8 "$3" "$4" ||
		not_ok "$1 on $2, remedied, runs" "$(cat "$scratch/err")"
	remedied=$(jq .seconds "$report")
	figure "$(awk -v p="$plain" -v t="$tried" -v r="$remedied" -v what="$1 on $2" \
		'BEGIN { printf "%s: %.2f times as fast, %.2f when tried", what, p / r, p / t }')"
	check_at_most "$1 on $2: how far the gain that was tried is off, percent" "$5" \
		"$(awk -v p="$plain" -v t="$tried" -v r="$remedied" \
			'BEGIN { tried = p / t - 1; gain = p / r - 1; print (tried > gain ? tried - gain : gain - tried) / gain * 100 }')"
}

verdict replicate $opteron 10000 16 make_matrix 'uint64_t[]'
verdict interleave $opteron 6 32 make_points 'uint64_t[]'
verdict local $opteron 100000 64 make_buffer 'uint64_t[]'
verdict pin $opteron 50000 8 make_pool 'atomic_uint_fast64_t[]'
verdict migrate $opteron 500000 16 make_block 'uint64_t[]'
verdict pad $opteron 50000 1 make_counters 'uint64_t[]'
verdict split $opteron 100000 1 make_session 'struct session[]'
verdict replicate $xeon 40000 96 make_matrix 'uint64_t[]'
verdict interleave $xeon 4 96 make_points 'uint64_t[]'
verdict local $xeon 100000 192 make_buffer 'uint64_t[]'
verdict pin $xeon 50000 8 make_pool 'atomic_uint_fast64_t[]'
verdict pad $xeon 50000 1 make_counters 'uint64_t[]'
verdict split $xeon 100000 1 make_session 'struct session[]'

nothing stream $opteron 4 24
nothing private $xeon 50000 192
nothing cached $xeon 200000 1
nothing spread $opteron 6 32
nothing counter $xeon 20000 1
nothing padded $xeon 1000000 1
nothing queue $xeon 50000 1
nothing churn $xeon 2000 1
nothing once $xeon 10000000 1
nothing rare $xeon 100 1
nothing replicated $opteron 5000 16
nothing phases $opteron 4 32

gains pad $opteron 50000 1 25
gains split $xeon 100000 1 25
gains interleave $opteron 6 32 25
gains interleave $xeon 4 96 25
gains local $opteron 100000 64 25
gains local $xeon 100000 192 25
gains pin $opteron 50000 8 25
gains pin $xeon 50000 8 25
gains migrate $opteron 500000 16 25
gains replicate $opteron 10000 16 70 # too fast by a seventh

[ $failures = 0 ]
