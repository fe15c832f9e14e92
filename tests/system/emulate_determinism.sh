#!/bin/bash
# dcpiemu: the same program, input and machine give the same cycles to the last digit, and the same samples.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'twice the same cycles' || exit 0

# once NUMBER MACHINE COMMAND... - into a database of its own; its counts, and where its cycles went, in $scratch/once.NUMBER
once()
{
	dcpiemu run --machine "$2" --threads 1 --db "$db.$1" --quiet --json --output "$report.$1" -- "${@:3}" >"$scratch/out.$1" &&
		dcpicat --db "$db.$1" --csv --no-header | sort >"$scratch/counts.$1"
	jq -c '[.elapsed_cycles, .cycles]' "$report.$1" >"$scratch/once.$1"
}

# twice SENTENCE MACHINE COMMAND... - at the same time, so that both are held up, by turns
twice()
{
	local sentence=$1

	rm -rf "$db".*
	start once 1 "${@:2}"
	once 2 "${@:2}"
	wait "$started"
	check_at_least "$sentence: it takes cycles" 1000000 "$(jq '.[0]' "$scratch/once.1")"
	check_at_least "$sentence: it has samples" 50 "$(wc -l <"$scratch/counts.1")"
	check_equal "$sentence: twice the same cycles, for the same reasons" "$(cat "$scratch/once.1")" "$(cat "$scratch/once.2")"
	check "$sentence: twice the same samples" cmp "$scratch/counts.1" "$scratch/counts.2"
}

head -c 50000 "$top/libsample/code/x86_64_encoding.c" >"$scratch/text"
twice 'gzip on in-order-2' in-order-2 gzip -9c "$scratch/text"
twice 'python3 on e5-2690v4' e5-2690v4 /usr/bin/python3 -c 'print(sum(hash(str(i)) for i in range(1000)))'
twice 'stream on e5-2603v1' e5-2603v1 "$build/workloads/emulated/stream" 100000 1
