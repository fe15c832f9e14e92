#!/bin/bash
# stalls.sh - of nine loops that stall for one known reason each, dcpicalc says that reason, and who is to blame
#
# From samples of a clock alone, and again with exact counts. Where a clock cannot tell two reasons apart (a cache's and a
# TLB's miss of the same load), both have the largest share. Frequencies are relative, and shares are what can be asked
# for: half of the time and more, two fifths of the branch.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

program=$build/workloads/stall_kernels
db=$scratch/db
may_sample_or_skip 'reasons and culprits of nine kernels' || exit 0
[ "$(uname -m)" = x86_64 ] || {
	skip 'reasons and culprits of nine kernels' 'they are only written for x86-64'
	exit 0
}
printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
for kernel in chase stores divide multiply branch pages locked adds code; do
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

# has_reason WHAT FILE REASON LEAST [FILTER] - has it the largest share, at least LEAST percent, and the marked
# instruction for the culprit of most of it, or what FILTER says?
has_reason()
{
	local share culprit

	share=$(jq -r --arg reason "$3" "$rows"' | "\(map(select(.key == $reason).value)[0]) \(map(.value) | max)"' "$2")
	figure "$1: $3 at most ${share% *} %; the largest row has ${share#* } %"
	check "$1: $3 has the largest share, and $4 % of the time or more" \
		awk -v own="${share% *}" -v most="${share#* }" -v least="$4" 'BEGIN { exit !(own >= most && own >= least) }'
	culprit=$(($(symbol "kernel_$kernel") + $(symbol "culprit_$kernel")))
	check "$1: the culprit is the instruction that it was made for" \
		json_holds "${5:-"[.blocks[] | .frequency.value as \$frequency | .instructions[].stalls[] |
			select(.reason == \"$3\") | .high *= \$frequency] | max_by(.high) | .culprits | index($culprit)"}" "$2"
}

# explain KERNEL REASON LEAST [FILTER]
explain()
{
	kernel=$1
	dcpicalc --db "$db" --epoch all --json "kernel_$1" "$program" >"$scratch/$1.json" || {
		not_ok "$1 is analysed"
		return
	}
	# A newer CPU may hardly wait in these two loops: seen on Zen 5, which has no model.
	if [[ $1 = @(stores|divide) ]] && json_holds '.model.note // "" | startswith("no model is for the CPU")' "$scratch/$1.json"; then
		skip "$1: $2 has the largest share" "$(jq -r .model.note "$scratch/$1.json")"
		return
	fi
	has_reason "$1" "$scratch/$1.json" "${@:2}"
	for model in intel-skylake intel-icelake generic; do
		dcpicalc --db "$db" --epoch all --cpu $model --json "kernel_$1" "$program" >"$scratch/model.json" ||
			not_ok "$1 is analysed as $model"
		check "$1: $2 has the largest share by the model $model, too" \
			test "$(jq -r --arg reason "$2" "$rows"' | (map(select(.key == $reason).value)[0] >= (map(.value) | max))' \
				"$scratch/model.json")" = true
	done
	dcpix --db "$db" -- "$program" "$1" 0.01 2>"$scratch/dcpix.log" ||
		not_ok "$1 is counted" "$(cat "$scratch/dcpix.log")"
	dcpicalc --db "$db" --epoch all --json "kernel_$1" "$program" >"$scratch/$1.exact.json" || {
		not_ok "$1 is analysed again"
		return
	}
	check "$1: exact counts are used" json_holds '[.blocks[].frequency.method] | unique == ["counted"]' \
		"$scratch/$1.exact.json"
	check_equal "$1: the model stays that of the CPU that was sampled" "$(jq -c .model "$scratch/$1.json")" \
		"$(jq -c .model "$scratch/$1.exact.json")"
	has_reason "$1, counted" "$scratch/$1.exact.json" "${@:2}"
}

explain chase 'D-cache miss' 50
explain stores 'Write buffer' 50
explain divide 'FDIV busy' 50
explain multiply 'IMUL busy' 50
# Of an Intel, a quarter of the ways' samples is not late, and moved back to the branch.
explain branch 'Branch mispredict' 40
explain pages 'DTB miss' 50
explain locked 'Synchronization' 50
first=$(symbol kernel_adds)
explain adds 'Ra dependency' 50 \
	"[.blocks[] | select(.bound == \"latency\").instructions[] | select(.critical).address - $first] | length == 8 and min == 0 and max == 21"
# A piece is a line: whatever waits for the cache is its first instruction.
explain code 'I-cache (not ITB)' 50 \
	'[.blocks[].instructions[] | select([.stalls[].reason] | index("I-cache (not ITB)")).address % 64] |
		length > 100 and unique == [0]'
