#!/bin/bash
# stalls.sh - of seven loops that stall for one known reason each, dcpicalc says that reason, and who is to blame
#
# From samples of a clock alone: where they cannot tell two reasons apart (a cache's and a TLB's miss of the same load),
# both have the largest share. Frequencies are relative then, and shares are what can be asked for.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

program=$build/workloads/stall_kernels
db=$scratch/db
may_sample_or_skip 'reasons and culprits of seven kernels' || exit 0
[ "$(uname -m)" = x86_64 ] || {
	skip 'reasons and culprits of seven kernels' 'they are only written for x86-64'
	exit 0
}
printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
for kernel in chase stores divide multiply pages locked adds; do
	"$program" $kernel 2 || not_ok "kernel $kernel runs"
done
stop "$started"

# symbol NAME - its value, as a number
symbol()
{
	printf '%d' "0x$(nm "$program" | awk -v name="$1" '$3 == name { print $1 }')"
}

# The rows of the summary with their most, dynamic and static.
rows='(.summary.dynamic_by_reason | to_entries | map({key, value: .value.high})) + (.summary.static | to_entries)'

# explain KERNEL REASON - has it the largest share, and the marked instruction for a culprit?
explain()
{
	local share culprit

	dcpicalc --db "$db" --epoch all --json "kernel_$1" "$program" >"$scratch/$1.json" || {
		not_ok "$1 is analysed"
		return
	}
	share=$(jq -r --arg reason "$2" "$rows"' | "\(map(select(.key == $reason).value)[0]) \(map(.value) | max)"' \
		"$scratch/$1.json")
	figure "$1: $2 at most ${share% *} %; the largest row has ${share#* } %"
	check "$1: $2 has the largest share, and half of the time or more" \
		awk -v own="${share% *}" -v most="${share#* }" 'BEGIN { exit !(own >= most && own >= 50) }'
	culprit=$(($(symbol "kernel_$1") + $(symbol "culprit_$1")))
	check "$1: the culprit is the instruction that it was made for" \
		json_holds "${3:-"[.blocks[].instructions[].stalls[] | select(.reason == \"$2\")] | max_by(.high) |
			.culprits | index($culprit)"}" "$scratch/$1.json"
}

explain chase 'D-cache miss'
explain stores 'Write buffer'
explain divide 'FDIV busy'
explain multiply 'IMUL busy'
explain pages 'DTB miss'
explain locked 'Synchronization'
first=$(symbol kernel_adds)
explain adds 'Ra dependency' \
	"[.blocks[] | select(.bound == \"latency\").instructions[] | select(.critical).address - $first] | length == 8 and min == 0 and max == 21"
