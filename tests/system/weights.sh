#!/bin/bash
# weights.sh - samples that stand for different numbers of events: every tool's sums and shares are of events
#
# By hand: two programs in halves of unequal periods, on two hosts, in a database and in one that was made of two. Live:
# two programs sampled at 5,200/s and then at 500/s, and faults sampled by rate, where dcpid chooses the periods.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

image_lines='image user 1111111111111111 /opt/fast
image user 2222222222222222 /opt/slow
context fast / -
context slow / -'
# 600 and 200 ms of samples of 1 ms, 200 and 600 ms of samples of 10 ms
quick='event cpu-clock cpu-clock ns 1000000 yes -
epoch 1795271400 quick
count cpu-clock 0 0 0x1000 600
count cpu-clock 1 1 0x1000 200
unknown cpu-clock no-process 10
slice 1795271400 1795272000'
rare='event cpu-clock cpu-clock ns 10000000 yes -
host other
epoch 1795275000 rare
count cpu-clock 0 0 0x1000 20
count cpu-clock 1 1 0x1000 60
slice 1795275000 1795275600'
db=$scratch/db
printf '%s\n' "$image_lines" "$quick" noevents "$rare" | "$build/tests/system/make_database" "$db"
printf '%s\n' "$image_lines" "$quick" | "$build/tests/system/make_database" "$scratch/two"
printf '%s\n' "$image_lines" "$rare" | "$build/tests/system/make_database" "$scratch/second"
check 'a database of another host is imported' dcpimport --db "$scratch/two" "$scratch/second"

weights='cpu-clock: 890 samples of 1 ms to 10 ms are weighted by their period, and count as 1610 of 1 ms'
check_equal 'dcpiprof adds up events, and says so' "Total samples for event type cpu-clock = 1610

The counts given below are the number of samples for each listed event type.
===================================
cpu-clock       %    cum% image
      800  49.69%  49.69% /opt/fast
      800  49.69%  99.38% /opt/slow

Time:     2026-11-21 14:30:00 to 15:40:00 UTC (20 min), 2 epochs, 1 to 2
Samples:  cpu-clock 1610 (1 per 1 ms), 10 unknown (0.62%), 0 lost
Weights:  $weights
Unknown:  cpu-clock 10 (0.62%) no-process: the process was never seen
Events:   cpu-clock: idle time is not counted" "$(dcpiprof --db "$db" --epoch all -i)"
check_equal 'so it does over two hosts that were put together' "$(dcpiprof --db "$db" --epoch all -i)" \
	"$(dcpiprof --db "$scratch/two" --epoch all -i)"
check_equal 'JSON has weighted samples, those that were taken, and events' \
	'{"counts":800,"taken":620,"events":800000000}
{"counts":800,"taken":260,"events":800000000}' \
	"$(dcpiprof --db "$db" --epoch all -i --json |
		jq -c '.rows[] | {counts: .counts["cpu-clock"], taken: .taken["cpu-clock"], events: .events["cpu-clock"]}')"
check_equal 'and of the event' '[1610,890,1600000000,1000000,10000000]' "$(dcpiprof --db "$db" --epoch all --json |
	jq -c '.events[0] | [.samples, .taken, .selected_events, .period, .longest_period]')"
check_equal 'one period is not weighted, and nothing is said' 'false 800 0' "$(
	dcpiprof --db "$db" --epoch quick --json | jq -j '(.events[0] | has("taken")), " ", .events[0].selected - 10'
	echo " $(dcpiprof --db "$db" --epoch quick | grep -c Weights)")"
check_equal 'dcpicat has weighted counts' '0x1000 800
0x1000 800' "$(dcpicat --db "$db" --epoch all --no-header)"
check_equal 'and says how many were taken' 'taken cpu-clock 890' "$(dcpicat --db "$db" --epoch all | grep ^taken)"
check_equal 'folded stacks are weighted' '800 800 10' \
	"$(dcpiexport --db "$db" --epoch all --folded - 2>/dev/null | awk '{ print $NF }' | paste -sd' ')"
check_equal 'which is said beside them' "dcpiexport: $weights" \
	"$(dcpiexport --db "$db" --epoch all --folded "$scratch/folded" 2>&1)"
check_equal 'but of one period' '' "$(dcpiexport --db "$db" --epoch quick --folded "$scratch/folded" 2>&1)"
check_equal 'so is callgrind'\''s file' '1610' \
	"$(dcpiexport --db "$db" --epoch all --callgrind - | sed -n 's/^summary: //p')"
check_equal 'which says so' "desc: Weights: $weights" \
	"$(dcpiexport --db "$db" --epoch all --callgrind - | grep Weights)"

# What a difference tells is told by the effective number of samples: as 1,340 counts of the second side, and as 2,200 of the
# third run, both rows would be marked (Fisher 0.0034, chi-square 0.0028), and as the 1,120 samples that were taken of
# the third, chi-square would be 0.0448. Intervals and chances are by a program of their own, which solves Wilson's
# equation, adds Fisher's fractions up and weighs 100 + 64 samples of 1 and 10 as (100 + 64 * 100) / (100 + 64 * 10).
printf '%s\n' "${image_lines%%context*}" 'context work / before
context work / after
context work / run.1
context work / run.2
context work / run.3' "${quick%%count*}" 'count cpu-clock 0 0 0x1000 1000
count cpu-clock 1 0 0x1000 1000
count cpu-clock 0 1 0x1000 100
count cpu-clock 1 1 0x1000 100
count cpu-clock 0 2 0x1000 1000
count cpu-clock 1 2 0x1000 1000
count cpu-clock 0 3 0x1000 1000
count cpu-clock 1 3 0x1000 1000
count cpu-clock 0 4 0x1000 500
count cpu-clock 1 4 0x1000 500
slice 1795271400 1795272000
noevents' "${rare%%count*}" 'count cpu-clock 0 1 0x1000 64
count cpu-clock 1 1 0x1000 50
count cpu-clock 0 4 0x1000 70
count cpu-clock 1 4 0x1000 50
slice 1795275000 1795275600' | "$build/tests/system/make_database" "$scratch/tested"
check_equal 'dcpidiff tests the effective number of samples' ' before   after   differ      least     most   s before   s after    times image
 50.00%  55.22%   +5.22%     -3.00%  +13.20%      1.000     0.740    x0.74 /opt/fast
 50.00%  44.78%   -5.22%    -13.14%   +2.93%      1.000     0.600     x0.6 /opt/slow
Differ:   0 of 2 images (*) by more than sampling explains: p < 0.05 for all together' \
	"$(dcpidiff --db "$scratch/tested" -i --before before --after after | grep -E '^ +before|%|Differ' |
		grep -v Shares)"
run_sets=(--set --label run.1 --set --label run.2 --set --label run.3)
check_equal 'dcpistats, too' '  range%        sum     sum%     N       mean    std-dev        min        max       p   image
   3.12%    3006.06   48.48%     3    1002.02      54.24     939.39    1033.33  0.5011   /opt/slow
   2.94%    3193.94   51.52%     3    1064.65      54.24    1033.33    1127.27  0.5011   /opt/fast' \
	"$(dcpistats --db "$scratch/tested" -i --noise sampling --normalize total "${run_sets[@]}" | grep -E '/opt|range')"
check_equal 'which says what is weighted' \
	'Weights:  set 3: cpu-clock: 7434 samples of 1 ms to 10 ms are weighted by their period, and count as 9540 of 1 ms' \
	"$(dcpistats --db "$scratch/tested" -i "${run_sets[@]}" | grep Weights)"
check_equal 'JSON of both has what was taken' '[{"samples":1340,"taken":314},{"samples":740,"taken":164}]
[[{"samples":2000,"taken":2000},{"samples":2000,"taken":2000},{"samples":2200,"taken":1120}],[1000,1000,570]]' "$(
	dcpidiff --db "$scratch/tested" -i --before before --after after --json | jq -c \
		'[.after, (.rows[] | select(.after.image == "/opt/fast").after)] | map({samples, taken})'
	dcpistats --db "$scratch/tested" -i "${run_sets[@]}" --json | jq -c \
		'[.sets | map({samples, taken})] + [.rows[] | select(.image == "/opt/fast").taken]'
)"
check_equal 'where nothing is weighted there is no such member' false \
	"$(dcpistats --db "$scratch/tested" -i --set --label run.1 --epoch quick --set --label run.2 --epoch quick --json |
		jq '[.. | objects | has("taken")] | any')"

# in_json WHAT EXPECTED FILTER TOOL OPTION...
in_json()
{
	check_equal "JSON of $4 has what was taken $1" "$2" \
		"$("$4" --db "$scratch/code" --epoch all --cpu in-order-2 --json "${@:5}" | jq -c "$3")"
}

# sum has 25,000 samples of 4,000 cycles, and 510 of 8,000, which count twice.
look_at_code()
{
	local tool

	as -o "$scratch/calc.o" "$top/tests/system/calc.S" && objcopy --redefine-sym twin_2=twin "$scratch/calc.o" &&
		link_calc libcalc.so 1111111111111111
	printf '%s\n' 'event cycles cycles cycles 4000 yes -' "image user 1111111111111111 $scratch/libcalc.so" \
		'context figure / -' 'epoch 1795275000 often' 'count cycles 0 0 0x1017 2000' 'count cycles 0 0 0x101e 23000' \
		'slice 1795275000 1795275600' noevents 'event cycles cycles cycles 8000 yes -' 'epoch 1795276000 seldom' \
		'count cycles 0 0 0x101e 500' 'count cycles 0 0 0x1024 10' 'slice 1795276000 1795276600' |
		"$build/tests/system/make_database" "$scratch/code"
	in_json 'of the procedure' '[{"cycles":26020},{"cycles":25510}]' '[.samples, .taken]' dcpilist sum
	in_json 'of an instruction' '[{"cycles":24000},{"cycles":23500}]' \
		'.instructions[] | select(.address == 4126) | [.samples, .taken]' dcpilist sum
	in_json 'of the procedure' '[26020,25510]' '.event | [.samples, .taken]' dcpicalc sum
	in_json 'of an instruction' '[{"cycles":24000},{"cycles":23500}]' \
		'.blocks[].instructions[] | select(.address == 4126) | [.samples, .taken]' dcpicalc sum
	in_json 'in all' '[26020,25510]' '[.samples, .taken]' dcpitopstalls
	in_json 'in all' '[26020,25510]' '[.samples, .taken]' dcpiwhatcg
	in_json 'of images and procedures' '[[26020,25510],[26020,25510],[26020,25510]]' \
		'[.images[0], .procedures[0], .stall.procedures[0]] | map([.samples, .taken])' dcpiwhatcg -i -p --stall d
	for tool in 'dcpilist sum' 'dcpicalc sum' dcpitopstalls 'dcpiwhatcg -i -p --stall d'; do
		# shellcheck disable=SC2086 # words
		check_equal "${tool%% *} has no such member where nothing is weighted" false \
			"$(set -- $tool && "$1" --db "$scratch/code" --epoch often --cpu in-order-2 --json "${@:2}" |
				jq '[.. | objects | has("taken")] | any')"
	done
}
calc_or_skip 'what was taken, in JSON of tools that look at code' && look_at_code

sentence='live: shares over two rates are those of time'
may_sample_or_skip "$sentence" || exit 0

configure()
{
	printf 'overhead_limit = 50.0;\nmax_rate = 20000;\nevents = ( %s );\n' "$1" >"$scratch/dcpid.conf"
}

cp "$build/workloads/naps" "$scratch/first"
cp "$build/workloads/naps" "$scratch/second_one"
# halves FIRST SECOND - the two programs work for so many seconds each, one after the other
halves()
{
	"$scratch/first" "$1" 1000000 0
	"$scratch/second_one" "$2" 1000000 0
}
live=$scratch/live
configure '{ name = "cpu-clock"; rate = 5200; }'
start_dcpid "$live" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$live.log")"
	exit 0
}
dcpictl --db "$live" epoch --label often >/dev/null
mapfile -t used < <(halves 3 1)
configure '{ name = "cpu-clock"; rate = 500; }'
dcpictl --db "$live" reload >/dev/null
dcpictl --db "$live" epoch --label seldom >/dev/null
mapfile -t -O 2 used < <(halves 1 3)
stop "$started"

# events_of COMM EPOCH - in seconds
events_of()
{
	dcpiprof --db "$live" --epoch "$2" --comm "$1" --json | jq '.events[0] | .selected * .period / 1e9'
}

figure "CPU seconds ${used[*]}; sampled: $(events_of first often) $(events_of second_one often)" \
	"$(events_of first seldom) $(events_of second_one seldom)"
whole=$(awk -v a="$(events_of first all)" -v b="$(events_of second_one all)" 'BEGIN { print a / (a + b) }')
halves=$(awk -v a="$(events_of first often)" -v b="$(events_of second_one often)" -v c="$(events_of first seldom)" \
	-v d="$(events_of second_one seldom)" 'BEGIN { print (a + c) / (a + b + c + d) }')
truth=$(awk -v a="${used[0]}" -v b="${used[1]}" -v c="${used[2]}" -v d="${used[3]}" \
	'BEGIN { print (a + c) / (a + b + c + d) }')
taken=$(for comm in first second_one; do
	dcpiprof --db "$live" --epoch all --comm $comm --json | jq '.events[0].selected_taken'
done | paste -sd' ' | awk '{ print $1 / ($1 + $2) }')
figure "the first program has $whole of the whole, $halves of the halves, $truth of CPU time; $taken of the samples"
# off by PERCENT of one
near()
{
	awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) <= most / 100) }'
}
check "$sentence" near "$whole" "$truth" 3
check 'and those of the halves' near "$whole" "$halves" 0.1

# Of faults taken by rate, dcpid takes about as many samples where there are few as where there are many.
cp "$build/workloads/touches" "$scratch/many"
cp "$build/workloads/touches" "$scratch/few"
faults=$scratch/faults
configure '{ name = "page-faults"; rate = 200; }'
start_dcpid "$faults" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$faults.log")"
	exit 0
}
touch_pages()
{
	for _ in $(seq 40); do
		"$scratch/many" 25000
	done
	for _ in $(seq 200); do
		"$scratch/few" 150
		sleep 0.01
	done
	dcpictl --db "$faults" flush >/dev/null
}
dcpictl --db "$faults" epoch --label work >/dev/null
export -f touch_pages
export scratch faults
perf stat -a -x, -e page-faults -o "$scratch/stat" bash -c touch_pages
counted=$(sed -n 's/^\([0-9]*\),.*page-faults.*/\1/p' "$scratch/stat")
check 'status lists no sums among events' \
	test "$(dcpictl --db "$faults" status --json | jq -c '[.events[].name]')" = '["page-faults"]'
stop "$started"

# faults_of COMM KEY
faults_of()
{
	dcpiprof --db "$faults" --epoch work --comm "$1" --json | jq ".events[0].$2"
}

sampled=$(dcpiprof --db "$faults" --epoch work --json | jq '.events[0] | .samples * .period')
figure "$counted faults by perf stat, $sampled by samples weighted; of 1,000,000 faults and 30,000, and those of starting:" \
	"$(faults_of many selected_events) and $(faults_of few selected_events)" \
	"by $(faults_of many selected_taken) and $(faults_of few selected_taken) samples"
check 'faults by rate add up to what a counter says' near "$(awk "BEGIN { print $sampled / $counted }")" 1 2
# What others do meanwhile is in the periods, too: a share is right to what a few long periods make of it.
few_of()
{
	awk -v few="$(faults_of few "$1")" -v many="$(faults_of many "$1")" 'BEGIN { print few / (few + many) }'
}
check 'shares are of faults' near "$(few_of selected_events)" 0.048 4
check_at_least 'not of samples' 1 "$(awk "BEGIN { print $(few_of selected_taken) / $(few_of selected_events) / 1.2 }")"
check_equal 'the database is sound' 0 "$(dcpictl --db "$faults" check >/dev/null; echo $?)"
