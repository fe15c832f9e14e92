#!/bin/bash
# cost.sh - rates follow from what a sample costs and what sampling may cost, and both are told
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='rates follow from the cost of a sample'
may_sample_or_skip "$sentence" || exit 0

# begin NAME CONFIGURATION - dcpid with it, on database NAME; sets $started
begin()
{
	db=$scratch/$1
	printf '%s\n' "$2" >"$scratch/$1.conf"
	start_dcpid "$db" --config "$scratch/$1.conf" || {
		not_ok "dcpid starts: $1" "$(cat "$db.log")"
		return 1
	}
}

# of_status FILTER - of the daemon on $db
of_status()
{
	dcpictl --db "$db" status --json | jq -r "$1"
}

# holds FILTER - is it true of the status?
holds()
{
	dcpictl --db "$db" status --json | json_holds "$1" && return
	of_status '.events, .overhead, .capture' >&2
	return 1
}

stack=15000 # ns that dcpid takes of a call stack (OVERHEAD_STACK_NS)
clock='{ name = "cpu-clock"; }'

the_limit_is_kept()
{
	begin limit "events = ( $clock ); flush_interval = 1;" || return
	check 'the cost of a sample is measured, and believable' holds '.events[0].cost_ns | . > 500 and . < 1000000'
	figure "a sample of cpu-clock costs $(of_status '.events[0].cost_ns') ns, $(of_status '.events[0].rate') are taken a second"
	check 'the limit is 1 % by default' holds '.overhead.limit_percent == 1'
	check 'the rate, times the cost of a sample and what dcpid takes of it, is what is expected' holds \
		'([.events[] | .rate * (.cost_ns + (if .name | endswith(".stacks") then '$stack' else [1000, (.cost_ns / 4 | floor)] | max end))] | add) / 1e7
		- .overhead.expected_percent | fabs < 1e-6'
	check 'which is within the limit' holds '.overhead.expected_percent <= .overhead.limit_percent'
	# 3.1 % less, as clocks are, and what is cut off a whole number
	check 'and uses it, or all the samples that are allowed' holds \
		'.overhead.expected_percent > 0.95 * .overhead.limit_percent or .events[0].rate > 0.95 * 5200'
	rate=$(of_status '.events[0].rate')
}

footer_and_status_agree()
{
	local status report

	timeout 2 sh -c 'while :; do :; done'
	dcpictl --db "$db" flush >/dev/null
	status=$scratch/status.json report=$scratch/report.json
	dcpictl --db "$db" status --json >"$status"
	dcpiprof --db "$db" --json >"$report"
	for field in '.events[0].cost_ns' '.events[0].rate' '.events[0].period' '.overhead.limit_percent'; do
		check_equal "status and report agree on $field" "$(jq "$field" "$status")" "$(jq "$field" "$report")"
	done
	# the report's numbers have six digits, its times whole seconds, and the status is a moment younger
	check 'they agree on what is expected' jq -es '.[0].overhead.expected_percent - .[1].overhead.expected_percent | fabs < 0.0001' "$status" "$report"
	check 'they agree on what was measured' jq -es '.[0].overhead.measured_percent / .[1].overhead.measured_percent | . > 0.6 and . < 1.6' "$status" "$report"
	# shellcheck disable=SC2016 # jq's own
	check 'what was measured is samples, and ticks that found a CPU idle, times cost, and dcpid' jq -es \
		--argjson cpus "$(getconf _NPROCESSORS_ONLN)" --argjson ticks "$(jq .idle.ticks "$status")" 'length == 1 and (.[0] |
		((.end | fromdate) - (.start | fromdate)) as $seconds | .overhead.measured_percent as $measured |
		(.events[0] | .taken // .samples) as $taken |
		(.overhead_percent + 100 * ($taken + $ticks) * .events[0].cost_ns / 1e9 / $cpus / $seconds) as $sum |
		$measured / $sum | . > 0.6 and . < 1.7)' "$report"
	check 'the footer says it to people' grep -Eq \
		'^Cost: +[0-9.]+% of the machine.s processor time, [0-9.]+% of it dcpid.s own; [0-9.]+% expected at full load \(limit 1%\)' \
		<(dcpiprof --db "$db")
	check 'and the cost of a sample' grep -Eq '^ +cpu-clock [0-9]+ samples/s per CPU, [0-9.]+ us each$' <(dcpiprof --db "$db")
	check 'so does the status' grep -Eq '^  cost  .*expected at full load \(limit 1 %\)$' <(dcpictl --db "$db" status)
	stop "$started"
}

# As its first user does: the default configuration, every CPU busy, and a report ten seconds after the start. What the
# start took is reported apart; a tenth is for a machine that is busy with other things.
the_first_report_keeps_the_limit()
{
	begin first '' || return
	for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
		timeout 9 sh -c 'while :; do :; done' &
	done
	wait $!
	dcpictl --db "$db" flush >/dev/null
	dcpiprof --db "$db" --json >"$scratch/first.json"
	dcpiprof --db "$db" >"$scratch/first.txt"
	stop "$started"
	figure "the first report: $(jq -c .overhead "$scratch/first.json")"
	check_at_most 'the first report is within the limit of 1 %, and a tenth' 1.1 \
		"$(jq '.overhead.measured_percent' "$scratch/first.json")"
	check 'what the start took is told apart' grep -Eq '^ +besides, [0-9.]+ ms of processor time once, to start$' \
		"$scratch/first.txt"
}

a_tenth_of_the_limit_is_a_tenth_of_the_rate()
{
	begin tenth "events = ( $clock ); overhead_limit = 0.1;" || return
	check_equal 'another limit is told' 0.1 "$(of_status .overhead.limit_percent)"
	check 'and kept' holds '.overhead.expected_percent <= 0.1'
	check_at_most 'with fewer samples' $((rate / 2)) "$(of_status '.events[0].rate')"
	stop "$started"
	begin few "events = ( $clock ); max_rate = 10;" || return
	check 'max_rate is not passed' holds '.events[0].rate | . >= 9 and . <= 10'
	stop "$started"
}

what_is_given_holds()
{
	begin given 'overhead_limit = 0.01; events = ( { name = "cpu-clock"; rate = 200; }, { name = "page-faults"; period = 100; } );' ||
		return
	check 'a rate that is given holds, whatever the limit' holds '.events[0].rate == 194'
	check 'so does a period' holds '.events[1].period == 100'
	check 'their costs are told nevertheless' holds '[.events[].cost_ns] | all(. > 0)'
	check 'there is no limit then' holds '.overhead.limit_percent == null'
	check 'the log says that more is to be expected than the limit' grep -q 'more than overhead_limit' "$db.log"
	stop "$started"
}

# Where processes come in a storm, what dcpid does itself costs more than is reckoned for it.
is_slower_than()
{
	[ "$(of_status '.events[0].period')" -gt "$1" ]
}

too_much_is_slowed_down()
{
	local before storms=() i

	begin storm "events = ( $clock ); overhead_limit = 0.02; flush_interval = 1;" || return
	before=$(of_status '.events[0].period')
	for ((i = 0; i < $(nproc); i++)); do
		start sh -c 'while :; do /bin/true; done'
		storms+=("$started")
	done
	check 'what costs too much for long is slowed down, and the log says why' wait_for 90 \
		grep -Eq 'sampling costs [0-9.]+ % of the machine, its limit is 0.02 %' "$db.log"
	check 'its period is longer then' wait_for 20 is_slower_than "$before"
	check 'in an epoch of its own' holds '.epoch.id >= 2'
	kill "${storms[@]}"
}

# share_of_first - of samples of the two halves, in percent, from lines "COUNT PROCEDURE"
share_of_first()
{
	awk '$2 == "first_half" { first = $1 } $2 == "second_half" { second = $1 }
		END { if (first + second) printf "%.0f\n", 100 * first / (first + second) }'
}

# is_seen_whole FIRST SECOND - has each half of a loop its half of the samples? Their number n depends on the machine: n
# samples at random would be off by 50/sqrt(n) percent, and 4.5 times that or more once in 150,000. With the worst of
# loops, dithering for 2.5 s makes it up to twice that.
is_seen_whole()
{
	awk -v first="$1" -v second="$2" 'BEGIN {
		n = first + second
		exit !(n >= 100 && (first - n / 2) ^ 2 <= 9 ^ 2 * n / 4)
	}'
}

# check_in_step LOOP_NS SENTENCE
check_in_step()
{
	local first second

	dcpictl --db "$db" epoch >/dev/null
	taskset -c 0 "$build/workloads/in_step" "$1" 2.5
	dcpictl --db "$db" flush >/dev/null
	read -r first second < <(dcpiprof --db "$db" --comm in_step --json |
		jq -r '[.rows[] | {(.procedure): .counts["cpu-clock"]}] | add | "\(.first_half // 0) \(.second_half // 0)"')
	figure "in_step: dcpid gives the halves of a loop of $1 ns $first and $second samples"
	check "$2" is_seen_whole "$first" "$second"
}

# A loop as long as the period: who does not vary the period sees one half of it. Where that starts is chance, and where
# another process runs between is a new start: on a busy machine it may be seen whole.
loops_are_not_kept_step_with()
{
	local share try unfair=no sentence='a period that is always the same sees one half of a loop that keeps step'

	for try in 1 2 3 4 5 6 7 8; do
		[ $unfair = no ] || break
		[ $try = 1 ] || retry 'perf keeps step with a loop' 'the loop began anew between its two halves'
		taskset -c 0 "$build/workloads/in_step" 2000000 2 &
		perf record -q --buildid-mmap -o "$scratch/perf.data" -e cpu-clock:I -c 2000000 -C 0 sleep 1.5 >/dev/null 2>&1
		wait $!
		share=$(perf report -i "$scratch/perf.data" --stdio -q --comm in_step -F sample,sym 2>/dev/null |
			awk '{ print $1, $NF }' | share_of_first)
		figure "in_step: with a period that is always the same, the first half has ${share:-no} % of the samples (try $try)"
		[ -z "$share" ] || { [ "$share" -gt 10 ] && [ "$share" -lt 90 ]; } || unfair=yes
	done
	if [ $unfair = yes ]; then
		ok "$sentence"
	else
		skip "$sentence" 'no loop could keep step on this machine'
	fi
	begin step 'events = ( { name = "cpu-clock"; period = 2000000; } );' || return
	check_in_step 2000000 'a program of 2.5 s that keeps step is seen whole'
	check_in_step 1950000 'so is one whose loop is a little shorter'
	check_in_step 4000000 'and one whose loop is twice as long'
	stop "$started"
}

# large_programs COUNT - programs large-0, large-1, ... in $scratch/large, each of a build-id of its own and 20,000 functions,
# that use 0.1 s of processor time
large_programs()
{
	local i

	mkdir "$scratch/large"
	cat >"$scratch/large.s" <<-'END'
		.altmacro
		.macro function number
		.type function_\number, @function
		function_\number: .byte 0x90
		.size function_\number, 1
		.endm
		.text
		.set n, 0
		.rept 20000
		function %n
		.set n, n + 1
		.endr
		.section .note.GNU-stack, "", @progbits
	END
	cat >"$scratch/large.c" <<-'END'
		#include <time.h>
		volatile unsigned result;
		int main(void)
		{
			while (clock() < CLOCKS_PER_SEC / 10)
				for (unsigned i = 0; i < 10000; i++)
					result += i * WHICH;
			return 0;
		}
	END
	gcc -c -o "$scratch/large.o" "$scratch/large.s" || return
	for ((i = 0; i < $1; i++)); do
		gcc -DWHICH=$i -Wl,--build-id -o "$scratch/large/large-$i" "$scratch/large.c" "$scratch/large.o" || return
	done
}

# run_each - one program after the other
run_each()
{
	local program

	for program in "$scratch"/large/*; do
		"$program"
	done
}

# children_ms PID BEGAN - "ELAPSED SPENT": ms since the machine's uptime BEGAN, and of processor time of the processes that
# PID waited for
children_ms()
{
	awk -v began="$2" -v ticks="$(getconf CLK_TCK)" '
		FNR == NR { sub(/.*\) /, ""); spent = ($14 + $15) * 1000 / ticks; next }
		{ printf "%.0f %.0f\n", ($1 - began) * 1000, spent }' "/proc/$1/stat" /proc/uptime
}

# The limit is 1.25 % of one CPU, however many there are. Names and text are paid for from an eighth of it; what it is in 4 s,
# 50 ms, may be spent before, and twice as much again for what may soon be gone; then it waits, but for the run that it was.
capturing_costs_an_eighth_of_the_limit()
{
	local cpus percent share advance began dcpid programs second spent elapsed dearest beyond

	large_programs 60 || {
		not_ok 'large programs are made'
		return
	}
	cpus=$(getconf _NPROCESSORS_ONLN)
	read -r percent share advance < <(awk -v cpus="$cpus" 'BEGIN {
		percent = cpus < 125 ? 1.25 / cpus : 0.01
		limit = percent / 100 * cpus
		printf "%.4f %f %.0f\n", percent, limit / 8 + limit / 4,
			3 * (4000 * limit > 50 ? 4000 * limit : 50) + (50000 * limit > 250 ? 50000 * limit : 250)
	}')
	read -r began _ </proc/uptime
	begin capture "events = ( { name = \"cpu-clock\"; rate = 500; } ); flush_interval = 1; overhead_limit = $percent;" || return
	dcpid=$started
	start run_each
	programs=$started
	while kill -0 "$programs" 2>/dev/null; do
		children_ms "$dcpid" "$began" && sleep 0.1
	done >"$scratch/spent"
	for ((second = 0; second < 10; second++)); do
		dcpictl --db "$db" flush >/dev/null
		children_ms "$dcpid" "$began" && sleep 1
	done >>"$scratch/spent"
	# What was spent, in what time, what at most between two looks, and at worst beyond three eighths of the time until then.
	read -r spent elapsed dearest beyond < <(awk -v share="$share" '
		$2 - last > dearest { dearest = $2 - last }
		$2 - $1 * share > beyond { beyond = $2 - $1 * share }
		{ last = $2 }
		END { printf "%.0f %.0f %.0f %.0f\n", $2, $1, dearest, beyond }' "$scratch/spent")
	figure "capture: $(of_status .capture.taken) runs of $spent ms of processor time in $elapsed ms, $beyond ms more than three eighths of the limit ($advance ms may be in advance, and one run)"
	check 'names and text are captured' holds '.capture.taken > 0'
	check 'more of them is wanted than the limit pays for' holds '.capture.taken < 60 and .capture.waiting > 0'
	# 20 ms: the kernel tells user and system time in units of 10 ms each
	check_at_most 'with unwind tables, they cost three eighths of the limit, and a little in advance' $((advance + dearest + 20)) "$beyond"
	stop "$dcpid"
}

bytes_read()
{
	awk '$1 == "rchar:" { print $2 }' "/proc/$1/io"
}

# To list its symbols takes the kernel longer than all else of a start. No clock: what dcpid has read by then is counted.
a_kernel_that_is_known_is_not_listed_again()
{
	local listed first again text='events = ( { name = "cpu-clock"; rate = 500; } );'

	listed=$(wc -c </proc/kallsyms)
	begin known "$text" || return
	first=$(bytes_read "$started")
	check 'the kernel is sampled' wait_for 30 bash -c \
		"dcpictl --db '$db' flush >/dev/null && dcpiprof --db '$db' -i | grep -qF '[kernel]'"
	stop "$started"
	begin known "$text" || return
	again=$(bytes_read "$started")
	figure "start: $first bytes read; when the kernel is known $again; its symbols are $listed"
	check_at_most 'who knows the kernel does not list its symbols' $((listed / 4)) "$again"
	check 'and samples it as before' wait_for 30 bash -c \
		"dcpictl --db '$db' flush >/dev/null && dcpiprof --db '$db' -i | grep -qF '[kernel]'"
	stop "$started"
}

the_first_report_keeps_the_limit
the_limit_is_kept && footer_and_status_agree
a_tenth_of_the_limit_is_a_tenth_of_the_rate
what_is_given_holds
too_much_is_slowed_down
loops_are_not_kept_step_with
a_kernel_that_is_known_is_not_listed_again
capturing_costs_an_eighth_of_the_limit
