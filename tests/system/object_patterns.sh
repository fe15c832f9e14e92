#!/bin/bash
# dcpiemu and objects that are used wrongly: the known remedy of each makes the program faster, by about what it was when
# this was written, and what would tempt one to change the others does not
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"
# shellcheck source=tests/system/objects_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/objects_lib.sh"

emulator_or_skip 'remedies of objects make programs faster' || exit 0
threads=8

# gain PROGRAM NAME MACHINE OTHER 'LOOPS MIB' - how many times as long the program takes as with OTHER, which must print the
# same: else, nothing
gain()
{
	local word plain printed

	for word in plain "$4"; do
		# shellcheck disable=SC2086 # two words
		emulate "$3" $threads --no-db --no-samples -- "$build/workloads/objects/$1" "$2" "$word" $threads $5 || return
		[ "$word" = plain ] && plain=$(jq .seconds "$report") && printed=$(cat "$scratch/out")
	done
	[ "$printed" = "$(cat "$scratch/out")" ] && jq --argjson plain "$plain" '$plain / .seconds * 100 | round / 100' "$report"
}

# remedy NAME MACHINE LEAST MOST - by how much the remedied pattern is faster
remedy()
{
	local gain

	gain=$(gain patterns "$1" "$2" remedied "${pattern_size["$1 $2"]}")
	check_at_least "$1: the program is $gain times as fast, at least" "$3" "$gain"
	check_at_most "$1: ... at most" "$4" "$gain"
}

# nothing NAME MACHINE LOOPS MIB - the control is no faster with what tempts. Where threads compete for one line, the time
# depends on which of them gets it.
nothing()
{
	local gain most=1.03

	[[ $1 = counter || $1 = queue ]] && most=1.15
	gain=$(gain controls "$1" "$2" tempting "$3 $4")
	check_at_most "$1: with what tempts, the program is $gain times as fast, at most" $most "$gain"
}

remedy replicate $opteron 1.3 2.2
remedy interleave $opteron 1.5 2.5
remedy local $xeon 1.25 1.8
remedy pin $xeon 1.4 2.8
remedy migrate $opteron 1.1 1.5
remedy pad $opteron 5 60
remedy split $xeon 1.3 2.2

each_control nothing

[ $failures = 0 ]
