#!/bin/bash
# dcpidiff of one procedure: blocks and instructions of one build, source lines or instructions of two, its output
# compared whole with tests/system/expected/dcpidiff_code/ - worked out by hand from calc.S and dcpidiff_code.description;
# intervals by another program, cycles from the model of a two-wide in-order core
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

here=$top/tests/system
db=$scratch/db

# build VERSION BUILD-ID [OPTION...] - the calc.S that lies there as $scratch/VERSION/libcalc.so
build()
{
	(cd "$scratch/$1" && as "${@:3}" -o calc.o calc.S && objcopy --redefine-sym twin_2=twin calc.o &&
		ld -shared -z separate-code --build-id="0x$2" -o libcalc.so calc.o)
}

# v2 has two lines more above the loop, and another instruction in it; v3 and v4 are the same without line numbers.
make_database()
{
	# shellcheck disable=SC2016 # assembler's
	mkdir "$scratch"/v{1,2,3,4} &&
		cp "$here/calc.S" "$scratch/v1/" && cp "$here/calc.S" "$scratch/v3/" &&
		sed -e 's/^1:	mov	(%rdi), %rcx/# the sum of all\n# by eights\n&/' -e 's/^	dec	%rsi/	sub	$1, %rsi/' \
			"$here/calc.S" >"$scratch/v2/calc.S" &&
		cp "$scratch/v2/calc.S" "$scratch/v4/" &&
		build v1 1111111111111111 -g && build v2 2222222222222222 -g &&
		build v3 3333333333333333 && build v4 4444444444444444 &&
		sed "s|PLACE|$scratch|" "$here/dcpidiff_code.description" | "$build/tests/system/make_database" "$db"
}

diff_code()
{
	with_place dcpidiff --db "$db" --cpu in-order-2 "$@"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpidiff_code/$2")" "$(diff_code "${@:3}")"
}

calc_or_skip 'what dcpidiff says of a procedure' || exit 0
check 'the database is made' make_database || exit 1
prints 'one build, by blocks and instructions' build --epoch before --epoch after sum 1111
prints 'one build, by cycles of each instruction' cpi --no-header --compare cpi --epoch before --epoch after sum 1111
prints 'why it waited' stalls --no-header --compare stalls --limit 1 --epoch before --epoch after sum 1111
prints 'two builds, by lines, those of the second two lines further on' lines \
	--set --epoch before --image 1111 --set --epoch after --image 2222 sum
prints 'two builds without line numbers, by instructions that are alike' alike \
	--set --epoch before --image 3333 --set --epoch after --image 4444 --no-header sum
prints 'comma-separated values of what differs' csv --csv --marked --epoch before --epoch after sum 1111
check_equal 'one build by lines' 'calc.S:23 23.00 5.00' \
	"$(diff_code --no-header --lines --compare cpi --epoch before --epoch after sum 1111 | awk '/calc.S:23/ { print $9, $5, $6 }')"
diff_code --json --compare frequency --epoch before --epoch after sum 1111 >"$scratch/code.json"
# shellcheck disable=SC2016 # jq's variables
check 'JSON is what its manual says' json_holds '
	.schema == "dcpidiff/2" and .compare == "frequency" and .procedure == "sum" and .same_build and
	.by == "instructions" and .images == [{image: "PLACE/v1/libcalc.so", build_id: "1111111111111111", offset: 4112},
		{image: "PLACE/v1/libcalc.so", build_id: "1111111111111111", offset: 4112}] and
	([.rows[].kind] | unique) == ["block", "instruction", "procedure"] and
	(.rows[] | select(.text == "add    %rcx,%rax") | .before.address == 4126 and .before.samples == 23000 and
		.after.samples == 5000 and .before.executions == 4000000 and .after.executions == 4000000 and
		(.before.stalls[] | select(.reason == "D-cache miss").low) == 20000)' "$scratch/code.json"
check 'instructions add up to their procedure, and blocks' json_holds '
	[.rows[] | select(.kind == "procedure").after.samples] == [([.rows[] | select(.kind == "block").after.samples] | add)] and
	[.rows[] | select(.kind == "procedure").after.samples] ==
		[([.rows[] | select(.kind == "instruction").after.samples] | add)]' "$scratch/code.json"
# All of calc.S on two kinds of cores: 365 samples of one are left out, 360 of them of sum.
check 'the database of two kinds of cores is made' make_calc_database "$scratch/one" &&
	make_hybrid_database "$scratch/hybrid"
left_out='Left out:   cpu_atom/cycles/ %d, of cores of another kind; --event cpu_atom/cycles/ shows them, with --cpu for their model'
for comparison in samples cpi; do
	hybrid=(dcpidiff --cpu in-order-2 --compare "$comparison" "$scratch/hybrid" "$scratch/hybrid")
	# shellcheck disable=SC2059 # the format has the number
	check_equal "--compare $comparison says what cores of another kind took, of each side" \
		"$(printf "$left_out\n" 365 365)" "$("${hybrid[@]}" | grep '^Left out')"
	# shellcheck disable=SC2059
	check_equal "--compare $comparison of one procedure, too" "$(printf "$left_out\n" 360 360)" \
		"$("${hybrid[@]}" sum libcalc.so | grep '^Left out')"
	check_equal "--compare $comparison has it in JSON" '[{"cpu_atom/cycles/":360},{"cpu_atom/cycles/":360}]' \
		"$("${hybrid[@]}" --json sum libcalc.so | jq -c '[.before.left_out, .after.left_out]')"
done
check_equal 'but where there is one kind' null "$(jq .before.left_out "$scratch/code.json")"
check_fails 'lines that are not known' 4 'no line numbers of it are known in the second set' dcpidiff --db "$db" --lines \
	--set --epoch before --image 1111 --set --epoch after --image 4444 sum
check_fails 'a procedure that is none' 4 'summ: ' dcpidiff --db "$db" --epoch before --epoch after summ 1111
check_fails 'lines of everything' 2 'are of one procedure: name it' dcpidiff --db "$db" --lines --epoch 1 --epoch 2
check_fails 'a database that is none' 1 'there is no profile database here' dcpidiff ./nowhere "$db" sum

[ $failures = 0 ]
