#!/bin/bash
# dcpimem: of programs whose answer is known, it names the object by who allocated it, and what to do; of those in which
# nothing is wrong, it says so; what it recorded is in the database
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'dcpimem finds what is wrong with objects' || exit 0
xeon=e5-2699v3-2s
opteron=opteron-6174-2s
objects=$build/workloads/objects

# observe PROGRAM MACHINE NAME WORD LOOPS MIB [OPTION...] - the report is in $report; the program's output in $scratch/out
observe()
{
	local program=$1 machine=$2 arguments=("${@:3:2}" 8 "${@:5:2}")

	shift 6
	dcpimem run --machine "$machine" --threads 8 --no-db --quiet --json --output "$report" "$@" -- \
		"$objects/$program" "${arguments[@]}" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# verdict NAME MACHINE LOOPS MIB OBJECT - the pattern NAME is found, at OBJECT, and the remedied variant has no such fault
verdict()
{
	observe patterns "$2" "$1" plain "$3" "$4"
	check_equal "$1 on $2: object and verdict" "$5 $1" \
		"$(jq -r '[.objects[] | select(.verdict != "nothing") | (.object | sub("[+].*"; "")) + " " + .verdict] | first' "$report")"
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

verdict replicate $opteron 10000 16 make_matrix
verdict interleave $opteron 6 32 make_points
verdict local $opteron 100000 64 make_buffer
verdict pin $opteron 50000 8 make_pool
verdict migrate $opteron 500000 16 make_block
verdict pad $opteron 50000 1 make_counters
verdict split $opteron 100000 1 make_session
verdict replicate $xeon 40000 96 make_matrix
verdict interleave $xeon 4 96 make_points
verdict local $xeon 100000 192 make_buffer
verdict pin $xeon 50000 8 make_pool
verdict pad $xeon 50000 1 make_counters
verdict split $xeon 100000 1 make_session

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

[ $failures = 0 ]
