#!/bin/bash
# callers.sh - call stacks of recordings: dcpiprof's tree, callers, callees and inclusive shares are those of a program
# whose calls are known; frames are those that perf script prints; truncated stacks are counted by cause; bad input gets a sentence
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db

# near SENTENCE WANTED SHARE - both in percent; of 2000 samples, 4 points are more than three standard deviations
near()
{
	check_at_most "$1: $3 % is $2 %" 4 "$(awk "BEGIN { d = $3 - $2; print d < 0 ? -d : d }")"
}

share_of()
{
	jq -r --arg name "$2" '.samples as $all | [.rows[] | select(.procedure == $name) | .samples] | add // 0 | . * 100 / $all' "$1"
}

look_at_known_calls()
{
	perf record -q -e cpu-clock -F 500 -g -o "$scratch/calls.data" -- "$build/workloads/calls" 4 || return
	dcpimport --db "$db" "$scratch/calls.data" >/dev/null || return
	dcpiprof --db "$db" --inclusive --no-inline --least 0 --json >"$scratch/inclusive.json"
	dcpiprof --db "$db" --tree --no-inline --json >"$scratch/tree.json"
	dcpiprof --db "$db" --callers scan --no-inline --json >"$scratch/callers.json"
	near 'main with all it calls' 100 "$(share_of "$scratch/inclusive.json" main)"
	near 'parse with scan' 50 "$(share_of "$scratch/inclusive.json" parse)"
	near 'build with all it calls' 50 "$(share_of "$scratch/inclusive.json" build)"
	near 'scan by both callers' 40 "$(share_of "$scratch/inclusive.json" scan)"
	near 'descend, once a sample' 40 "$(share_of "$scratch/inclusive.json" descend)"
	near 'descend itself' 40 "$(jq '.samples as $all | .rows[] | select(.procedure == "descend") | .own * 100 / $all' \
		"$scratch/inclusive.json")"
	check_equal 'who calls scan, in order' 'scan
parse
build' "$(jq -r '.rows[] | select(.procedure == "scan" or .level == 1) | select(.left_out == null) | .procedure' \
		"$scratch/callers.json")"
	near 'scan is called by parse' 75 "$(share_of "$scratch/callers.json" parse)"
	near 'and by build' 25 "$(share_of "$scratch/callers.json" build)"
	dcpiprof --db "$db" --callees build --no-inline --json >"$scratch/callees.json"
	check_equal 'what build calls, in order' 'build
descend
scan' "$(jq -r '.rows[] | select(.level <= 1 and .left_out == null) | .procedure' "$scratch/callees.json")"
	near 'build is half of the whole' 50 "$(jq '.samples * 100 / .stacks' "$scratch/callees.json")"
	near 'build calls descend' 80 "$(jq '.samples as $all | .rows[] | select(.level == 1 and .procedure == "descend") |
		.samples * 100 / $all' "$scratch/callees.json")"
	near 'and scan' 20 "$(share_of "$scratch/callees.json" scan)"
	near 'the innermost of four calls' 20 "$(jq '.samples as $all | .rows[] | select(.level == 4 and .procedure == "descend") |
		.own * 100 / $all' "$scratch/callees.json")"
	check_equal 'a procedure with all that it calls has its inclusive samples' \
		"$(jq -c '.rows[] | select(.procedure == "build" or .procedure == "descend") | [.procedure, .samples]' "$scratch/inclusive.json")" \
		"$(for name in build descend; do
			dcpiprof --db "$db" --callees $name --no-inline --least 0 --json | jq -c '.rows[0] | [.procedure, .samples]'
		done)"
	check_equal 'descend is four times below build' 4 "$(jq '[.rows[] | select(.procedure == "descend")] | length' \
		"$scratch/tree.json")"
	check_equal 'each within the one before' '[1,2,3]' "$(jq -c '[.rows[] | select(.procedure == "descend") | .level] |
		[.[1] - .[0], .[2] - .[0], .[3] - .[0]]' "$scratch/tree.json")"
	check_equal 'samples are those without stacks' "$(dcpiprof --db "$db" --json | jq '[.rows[].counts[]] | add')" \
		"$(jq '[.rows[] | .own] | add' "$scratch/inclusive.json")"
	dcpiprof --db "$db" --tree --no-inline --no-header >"$scratch/tree.text"
	check 'text has an indent where calls divide' grep -Eq '^ +[0-9]+ .*% +- parse +/' "$scratch/tree.text"
	dcpiprof --db "$db" --tree --no-inline --csv >"$scratch/tree.csv"
	check_equal 'CSV has the headings' 'level,cpu-clock.stacks,percent,own,procedure,image' "$(head -1 "$scratch/tree.csv")"
	check_equal 'and as many rows as JSON' "$(jq '[.rows[] | select(.left_out == null)] | length' "$scratch/tree.json")" \
		$(($(wc -l <"$scratch/tree.csv") - 1))
	check_equal 'an image narrows it to samples in it' 100 "$(dcpiprof --db "$db" --tree --least 0 --image calls --json |
		jq '.samples as $all | [.rows[] | select(.image and (.image | endswith("/calls"))) | .own] | add * 100 / $all')"
	check_equal 'a limit counts rows' 2 "$(dcpiprof --db "$db" --inclusive --limit 2 --json | jq '.rows | length')"
	check 'there are samples' test "$(jq .samples "$scratch/tree.json")" -ge 500
	check_equal 'the event may be named without its suffix' "$(jq .samples "$scratch/tree.json")" \
		"$(dcpiprof --db "$db" --tree --event cpu-clock --json | jq .samples)"
}

# Of the stacks that perf script prints: in how many is PROCEDURE, where it is innermost, called by CALLER
perf_calls()
{
	perf script -i "$1" --no-inline -F comm,ip,sym 2>/dev/null | awk -v procedure="$2" -v caller="$3" '
		NF < 2 { before = ""; seen = 0; next }
		{ sub(/\+0x[0-9a-f]+$/, "", $2) }
		!seen && before == procedure { count += $2 == caller; seen = 1 }
		{ before = $2 }
		END { print count + 0 }'
}

our_calls()
{
	dcpiprof --db "$db" --callers "$1" --no-inline --least 0 --json |
		jq --arg caller "$2" '[.rows[] | select(.level == 1 and .procedure == $caller) | .samples] | add // 0'
}

look_at_frames()
{
	local pair calls

	for pair in 'descend build' 'descend descend' 'scan parse' 'scan build' 'parse main'; do
		calls=$(perf_calls "$scratch/calls.data" "${pair% *}" "${pair#* }")
		check "perf script prints stacks of ${pair% *}, called by ${pair#* }" test "$calls" -gt 20
		check_equal 'and we have as many' "$calls" "$(our_calls "${pair% *}" "${pair#* }")"
	done
}

# The frames of `inlined`, the innermost first, and how many samples had them: of what perf script and dcpiexport print.
perf_inlined_stacks()
{
	perf script -i "$1" --comm inlined -F comm,ip,sym 2>/dev/null | awk '
		NF == 1 { next }
		NF == 0 { if (stack != "") stacks[stack]++; stack = ""; next }
		$2 ~ /^(main|pack|digest|mix|unpack)$/ { stack = stack " " $2 }
		END { if (stack != "") stacks[stack]++; for (stack in stacks) print stacks[stack] stack }' | LC_ALL=C sort
}

our_inlined_stacks()
{
	dcpiexport --db "$1" --stacks --folded - 2>/dev/null | awk '
		{
			stack = ""
			count = split($1, frames, ";")
			for (i = count; i > 0; i--)
				if (frames[i] ~ /^(main|pack|digest|mix|unpack)$/)
					stack = stack " " frames[i]
			if (stack != "")
				stacks[stack] += $NF
		}
		END { for (stack in stacks) print stacks[stack] stack }' | LC_ALL=C sort
}

# samples_at DATABASE PATTERN OPTION... - in stacks, folded, that match
samples_at()
{
	dcpiexport --db "$1" --stacks --folded - "${@:3}" 2>/dev/null |
		awk -v pattern="$2" '$1 ~ pattern { n += $NF } END { print n + 0 }'
}

# Procedures that the compiler inlined are frames of their own; one that is twice in a stack counts once.
look_at_inlined()
{
	local inlined=$scratch/inlined

	perf record -q -e cpu-clock -c 2000000 --call-graph dwarf -o "$inlined.data" -- "$build/workloads/inlined" 3 || return
	dcpimport --db "$inlined" "$inlined.data" >/dev/null
	dcpiprof --db "$inlined" --inclusive --least 0 --json >"$inlined.json"
	near 'a procedure that is inlined everywhere, with what it calls' 100 "$(share_of "$inlined.json" digest)"
	near 'without it' 20 "$(jq '.samples as $all | .rows[] | select(.procedure == "digest") | .own * 100 / $all' "$inlined.json")"
	near 'one that is inlined into it' 60 "$(share_of "$inlined.json" mix)"
	near 'one that it calls' 60 "$(share_of "$inlined.json" unpack)"
	near 'without what is inlined into it' 20 \
		"$(jq '.samples as $all | .rows[] | select(.procedure == "unpack") | .own * 100 / $all' "$inlined.json")"
	check_equal 'who calls what is inlined' 'mix
digest' "$(dcpiprof --db "$inlined" --callers mix --json | jq -r '.rows[:2][].procedure')"
	check 'a flame graph has it' grep -q '>mix' <(dcpiflame --db "$inlined" --no-script)
	dcpiprof --db "$inlined" --inclusive --no-inline --least 0 --json >"$inlined.plain.json"
	check_equal 'with --no-inline its samples are those of the procedure' "$(samples_at "$inlined" ';unpack(;digest(;mix)?)?$')" \
		"$(samples_at "$inlined" ';unpack$' --no-inline)"
	check_equal 'and nothing is inlined' 0 \
		"$(jq '[.rows[] | select(.procedure == "mix" or .procedure == "digest")] | length' "$inlined.plain.json")"
	if ! grep -q '(inlined)' <(perf script -i "$inlined.data" -F comm,ip,sym 2>/dev/null); then
		skip 'inlined frames are those of perf script' 'this perf does not print them'
		return
	fi
	check_equal 'inlined frames are those of perf script' "$(perf_inlined_stacks "$inlined.data")" "$(our_inlined_stacks "$inlined")"
	strip -o "$scratch/inlined.stripped" "$build/workloads/inlined"
	check 'a stripped program has none, and is no error' inlined_of_stripped
}

# Where there is no DWARF, nothing is guessed.
inlined_of_stripped()
{
	perf record -q -e cpu-clock -c 5000000 --call-graph dwarf -o "$scratch/stripped.data" -- "$scratch/inlined.stripped" 0.5 &&
		dcpimport --db "$scratch/stripped" "$scratch/stripped.data" >/dev/null &&
		[ "$(dcpiprof --db "$scratch/stripped" --inclusive --least 0 --json |
			jq '[.rows[] | select(.procedure == "mix" or .procedure == "digest")] | length')" = 0 ]
}

# All processes and the kernel, most of them without frame pointers; and stacks that are deeper than the kernel records.
look_at_machine()
{
	local json

	perf record -q -a -e cpu-clock -F 500 -g -o "$scratch/all.data" -- "$build/workloads/calls" 1 300 || return
	json=$(dcpimport --db "$scratch/all" --json "$scratch/all.data")
	dcpiprof --db "$scratch/all" --inclusive --json >"$scratch/all.json"
	check 'each sample has a call chain' test "$(jq '.imported[0].call_chains' <<<"$json")" -gt 300
	check_equal 'each is a sample of stacks' "$(jq '.imported[0].call_chains' <<<"$json")" \
		"$(jq '.events[0] | .taken // .samples' "$scratch/all.json")"
	check_equal 'each is in the tree or unknown' "$(jq '.events[0].samples' "$scratch/all.json")" \
		"$(jq '.stacks + ([.unknown[]] | add // 0)' "$scratch/all.json")"
	check 'stacks that are too deep are counted' test "$(jq '.truncated.depth // 0' "$scratch/all.json")" -gt 50
	figure "truncated of $(jq .stacks "$scratch/all.json"): $(jq -c .truncated "$scratch/all.json")"
}

# Shares worked out by hand: a stack in which walk is several times counts once, from the outermost on.
look_at_recursion()
{
	local recursion=$scratch/recursion

	check 'the database is made' "$build/tests/system/make_database" "$recursion" <<'END'
event cpu-clock.stacks cpu-clock ns 20000000 yes -
image kernel - [kernel]
context walker / -
epoch 1795271400 -
stack cpu-clock.stacks 0 10 0+0x1004 0+0x2004
stack cpu-clock.stacks 0 20 0+0x1004 0+0x2004 0+0x3004
stack cpu-clock.stacks 0 30 0+0x1004 0+0x2004 0+0x3004 0+0x2008
stack cpu-clock.stacks 0 15 0+0x1008 0+0x2004 0+0x3004 0+0x2008 0+0x4004
stack cpu-clock.stacks 0 5 0+0x5004 0+0x2004 0+0x2004
stack cpu-clock.stacks 0 20 0+0x1008 0+0x4008
slice 1795271400 1795272000
symbols 0 0x1000 start 0x2000 walk 0x3000 visit 0x4000 compare 0x5000 again
END
	check_equal 'what a procedure calls that calls itself' \
		'Call stacks of 100 samples (cpu-clock.stacks), 80 of them (80.00%) in walk or in what it calls, which stands below it
============================================================
cpu-clock.stacks       %     own       % procedure  image
              80 100.00%      10  12.50% walk       [kernel]
              65  81.25%      20  25.00% - visit    [kernel]
              45  56.25%      30  37.50%   walk     [kernel]
              15  18.75%      15  18.75%   compare  [kernel]
               5   6.25%       5   6.25% - walk     [kernel]' "$(dcpiprof --db "$recursion" --callees walk | sed '/^$/,$d')"
	check_equal 'few samples are added up' '              80 100.00%      10  12.50% walk        [kernel]
              65  81.25%      20  25.00% - visit     [kernel]
              45  56.25%      30  37.50%   walk      [kernel]
               5   6.25%                 - [1 more]' "$(dcpiprof --db "$recursion" --callees walk --least 20 --no-header)"
	check_equal 'CSV has the same rows' 'level,cpu-clock.stacks,percent,own,procedure,image
0,80,100.00,10,walk,[kernel]
1,65,81.25,20,visit,[kernel]
2,45,56.25,30,walk,[kernel]
3,15,18.75,15,compare,[kernel]
1,5,6.25,5,walk,[kernel]' "$(dcpiprof --db "$recursion" --callees walk --csv)"
	check_equal 'and JSON' '["callees",100,80]
[0,"walk",80,10]
[1,"visit",65,20]
[2,"walk",45,30]
[3,"compare",15,15]
[1,"walk",5,5]' "$(dcpiprof --db "$recursion" --callees walk --json |
		jq -c '[.view, .stacks, .samples], (.rows[] | [.level, .procedure, .samples, .own])')"
	check_equal 'of procedures that match a pattern, the outermost counts' '              80  80.00%      10  10.00% - walk       [kernel]
              65  65.00%      20  20.00%   - visit    [kernel]
              45  45.00%      30  30.00%     walk     [kernel]
              15  15.00%      15  15.00%     compare  [kernel]
               5   5.00%       5   5.00%   - walk     [kernel]
              20  20.00%      20  20.00% - compare    [kernel]' \
		"$(dcpiprof --db "$recursion" --callees '[wc]*' --no-header)"
	check_fails 'callees of what is in no stack' 4 "no call stack has a procedure 'wall'; did you mean walk?" \
		dcpiprof --db "$recursion" --callees wall
	check_fails 'callers and callees at once' 2 'choose one' dcpiprof --db "$recursion" --callers walk --callees walk
}

look_at_bad_input()
{
	check_fails 'a procedure that is in no stack' 4 "did you mean scan?" dcpiprof --db "$db" --callers scam
	check_fails 'one like nothing' 4 '--inclusive lists them' dcpiprof --db "$db" --callers qqqqqqqqqqqqqqq
	check_fails 'an image that is in no stack' 4 'no image with samples is called that' dcpiprof --db "$db" --tree '[stacks]'
	check_fails 'two views' 2 'choose one' dcpiprof --db "$db" --tree --inclusive
	check_fails 'images of a view' 2 '--by-image is no view of call stacks' dcpiprof --db "$db" --tree -i
	check_fails 'a part of a view' 2 '--least leaves out' dcpiprof --db "$db" --tree --keep 90
	check_fails 'another order of a view' 2 '--event names it' dcpiprof --db "$db" --inclusive --sort cpu-clock
	check_fails 'stacks without a view' 4 'which --tree, --callers, --callees and --inclusive' dcpiprof --db "$db" --event cpu-clock.stacks
	check_fails 'a share that is none' 2 'least' dcpiprof --db "$db" --tree --least 101
	perf record -q -e cpu-clock -F 500 -o "$scratch/flat.data" -- "$build/workloads/calls" 0.3 &&
		dcpimport --db "$scratch/flat" "$scratch/flat.data" >/dev/null
	check_fails 'a profile without stacks' 4 "no call stacks in what was selected: dcpid takes them (stacks.rate in dcpid.conf), and dcpimport those that 'perf record -g'" \
		dcpiprof --db "$scratch/flat" --tree
	check 'the database is whole' dcpictl --db "$db" check
	dcpitar --db "$db" "$scratch/calls.tar.zst" >/dev/null &&
		dcpitar -x --to "$scratch/out" "$scratch/calls.tar.zst" >/dev/null
	check_equal 'an archive has the stacks, too' "$(jq -c .rows "$scratch/tree.json")" \
		"$(dcpiprof --db "$scratch/out" --tree --no-inline --json | jq -c .rows)"
}

look_at_recursion
if command -v perf >/dev/null; then
	look_at_known_calls
	look_at_frames
	look_at_inlined
	look_at_machine
	look_at_bad_input
else
	skip 'call stacks that perf records here' 'perf is not installed'
fi
[ $failures = 0 ]
