#!/bin/bash
# dcpicalc on a small database, its output compared whole with tests/system/expected/dcpicalc/; the expected texts are
# worked out by hand from calc.S, the counts in dcpicalc.description and the model of a two-wide in-order core (the path
# of the scratch folder is PLACE in them).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

here=$top/tests/system
db=$scratch/db
calc_or_skip 'what dcpicalc prints' || exit 0

calc()
{
	with_place dcpicalc --db "$db" --cpu in-order-2 "$@"
}

# prints SENTENCE EXPECTED-FILE OPTION... - dcpicalc with these options prints that
prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpicalc/$2")" "$(calc "${@:3}")"
}

# refuses SENTENCE STATUS TEXT OPTION...
refuses()
{
	check_fails "$1" "$2" "$3" dcpicalc --db "$db" "${@:4}"
}

check 'the database is made' make_calc_database "$db" || exit 1

prints 'a loop, block by block, and where its cycles went' sum sum libcalc.so
prints 'the summary alone' summary --summary sum --image libcalc.so
# The database of a CPU with two kinds of cores: 26,010 samples of sum on one of them, and 360 on the other.
hybrid=$scratch/hybrid
make_hybrid_database "$hybrid"
check_equal 'what cores of another kind took is left out, and that is said' "$(
	sed '/^Samples:/s|cycles|cpu_core/cycles/|
		/^Samples:/a Left out:   cpu_atom/cycles/ 360, of cores of another kind; --event cpu_atom/cycles/ shows them, with --cpu for their model' \
		"$here/expected/dcpicalc/summary"
)" "$(with_place dcpicalc --db "$hybrid" --cpu in-order-2 --summary sum --image libcalc.so)"
check_equal 'and the other way round, in JSON' '{"cpu_core/cycles/":26010}' \
	"$(dcpicalc --db "$hybrid" --cpu in-order-2 --event cpu_atom/cycles/ --json sum libcalc.so | jq -c .left_out)"
check_equal 'but where there is one kind' null \
	"$(dcpicalc --db "$db" --cpu in-order-2 --json sum libcalc.so | jq -c .left_out)"
prints 'blocks with little of the time are left out, instructions as Intel writes them' cutoff --cutoff 50 --asm intel \
	sum libcalc.so
prints 'a part that the compiler split off belongs to its procedure' pick pick libcalc.so
prints 'what cannot be decoded is shown as that' bad bad libcalc.so
prints 'letters and words are explained' legend --summary --legend 0x1045 libcalc.so
prints 'exact counts are taken where there are some' exact sum libexact.so
prints 'and compared with the estimate' check --check sum libexact.so
check_equal 'an address within stands for the procedure' "$(calc sum libcalc.so)" "$(calc 0x1024 libcalc.so)"
check_equal 'of a stripped library, too' 'libstripped.so+0x1040 in PLACE/libstripped.so, 0x1040 to 0x1044' \
	"$(calc 0x1041 libstripped.so | head -1)"

calc --json sum libcalc.so >"$scratch/sum.json"
# shellcheck disable=SC2016 # jq's variables
check 'JSON is what its manual says' json_holds '
	.schema == "dcpicalc/1" and .procedure == "sum" and .image == "PLACE/libcalc.so" and
	.build_id == "1111111111111111" and .event == {name: "cycles", unit: "cycles", period: 4000, samples: 26010} and
	.model.name == "in-order-2" and .model.in_order and .graph.complete and (.graph.relative | not) and
	(.blocks | length) == 3 and ([.blocks[].instructions | length] == [3, 5, 1]) and
	(.blocks[1] | .best_cycles == 5 and .actual_cycles == 26 and .frequency.value == 1000 and
		.frequency.executions == 4000000) and
	([.blocks[1].instructions[].cycles] == [2, 0, 23, 0, 1]) and
	([.blocks[1].instructions[].best_cycles] == [1, 0, 3, 0, 1]) and
	(.blocks[1].instructions[0].samples == {cycles: 2000, "page-faults": 7}) and
	(.blocks[1].instructions[2] | .stall_cycles == 20 and ([.stalls[] | [.reason, .low, .high, .culprits[]]] ==
		[["D-cache miss", 20, 20, 4119]])) and
	([.edges[] | select(.kind == "taken" and .from == 1 and .to == 1)] | length) == 1 and
	([.edges[] | select(.from == null)] | length) >= 1' "$scratch/sum.json"
check 'exact edges are those that were counted, and calls what they leave' json_holds '
	([.edges[] | {key: "\(.from)-\(.to)", value: .frequency.value}] | from_entries) == {"null-0": 0.01, "0-1": 0.01, "0-2": 0,
		"1-1": 999.99, "1-2": 0.01, "2-null": 0.01} and
	([.blocks[].instructions[0].executions] == [10, 1000000, 10])' <(calc --json sum libexact.so)
check 'and its summary adds up to all' json_holds '
	.summary | (.dynamic + .execution + .sampling_error + ([.static[]] | add)) - 100 | fabs < 0.001' "$scratch/sum.json"

# Out of order nothing is printed that the samples do not say.
out_of_order=$(dcpicalc --db "$db" sum libcalc.so)
check 'no model for a CPU is said' grep -qF 'no model is for the CPU "a CPU": the generic one is used' <<<"$out_of_order"
check 'out of order, cycles are said to be rough' grep -qF 'they and cycles (CPI) are within x2 at best' <<<"$out_of_order"
# shellcheck disable=SC2016 # an immediate is no variable
check 'samples are moved back to what held up retirement' \
	grep -qE '^00101a add +\$0x8,%rdi +23000 ' <<<"$out_of_order"
check 'what has none is in shadow' grep -qE '^001017 .* 0   \(in shadow\)$' <<<"$out_of_order"
check 'a terminal gets colours' grep -qF $'\033[1msum\033[0m in' <(calc --color=always sum libcalc.so)

check_equal 'code without a name is found as dcpiprof shows it' 'libstripped.so+0x1040 in PLACE/libstripped.so, 0x1040 to 0x1044' \
	"$(calc libstripped.so+0x1040 | head -1)"

# Each sentence, of both tools, says what to do.
both_refuse()
{
	refuses "$@"
	check_fails "$1 (dcpilist)" "$2" "$3" dcpilist --db "$db" "${@:4}"
}
both_refuse 'a name that is none, with what is near' 4 'sumn: no procedure is called that; did you mean sum?' sumn libcalc.so
both_refuse 'a part of names, with those' 4 'old: no procedure is called that; did you mean pick.cold?' old libcalc.so
both_refuse 'a name in a stripped library' 4 \
	'libstripped.so was stripped: name a procedure by an address in it, 0x1040 for the hottest' twin libstripped.so
both_refuse 'a name of two procedures' 4 '2 procedures with samples are called that; name one by its address: 0x1045 in' twin
both_refuse 'a name in two images' 4 '3 procedures with samples are called that; name one by its image: 0x1010 in' sum
both_refuse 'an address in several images' 4 '3 procedures with samples hold that address; name one by its image: 0x1010 in' \
	0x1010
both_refuse 'an address in no procedure' 4 'no procedure holds that address' 0x9999999 libcalc.so
both_refuse 'an address as listings print it' 4 'no procedure is called that; an address is written 0x001017' 001017 libcalc.so
both_refuse 'a procedure without samples' 4 \
	"quiet: it has no samples of cycles in what was selected; 'dcpiprof' shows which have" quiet libcalc.so
both_refuse 'a procedure with samples of another event' 4 \
	'it has no samples of page-faults in what was selected, but 200 of cycles: --event takes another' \
	--event page-faults pick libcalc.so
both_refuse 'another build' 1 'libreplaced.so cannot be analysed: the file there now is not the build that was sampled (its build-id differs): put that build back, or sample the new one' \
	sum libreplaced.so
both_refuse 'a file that is gone' 1 'libgone.so cannot be analysed: its file is not there any more' sum libgone.so
both_refuse 'the kernel' 1 "the kernel's code was not captured (dcpid reads /proc/kcore where it may): dcpiprof says which of its procedures are hot" sum '[kernel]'
both_refuse 'an image that is none' 4 'no image with samples is called that; did you mean libcalc.so?' sum libcalk.so
both_refuse 'an epoch that is none' 4 'there is no epoch 77; there are 1 (nightly), 2 (dcpix)' --epoch 77 sum
both_refuse 'no procedure' 2 "which procedure? 'dcpiprof' shows which are hot"
both_refuse 'an empty name' 2 "which procedure? 'dcpiprof' shows which are hot" ''
both_refuse 'a syntax that is none' 2 "--asm is one of 'att' and 'intel'" --asm masm sum
check 'what cannot be decoded is said (dcpilist)' grep -qxF \
	'Code:     what could not be decoded is shown as (bad) or .byte' <(dcpilist --db "$db" bad libcalc.so)
cp "$scratch/libcalc.so" "$scratch/whole"
truncate -s 4096 "$scratch/libcalc.so"
both_refuse 'a file that was cut short' 1 'libcalc.so cannot be analysed: the file is damaged, or no ELF file' sum libcalc.so
rm "$scratch/libcalc.so"
mkfifo "$scratch/libcalc.so"
both_refuse 'a pipe in the place of a file' 1 'libcalc.so cannot be analysed: the file is damaged, or no ELF file' sum libcalc.so
mv "$scratch/whole" "$scratch/libcalc.so"

refuses 'an event that is none' 2 'sickles was not counted in what was selected' --event sickles sum
refuses 'a model that is none' 2 'there is no model of a CPU "zen9"' --cpu zen9 sum libcalc.so
refuses 'nothing to compare with' 4 "no exact counts of it to compare with: 'dcpix -- PROGRAM' takes them" \
	--check sum libcalc.so
refuses 'a cutoff that is none' 2 "--cutoff '101' is not a number from 0 to 100" --cutoff 101 sum
refuses 'a picture of an unknown kind' 2 'a file that ends in .svg, .png, .pdf or .dot' --graph sum.gif sum libcalc.so
refuses 'a picture that cannot be written' 1 'cannot write the graph: No such file or directory' \
	--graph /nowhere/sum.dot sum libcalc.so

check 'the flow graph is drawn' dcpicalc --db "$db" --graph "$scratch/sum.svg" sum libcalc.so
check 'on a white ground' has_white_ground "$scratch/sum.svg"
check 'with every block of it' test "$(grep -c 'class="node"' "$scratch/sum.svg")" = 5
check 'its source is written' dcpicalc --db "$db" --cpu in-order-2 --graph "$scratch/sum.dot" sum libcalc.so
check 'where a hot block has its share, CPI and best case' grep -q '<B>001017</B>  100.0%  5.20 CPI, best 1.00' "$scratch/sum.dot"
check 'and its instructions, with samples, cycles and a reason' \
	grep -q '>add    %rcx,%rax</TD>.*>23000</TD>.*>23.0cy</TD>.*>D-cache miss</TD>' "$scratch/sum.dot"
check 'on standard output, it is SVG' has_white_ground <(dcpicalc --db "$db" --graph - sum libcalc.so)
check 'blocks that neither take time nor run often may be left out of it' \
	dcpicalc --db "$db" --cutoff 5 --graph "$scratch/hot.svg" sum libcalc.so
check_equal 'with the edges to them, and the title says so' '3 nodes, 1 edges, 2 blocks with less than 5% not drawn' \
	"$(grep -c 'class="node"' "$scratch/hot.svg") nodes, $(grep -c 'class="edge"' "$scratch/hot.svg") edges, $(grep -o '[0-9]* blocks with less than 5% not drawn' "$scratch/hot.svg")"
check_fails 'JSON that does not fit on the device' 1 'cannot write the report: No space left on device' \
	bash -c "dcpicalc --db '$db' --json sum libcalc.so >/dev/full"
mkdir "$scratch/empty"
check_fails 'no program to draw with' 1 'install the package graphviz' \
	env PATH="$scratch/empty" "$build/bin/dcpicalc" --db "$db" --graph "$scratch/sum.svg" sum libcalc.so

[ $failures = 0 ]
