#!/bin/bash
# dcpiwhatcg on a small database, its output compared whole with tests/system/expected/dcpiwhatcg/ - worked out by hand
# from calc.S, dcpicalc.description and the model of a two-wide in-order core - and on kernels whose reasons are known
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

here=$top/tests/system
db=$scratch/db

what()
{
	with_place dcpiwhatcg --db "$db" --cpu in-order-2 "$@"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpiwhatcg/$2")" "$(what "${@:3}")"
}

refuses()
{
	check_fails "$1" "$2" "$3" dcpiwhatcg --db "$db" "${@:4}"
}

# What a summary adds up to: the rows to what was tallied, and that with the rest to 100.
sums='.summary | (.dynamic + .execution + .sampling_error + ([.static[]] | add) - .tallied | fabs < 0.001) and
	(.tallied + .frequency_unknown + .not_analyzed - 100 | fabs < 0.001)'

look_at_small_database()
{
	check 'the database is made' make_calc_database "$db" || return
	prints 'everything, and what was not analysed' all
	prints 'an image, its procedures with most samples, and who lost for one reason' image \
		-p --limit 1 --stall 'd-CACHE miss' libcalc.so
	prints 'each image, as far as it has samples enough' images -i --cutoff 40
	check_equal 'of one procedure it says what dcpicalc says' \
		"$(with_place dcpicalc --db "$db" --cpu in-order-2 --summary sum libexact.so | grep -F ' *** ' | head -28)" \
		"$(what libexact.so | grep -F ' *** ' | head -28)"
	what --json -i -p --stall d >"$scratch/what.json"
	check 'JSON is what its manual says' json_holds '
		.schema == "dcpiwhatcg/1" and .samples == 53700 and .analyzed == 52800 and .procedure_count == 8 and
		(.images | length) == 6 and (.images[0] | .image == "PLACE/libcalc.so" and .samples == 26430) and
		(.procedures[0] | .procedure == "sum" and .samples == 26010) and .stall.reason == "D-cache miss" and
		([.stall.procedures[] | [.image, .procedure, .samples, .low, .high]] ==
			[["PLACE/libcalc.so", "sum", 26010, 20000, 20000], ["PLACE/libexact.so", "sum", 26000, 20000, 20000]])' \
		"$scratch/what.json"
	make_hybrid_database "$scratch/hybrid"
	check_equal 'what cores of another kind took is left out, and that is said' \
		'Left out:   cpu_core/cycles/ 26430, of cores of another kind; --event cpu_core/cycles/ shows them, with --cpu for their model' \
		"$(dcpiwhatcg --db "$scratch/hybrid" --cpu in-order-2 --event cpu_atom/cycles/ libcalc.so | grep '^Left out')"
	check_equal 'in JSON, too' '{"cpu_atom/cycles/":365}' \
		"$(dcpiwhatcg --db "$scratch/hybrid" --cpu in-order-2 --json | jq -c .left_out)"
	check_equal 'but where there is one kind' null "$(jq .left_out "$scratch/what.json")"
	check 'rows add up' json_holds "$sums" "$scratch/what.json"
	check 'those of every image and procedure, too' json_holds "[(.images + .procedures)[] | $sums] | all" \
		"$scratch/what.json"
	refuses 'an image that is none' 4 'no image with samples is called that; did you mean libcalc.so?' libcalk.so
	refuses 'a reason that is none' 2 "--stall takes a row's name or a letter: 'D-cache miss' (d)" --stall weather
	refuses 'an event that is none' 2 'sickles was not counted in what was selected' --event sickles
	refuses 'a command that is none' 4 'no command matches nobody; there are figure' --comm nobody
	refuses 'a cutoff that is none' 2 "--cutoff '101' is not a number from 0 to 100" --cutoff 101
}

# loses_to KERNEL REASON - the kernel is the procedure that lost most for it
loses_to()
{
	check "most was lost to $2 by $1" json_holds ".stall.procedures[0].procedure == \"kernel_$1\"" \
		<(dcpiwhatcg --db "$scratch/kernels" --epoch all --json --stall "$2" "$program")
}

look_at_kernels()
{
	program=$build/workloads/stall_kernels
	may_sample_or_skip 'what three kernels lost to' || return
	printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
	start_dcpid "$scratch/kernels" --config "$scratch/dcpid.conf" || {
		not_ok 'dcpid starts' "$(cat "$scratch/kernels.log")"
		return
	}
	# A clock cannot tell a lock from a miss of what is locked: with as much time, either could lead for 'D-cache miss'.
	for kernel in 'chase 2' 'divide 1' 'locked 1'; do
		# shellcheck disable=SC2086 # its name and its seconds
		"$program" $kernel || not_ok "kernel $kernel runs"
	done
	stop "$started"
	loses_to chase 'D-cache miss'
	loses_to divide 'FDIV busy'
	loses_to locked 'Synchronization'
	dcpiwhatcg --db "$scratch/kernels" --epoch all --json -i >"$scratch/kernels.json"
	check 'everything that ran adds up' json_holds "($sums) and ([.images[] | $sums] | all)" "$scratch/kernels.json"
}

calc_or_skip 'what dcpiwhatcg prints' || exit 0
look_at_small_database
look_at_kernels

[ $failures = 0 ]
