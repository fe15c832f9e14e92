#!/bin/bash
# dcpitopstalls on a small database, its output compared whole with tests/system/expected/dcpitopstalls/ - worked out by
# hand from calc.S, dcpicalc.description and the model of a two-wide in-order core - and on kernels whose worst
# instruction is known
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

here=$top/tests/system
db=$scratch/db

top()
{
	with_place dcpitopstalls --db "$db" --cpu in-order-2 "$@"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpitopstalls/$2")" "$(top "${@:3}")"
}

refuses()
{
	check_fails "$1" "$2" "$3" dcpitopstalls --db "$db" "${@:4}"
}

# What it writes to a terminal of 80 columns, without carriage returns and colours.
narrow()
{
	local options="--db $db --cpu in-order-2 --no-header --no-pager --color=never $*"

	with_place env -u COLUMNS TERM=xterm script -qec "stty cols 80; dcpitopstalls $options 2>/dev/null" /dev/null \
		</dev/null | tr -d '\r'
}

look_at_small_database()
{
	check 'the database is made' make_calc_database "$db" || return
	prints 'the worst stalls of all images, and what was not analysed' all
	prints 'of one image, with source lines' source --source --asm intel libcalc.so
	prints 'no more than are asked for' limit --limit 1 --no-header
	prints 'comma-separated values have a row for each reason' csv --csv --cutoff 5 libexact.so
	check_equal 'stalls with little of the time are left out' "$(top --no-header --limit 4)" \
		"$(top --no-header --cutoff 1)"
	top --json >"$scratch/top.json"
	# shellcheck disable=SC2016 # jq's variables
	check 'JSON is what its manual says' json_holds '
		.schema == "dcpitopstalls/1" and .event == {name: "cycles", unit: "cycles", period: 4000} and
		.model.name == "in-order-2" and (.relative | not) and .samples == 53700 and .analyzed == 52800 and
		.procedure_count == 8 and ([.not_analyzed[] | [.image, .samples]] == [["PLACE/libreplaced.so", 300],
			["/opt/libgone.so", 300], ["[kernel]", 300]]) and (.stalls | length) == .instructions and
		(.stalls[0] | .address == 4126 and .text == "add    %rcx,%rax" and .procedure == "sum" and
			.image == "PLACE/libcalc.so" and .lost == 20000 and .samples == 23000 and .executions == 4000000 and
			.confidence == "low" and .cycles == 20 and .unexplained == 0 and
			([.reasons[] | [.reason, .low, .high, .culprits[].address]] ==
				[["D-cache miss", 20000, 20000, 4119]])) and
		(.stalls[1] | .image == "PLACE/libexact.so" and .executions == 1000000 and .confidence == "exact")' \
		"$scratch/top.json"
	make_hybrid_database "$scratch/hybrid"
	check_equal 'what cores of another kind took is left out, and that is said' \
		'Left out:   cpu_atom/cycles/ 365, of cores of another kind; --event cpu_atom/cycles/ shows them, with --cpu for their model' \
		"$(dcpitopstalls --db "$scratch/hybrid" --cpu in-order-2 | grep '^Left out')"
	check_equal 'in JSON, too' '{"cpu_atom/cycles/":365}' \
		"$(dcpitopstalls --db "$scratch/hybrid" --cpu in-order-2 --json | jq -c .left_out)"
	check_equal 'but where there is one kind' null "$(jq .left_out "$scratch/top.json")"
	check 'all that is analysed and all that is not are all' json_holds \
		'.analyzed + ([.not_analyzed[].samples] | add) == .samples' "$scratch/top.json"
	check 'a part that was split off is in its procedure, not twice' json_holds \
		'.samples == 26430 and .analyzed == 26430 and .procedure_count == 5' <(top --json libcalc.so)
	check 'a terminal gets colours' grep -qF $'\033[31m 37.24%\033[0m' <(top --color=always)
	check_equal 'on a narrow terminal, procedure and reasons have lines that are not cut' \
		"$(cat "$here/expected/dcpitopstalls/narrow")" "$(narrow --limit 1)"
	refuses 'an image that is none' 4 'no image with samples is called that; did you mean libcalc.so?' libcalk.so
	refuses 'an event that is none' 2 'sickles was not counted in what was selected' --event sickles
	refuses 'a model that is none' 2 'there is no model of a CPU "zen9"' --cpu zen9
	refuses 'a command that is none' 4 'no command matches nobody; there are figure' --comm nobody
	refuses 'a number that is none' 2 "--limit '0' is not a whole number from 1 on" --limit 0
	refuses 'a syntax that is none' 2 "--asm is one of 'att' and 'intel'" --asm masm
}

# worst_is KERNEL REASON - of all instructions of the kernel, the worst is the one it was made for, and for that reason
worst_is()
{
	local first culprit

	first=$(printf '%d' "0x$(nm "$program" | awk -v name="kernel_$1" '$3 == name { print $1 }')")
	culprit=$((first + $(printf '%d' "0x$(nm "$program" | awk -v name="culprit_$1" '$3 == name { print $1 }')")))
	check "the worst of $1 has $2 for a reason, and the right culprit" json_holds "
		[.stalls[] | select(.procedure == \"kernel_$1\")][0].reasons | map(select(.reason == \"$2\"))[0] |
			[.culprits[].address] | index($culprit)" "$scratch/kernels.json"
}

look_at_kernels()
{
	program=$build/workloads/stall_kernels
	may_sample_or_skip 'the worst of three kernels' || return
	printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
	start_dcpid "$scratch/kernels" --config "$scratch/dcpid.conf" || {
		not_ok 'dcpid starts' "$(cat "$scratch/kernels.log")"
		return
	}
	for kernel in chase divide locked; do
		"$program" $kernel 1 || not_ok "kernel $kernel runs"
	done
	stop "$started"
	dcpitopstalls --db "$scratch/kernels" --epoch all --json "$program" >"$scratch/kernels.json"
	worst_is chase 'D-cache miss'
	worst_is divide 'FDIV busy'
	worst_is locked 'Synchronization'
	check 'the three are the three worst procedures' json_holds '
		[.stalls[].procedure] | unique | contains(["kernel_chase", "kernel_divide", "kernel_locked"])' \
		"$scratch/kernels.json"
	check 'of everything that ran, each sample is analysed or said not to be' json_holds '
		.analyzed + ([.not_analyzed[].samples] | add) == .samples' \
		<(dcpitopstalls --db "$scratch/kernels" --epoch all --json)
}

calc_or_skip 'what dcpitopstalls prints' || exit 0
look_at_small_database
look_at_kernels

[ $failures = 0 ]
