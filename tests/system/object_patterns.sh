#!/bin/bash
# dcpiemu and objects that are used wrongly: the known remedy of each makes the program faster, by about what it was when
# this was written, and what would tempt one to change the others does not
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'remedies of objects make programs faster' || exit 0
xeon='e5-2699v3-2s'
opteron='opteron-6174-2s'
threads=8

# gain PROGRAM MACHINE NAME OTHER LOOPS MIB - how many times as long the program takes as with OTHER, which must print the
# same: else, nothing
gain()
{
	local word plain printed

	for word in plain "$4"; do
		emulate "$2" $threads --no-db --no-samples -- "$build/workloads/objects/$1" "$3" "$word" $threads "$5" "$6" || return
		[ "$word" = plain ] && plain=$(jq .seconds "$report") && printed=$(cat "$scratch/out")
	done
	[ "$printed" = "$(cat "$scratch/out")" ] && jq --argjson plain "$plain" '$plain / .seconds * 100 | round / 100' "$report"
}

# remedy NAME MACHINE LOOPS MIB LEAST MOST
remedy()
{
	local gain

	gain=$(gain patterns "$2" "$1" remedied "$3" "$4")
	check_at_least "$1: the program is $gain times as fast, at least" "$5" "$gain"
	check_at_most "$1: ... at most" "$6" "$gain"
}

# nothing NAME MACHINE LOOPS MIB - what depends on who comes first at a line varies, by a quarter at times: the middle of three
nothing()
{
	local gain most=1.03 runs=1

	[[ $1 = counter || $1 = queue ]] && most=1.15 runs=3
	gain=$(for ((run = 0; run < runs; run++)); do
		gain controls "$2" "$1" tempting "$3" "$4"
	done | sort -n | sed -n "$((runs / 2 + 1))p")
	check_at_most "$1: with what tempts, the program is $gain times as fast, at most" $most "$gain"
}

remedy replicate $opteron 10000 16 1.3 2.2
remedy interleave $opteron 6 32 1.5 2.5
remedy local $xeon 100000 192 1.25 1.8
remedy pin $xeon 50000 8 1.4 2.8
remedy migrate $opteron 500000 16 1.1 1.5
remedy pad $opteron 50000 1 5 60
remedy split $xeon 100000 1 1.3 2.2

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
