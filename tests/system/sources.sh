#!/bin/bash
# sources.sh - dcpicalc takes the best there is: exact counts, branch stacks, samples of instructions, bursts
#
# Real bursts of a program whose branches go their ways with known odds; branch stacks as an import would write them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$top/tests/system
program=$build/workloads/odds
db=$scratch/db

# calc DIRECTORY OPTION... - as JSON
calc()
{
	dcpicalc --db "$1" --json "${@:2}" >"$scratch/calc.json"
}

# symbol NAME - its value, as a number
symbol()
{
	printf '%d' "0x$(nm "$program" | awk -v name="$1" '$3 == name { print $1 }')"
}

# often NAME - the frequency of the block that has that place of `odds`
often()
{
	jq ".blocks[] | select(.instructions | any(.address == $(($(symbol odds) + $(symbol "$1"))))) | .frequency.value" \
		"$scratch/calc.json"
}

# The ratio of two blocks, with how many standard deviations it is off if ODDS of VISITS are expected: check_odds SENTENCE
# ONE OTHER ODDS VISITS
check_odds()
{
	local one other

	one=$(often "$2") other=$(often "$3")
	figure "$1: $(awk -v a="$one" -v b="$other" 'BEGIN { printf "%.4f", a / (a + b) }'), written as $4"
	check "$1" awk -v a="$one" -v b="$other" -v p="$4" -v n="$5" 'BEGIN {
		exit !(n >= 50 && (a / (a + b) - p) ^ 2 <= 25 * p * (1 - p) / n) }'
}

# How often bursts saw the branch at the end of the block that begins with the place: visits NAME
visits()
{
	local start

	start=$(($(symbol odds) + $(symbol "$1")))
	"$build/tests/system/show_edges" "$db" bursts odds | awk -v at="$(printf %x $start)" '$1 == at { n += $3 } END { print n + 0 }'
}

sample_and_step()
{
	local turns

	printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
	start_dcpid "$db" --config "$scratch/dcpid.conf" || {
		not_ok 'dcpid starts' "$(cat "$db.log")"
		return 1
	}
	daemon=$started
	start "$program" 60 >/dev/null
	check 'bursts are taken beside samples' dcpix --db "$db" --bursts --pid "$started" --seconds 10 --budget 50 \
		--output "$scratch/report"
	stop "$started"
	turns=$(visits odds_turn)
	figure "$(head -1 "$scratch/report"); $turns turns seen"
	stop "$daemon"
}

by_bursts()
{
	local turns

	turns=$(visits odds_turn)
	check 'a procedure with bursts is analysed' calc "$db" odds odds || return
	check 'its frequencies are those of the bursts, which the report says' json_holds '.source.method == "bursts" and
		.source.epoch == 2 and .graph.relative and ([.blocks[].frequency.method] | index("bursts"))' "$scratch/calc.json"
	check_odds 'a branch that goes one way in 70 of 100' odds_70 odds_30 0.7002 "$turns"
	check_odds 'a branch that goes one way in 95 of 100' odds_95 odds_5 0.9502 "$turns"
	check_odds 'a loop of five rounds beside what runs once' odds_loop odds_turn 0.8333 "$turns"
	dcpicalc --db "$db" odds odds >"$scratch/listing"
	check 'the listing says it, and how sure it is of the block' \
		grep -q '^\*\*\* Frequency ~[0-9]* (\(high\|medium\|low\) confidence, bursts)' "$scratch/listing"
	dcpilist --db "$db" --frequency --json odds odds >"$scratch/calc.json"
	check 'dcpilist has the same frequencies' json_holds '.source.method == "bursts" and
		([.instructions[].frequency | values | .method] | index("bursts")) and
		([.lines[].frequency | values | .value] | max > 0) and
		([.instructions[] | select(.text | startswith("nop")) | .frequency] | all(. == null or .value >= 0))' "$scratch/calc.json"
	dcpilist --db "$db" --frequency --instructions odds odds >"$scratch/list"
	# shellcheck disable=SC2016 # awk's
	check 'and shows them, about' awk '/^Frequency:/ { told = 1 } $2 ~ /^~[0-9]+[?]?$/ { shown++ } END { exit !(told && shown > 10) }' \
		"$scratch/list"
	check 'and the head of it' grep -q '^Frequency:  by the bursts of epoch 2;' "$scratch/listing"
}

by_exact_counts()
{
	check 'the program is counted exactly' dcpix --db "$db" --output "$scratch/report" -- "$program" 1 2000000
	calc "$db" --from bursts odds odds
	check 'another source may be chosen' json_holds '.source.method == "bursts"' "$scratch/calc.json"
	calc "$db" --from samples odds odds
	check 'also the samples of time alone' json_holds '.source == {method: "fit", epoch: null}' "$scratch/calc.json"
	check_fails 'a source that there is none of' 4 'there are no samples of instructions of it' \
		dcpicalc --db "$db" --from instructions odds odds
	check_fails 'and one that there is not' 2 'bursts or samples' dcpicalc --db "$db" --from 'tea leaves' odds odds
	calc "$db" odds odds
	check 'exact counts are better than bursts' json_holds '.source == {method: "counted", epoch: 3}' "$scratch/calc.json"
	dcpilist --db "$db" --frequency --json odds odds >"$scratch/calc.json"
	check 'also in dcpilist, to the last execution' json_holds '.source.method == "counted" and
		([.instructions[].frequency.executions | values] | index(2000000)) and
		([.instructions[].frequency.executions | values] | index(10000000))' "$scratch/calc.json"
	dcpicalc --db "$db" --check odds odds >"$scratch/check"
	figure "bursts against exact counts: $(tail -1 "$scratch/check" | sed 's/.*within: *//')"
	check '--check compares the bursts with them' grep -q '^Frequency:  by the bursts of epoch 2;' "$scratch/check"
	# shellcheck disable=SC2016 # awk's
	check 'and finds them right' awk '/^Of the samples/ { sub(/.* 50%: /, ""); exit !($1 + 0 >= 90) }' "$scratch/check"
}

# A call of `sum` for 100 elements each, seen 100 times; what was recorded of `pick` went to its cold part 30 times in
# 100. Taken branches are edges, what was executed between two of them is a run.
make_stacks()
{
	as -o "$scratch/calc.o" "$here/calc.S" &&
		ld -shared -z separate-code --build-id=0x7777777777777777 -o "$scratch/libstacks.so" "$scratch/calc.o" &&
		"$build/tests/system/make_database" "$scratch/stacks" <<-END
			event cycles cycles cycles 4000 yes -
			event branch-stacks branch-stacks branches 1 yes -
			event branch-runs branch-runs runs 1 yes -
			image user 7777777777777777 $scratch/libstacks.so
			context figure / -
			epoch 1795275000 nightly
			count cycles 0 0 0x1017 2000
			count cycles 0 0 0x101e 23000
			count cycles 0 0 0x1024 1000
			count cycles 0 0 0x1027 300
			edge branch-stacks 0 0x1024 0x1017 9900
			edge branch-stacks 0 0x1029 0x1000 30000
			edge branch-runs 0 0x1010 0x1024 100
			edge branch-runs 0 0x1017 0x1024 9800
			edge branch-runs 0 0x1017 0x1026 100
			edge branch-runs 0 0x1027 0x1029 30000
			edge branch-runs 0 0x1027 0x1031 70000
			slice 1795275000 1795275600
		END
}

by_branch_stacks()
{
	make_stacks >"$scratch/made" 2>&1 || {
		not_ok 'a database with branch stacks is made' "$(cat "$scratch/made")"
		return
	}
	calc "$scratch/stacks" --cpu generic sum libstacks.so
	check 'branch stacks say how often a loop ran' json_holds '.source == {method: "branches", epoch: 1} and
		(.blocks[1].frequency | .method == "branches" and .confidence == "high") and
		((.blocks[1].frequency.value / .blocks[2].frequency.value - 100) | fabs < 10)' "$scratch/calc.json"
	calc "$scratch/stacks" --cpu generic pick libstacks.so
	check 'and a run that no branch left, that it was not taken' json_holds '
		([.blocks[] | {cold, value: .frequency.value}] | (map(select(.cold).value)[0] / .[0].value - 0.3) | fabs < 0.02)' \
		"$scratch/calc.json"
	dcpicalc --db "$scratch/stacks" --cpu generic sum libstacks.so >"$scratch/listing"
	check 'and the listing says so' grep -q '^Frequency:  by the branch stacks of epoch 1;' "$scratch/listing"
	check 'the database is sound' dcpictl check --db "$scratch/stacks"
}

if [ "$(uname -m)" = x86_64 ]; then
	by_branch_stacks
else
	skip 'frequencies by branch stacks' 'the code is of x86-64, and no assembler for it is here'
fi
if [ "$(id -u)" != 0 ]; then
	skip 'frequencies by bursts' 'not root'
elif may_sample_or_skip 'frequencies by bursts'; then
	sample_and_step && by_bursts && by_exact_counts
fi
exit 0
