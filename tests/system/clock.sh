#!/bin/bash
# clock.sh - the clock is set by a day and by years, and back, and the machine sleeps: samples keep their time
#
# dcpid alone meets this, through a library that is preloaded (tests/workloads/clock_shim.c); the machine's clock stays.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='no slice stretches over a leap of the clock'
may_sample_or_skip "$sentence" || exit 0
day=86400
years=$((12 * 365 * day))

# leap SET SLEPT TEXT - the clock is set forward by SET seconds in all, after SLEPT of sleep in all; the log says TEXT
leap()
{
	local before

	before=$(grep -c "$3" "$scratch/db.log")
	echo "$1 $2" >"$scratch/offsets.new"
	mv "$scratch/offsets.new" "$scratch/offsets"
	wait_for 10 eval "[ \$(grep -c '$3' '$scratch/db.log') -gt $before ]" ||
		not_ok "dcpid notices: $3 ($1 $2)" "$(cat "$scratch/db.log")"
}

# judge NAME OFFSET - were there samples in the time around the test OFFSET seconds ahead, all of them within it?
judge()
{
	local from=$((begun + $2 - day / 3)) until=$((begun + $2 + day / 3)) json

	json=$(dcpiprof --db "$scratch/db" --epoch all --since "@$from" --until "@$until" --json)
	figure "$1: $(jq -c '[.start, .end, .events[0].samples]' <<<"$json")"
	check "$1: there are samples" test "$(jq '.events[0].samples' <<<"$json")" -gt 0
	check_at_most "$1: slices begin no earlier than the test" \
		"$(date -ud "$(jq -r .start <<<"$json")" +%s)" $((begun + $2 - 1))
	check_at_most "$1: and end no later" $((ended + $2 + 1)) "$(date -ud "$(jq -r .end <<<"$json")" +%s)"
}

# What ran before a leap is in the slice before it, though nobody had taken it from the rings, and what ran after it is not.
test_last_seconds()
{
	local early late

	printf 'flush_interval = 600;\nslice = 600;\nevents = ( { name = "cpu-clock"; rate = 250; } );\n' >"$scratch/lazy.conf"
	ln -s "$build/workloads/naps" "$scratch/early"
	ln -s "$build/workloads/naps" "$scratch/late"
	echo 0 0 >"$scratch/offsets"
	start env LD_PRELOAD="$build/workloads/clock_shim.so" \
		dcpid --foreground --db "$scratch/db" --config "$scratch/lazy.conf" 2>>"$scratch/db.log"
	wait_for 10 dcpictl --db "$scratch/db" status
	"$scratch/early" 3 1000 0 >/dev/null
	leap $((9 * day)) 0 'clock was set'
	"$scratch/late" 2 1000 0 >/dev/null
	stop "$started"
	early=$(samples_around $((9 * day)) early)
	late=$(samples_around $((9 * day)) late)
	check_equal 'what was sampled in the seconds before a leap is not after it' 0 "$early"
	check 'what was sampled after it is' test "$late" -gt 0
	check 'and the other before it' test "$(samples_around 0 early)" -gt 0
	check_equal 'where nothing is from after it' 0 "$(samples_around 0 late)"
}

# samples_around OFFSET COMMAND - in the time around the test, OFFSET seconds ahead
samples_around()
{
	dcpiprof --db "$scratch/db" --epoch all --since "@$((begun + $1 - day / 3))" --until "@$((begun + $1 + day / 3))" \
		--comm "$2" --json 2>/dev/null | jq -s '.[0].events[0].selected // 0'
}

printf 'flush_interval = 1;\nslice = 600;\nmax_age_days = 1;\nevents = ( { name = "cpu-clock"; rate = 250; } );\n' \
	>"$scratch/dcpid.conf"
echo 0 0 >"$scratch/offsets"
begun=$(date +%s)
export CLOCK_SHIM=$scratch/offsets
start env LD_PRELOAD="$build/workloads/clock_shim.so" \
	dcpid --foreground --db "$scratch/db" --config "$scratch/dcpid.conf" 2>>"$scratch/db.log"
dcpid=$started
wait_for 10 dcpictl --db "$scratch/db" status || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
start "$build/workloads/naps" 60 1000 1000 >/dev/null
sleep 2
leap $day 0 'clock was set'
sleep 2
leap 0 0 'clock was set'
sleep 2
leap $years 0 'clock was set'
sleep 3
leap 0 0 'clock was set'
leap 0 $((3 * day)) 'machine slept'
sleep 2
check_equal 'no sample is lost over it' 0 "$(dcpictl --db "$scratch/db" status --json | jq .totals.lost)"
stop "$dcpid"
check_equal 'dcpid ends well' 0 $?
ended=$(date +%s)

judge 'before' 0
judge 'a day ahead' $day
judge 'years ahead' $years
judge 'after the sleep' $((3 * day))
check "$sentence" test "$(grep -c 'a slice begins' "$scratch/db.log")" = 5
test_last_seconds
check 'the database is whole' dcpictl --db "$scratch/db" check
