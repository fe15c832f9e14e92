#!/bin/bash
# label_times.sh - the database knows how long the runs under a label lasted, and counts are divided by that
#
# What dcpilabel says of its runs is the truth: how long each lasted, and how much processor time it had.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

may_sample_or_skip 'how long labelled runs lasted' || exit 0

db=$scratch/db
shares=$build/workloads/shares

# configure SLICE FLUSH
configure()
{
	printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\nslice = %s;\nflush_interval = %s;\n' "$@" >"$scratch/dcpid.conf"
}

# begin [SLICE FLUSH] - a dcpid, by another configuration if that is given
begin()
{
	[ $# = 0 ] || configure "$@"
	start_dcpid "$db" --config "$scratch/dcpid.conf" || {
		not_ok 'dcpid starts' "$(cat "$db.log")"
		exit 0
	}
	daemon=$started
}

# seconds LABEL - how long its runs lasted, as dcpistats has it; "slices" when it does not know
seconds()
{
	dcpistats --db "$db" --set --label "$1" --set --label "$1" --normalize time --all --json 2>/dev/null |
		jq -r '.sets[0] | if .time_of == "runs" then .time_ns / 1e9 else .time_of end'
}

# within SENTENCE LABEL LEAST MOST
within()
{
	local lasted

	lasted=$(seconds "$2")
	check "$1: $lasted s, at least $3" awk -v a="$lasted" -v b="$3" 'BEGIN { exit !(a + 0 >= b + 0) }'
	check "$1: $lasted s, at most $4" awk -v a="$lasted" -v b="$4" 'BEGIN { exit !(a ~ /^[0-9.]+$/ && a + 0 <= b + 0) }'
}

# Lengths differ, what is done in a second does not, but for what else this machine does: that is in the processor time.
test_eight_runs()
{
	echo 0 >"$scratch/count"
	cat >"$scratch/run" <<-END
		#!/bin/sh
		read count <"$scratch/count"
		echo \$((count + 1)) >"$scratch/count"
		set -- 0.7 1.4 2.1
		shift \$((count % 3))
		exec "$shares" \$1
	END
	chmod +x "$scratch/run"
	dcpilabel --db "$db" --runs 8 --no-stats --json run "$scratch/run" >"$scratch/runs.json" 2>/dev/null
	dcpistats --db "$db" --label 'run.*' --image shares --normalize time --json >"$scratch/stats.json"
	check 'how long each of eight runs lasted is known' json_holds '[.sets[].time_of] == [range(8) | "runs"]' "$scratch/stats.json"
	check 'to a tenth of a second' json_holds '[.[0].runs, .[1].sets] | transpose | map(.[0].elapsed_s - .[1].time_ns / 1e9) |
		map(. > -0.1 and . < 0.1) | all' <(jq -s '[.]' "$scratch/runs.json" "$scratch/stats.json" | jq '.[0]')
	figure "how long eight runs lasted, less what dcpilabel says: $(jq -rs '[.[1].sets, .[0].runs] | transpose |
		map(1000 * (.[0].time_ns / 1e9 - .[1].elapsed_s) | round) | join(" ")' "$scratch/runs.json" "$scratch/stats.json") ms"
	check_equal 'they share a slice' 1 "$(jq '[.sets[] | .start] | unique | length' "$scratch/stats.json")"
	# samples of the program, normalized, divided by the processor time that a second of the run had
	jq -s '.[1] as $stats | .[0].runs | to_entries | map(.key as $i | .value |
		([$stats.rows[].counts[$i]] | add) * $stats.sets[$i].factor / (.cpu_s / .elapsed_s)) |
		{least: min, most: max}' "$scratch/runs.json" "$scratch/stats.json" >"$scratch/rates.json"
	check "normalized by time, runs of 0.7 to 2.1 seconds are alike: $(jq -c . "$scratch/rates.json")" \
		json_holds '.least > 0 and .most / .least < 1.3' "$scratch/rates.json"
	check 'which their counts are not' json_holds '[.sets[].samples] | max / min > 2' "$scratch/stats.json"
}

test_two_runs_at_once()
{
	dcpictl --db "$db" label twice "$shares" 2 &
	sleep 1
	dcpictl --db "$db" label twice "$shares" 2
	wait $!
	within 'runs of one label count once where they overlap' twice 2.9 4
	dcpictl --db "$db" label twice sleep 1
	within 'and add up where they do not, also when they sleep' twice 3.9 5.2
}

# Slices of two seconds.
test_borders()
{
	dcpictl --db "$db" label long "$shares" 5
	check_equal 'a run has samples in several slices' true "$(dcpistats --db "$db" --set --label long --set --label long --json |
		jq '.sets[0] | (.end | fromdate) - (.start | fromdate) > 4')"
	within 'a run across borders of slices lasts as long as it lasts' long 4.9 6
	dcpictl --db "$db" epoch >/dev/null
	dcpictl --db "$db" label parts sh -c "'$shares' 1; dcpictl --db '$db' epoch >'$scratch/said'; '$shares' 1"
	within 'and so does one across a border of epochs' parts 1.9 4
}

# Of what dcpid did not see, nothing is counted; what was flushed stays.
test_kill()
{
	start dcpictl --db "$db" label killed "$shares" 6
	running=$started
	sleep 3
	stop "$daemon" KILL 2>"$scratch/said"
	sleep 0.5
	begin
	wait "$running"
	dcpictl --db "$db" flush
	within 'a run during which dcpid was killed lasts as long as one was there, but for a flush' killed 2.5 5.8
	check 'the database is whole' dcpictl --db "$db" check
}

begin 600 10
test_eight_runs
test_two_runs_at_once
stop "$daemon"
begin 2 1
test_borders
test_kill
stop "$daemon"
check 'the database is whole' dcpictl --db "$db" check
dcpictl --db "$db" compact >/dev/null
within 'what was compacted has the times' long 4.9 6

[ $failures = 0 ]
