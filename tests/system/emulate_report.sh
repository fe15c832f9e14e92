#!/bin/bash
# emulate_report.sh - what dcpiemu says of a run and of a sweep: figures that fit each other, labels, pictures, progress
# shellcheck disable=SC2016 # what other shells are to expand
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/emulate_lib.sh"

emulator_or_skip 'what dcpiemu reports' || exit 0
export DCPI_MACHINES=$top/config/machines
matvec=$build/workloads/emulated/matvec
cd "$scratch" || exit

# holds SENTENCE FILTER [FILE] - of the JSON report
holds()
{
	check "$1" json_holds "$2" "${3:-$report}"
}

of_one_thread()
{
	emulate in-order-2 1 -- gzip -c "$top/docs/tour.md"
	holds 'one thread: the cycles of all reasons are the time that passed' \
		'.schema == "dcpiemu/1" and ([.cycles[]] | add) == .elapsed_cycles and .elapsed_cycles > 0'
	holds 'the busy ones are all but the blocked' '.busy_cycles == ([.cycles[]] | add) - .cycles.blocked'
	holds 'seconds are cycles by the clock' '.seconds * .machine.clock_mhz * 1e6 - .elapsed_cycles | fabs < 1'
	holds 'each level is asked for what the ones before it missed' \
		'(.levels | map({(.name): .}) | add) as $l | $l.L2.accesses == ($l["L1 code"].code_missed +
		$l["L1 data"].loads_missed + $l["L1 data"].stores_missed)'
	holds 'the first one for what instructions load and store' \
		'(.levels[] | select(.name == "L1 data").accesses) == .loads + .stores and .loads + .stores < .instructions'
	holds 'samples and periods make the events' \
		'[.events[] | select(.samples > 50) | .samples * .period / .events | . > 0.7 and . < 1.4] | length > 1 and all'
	holds 'the profile is in the database' '.epoch == 1 and .program.exit == 0'
	check_equal 'with as many samples' "$(jq .events.cycles.samples "$report")" \
		"$(dcpiprof --db "$db" --json | jq '.events[] | select(.name == "cycles").samples')"
}

of_threads()
{
	emulate in-order-2 3 --label three -- sh -c 'echo "$OMP_NUM_THREADS %t %%"; nproc; exec '"$matvec"' 128'
	check_equal 'the program is told how many threads, and sees as many cores' '3 3 % 3' "$(head -2 out | paste -sd ' ')"
	holds 'each thread has a row' '[.programs[] | select(.command == "matvec")][-1].threads | length == 3'
	holds 'and together they are the whole' \
		'([.programs[].threads[].busy_cycles] | add) == .busy_cycles and ([.programs[].busy_cycles] | add) == .busy_cycles'
	holds 'cores are busy' '.cores_busy > 1 and .cores_busy <= 3.001'
	check 'its loop is found by the name of the procedure that it stands in' json_holds '.procedure == "matvec._omp_fn.0"' \
		<(dcpicalc --db "$db" --json matvec "$matvec")
	check 'the epoch has the label' dcpiprof --db "$db" --epoch three --label three
}

as_text()
{
	dcpiemu run --machine in-order-2 --no-db --processes --output text -- sh -c 'gzip -c /bin/sh | wc -c' >out
	check 'the report is as its page says' awk '
		/^Machine: / { machine = /in-order-2/ } /^Time: / { time = 1 } /^Busy: / { busy = 1 }
		/^Executed:  3 processes, [4-6] programs/ { executed = 1 }
		/ spent on$/ { reasons = 1 } / of$/ { levels = 1 } / memory of$/ { nodes = 1 } / program$/ { programs = 1 }
		/% gzip, process/ { gzip = 1 }
		END { exit !(machine && time && busy && executed && reasons && levels && nodes && programs && gzip) }' text
	dcpiemu run --machine in-order-2 --no-db --model counts --output text true
	check_equal 'what was not modelled is left out' 3 "$(grep -c . text)"
	check_equal 'quiet is quiet' '' "$(dcpiemu run --machine in-order-2 --no-db --quiet true 2>&1)"
	start script -qec "dcpiemu run --machine in-order-2 --no-db -- sh -c 'until [ -e enough ]; do :; done'" /dev/null \
		>terminal </dev/null
	wait_for 60 grep -q 's here' terminal
	touch enough
	wait "$started"
	check 'on a terminal it says how far it is' grep -qE 'in-order-2: [0-9.]+ s in [0-9]+ s here' terminal
}

sweep()
{
	local plot=()

	dcpiemu sweep --machine in-order-2 --machine e5-2603v1 --threads 1,2,6 --db swept --plot curves.svg --csv -- \
		"$matvec" 512 >table.csv 2>err
	check_equal 'a sweep has a row for each machine and number of threads' \
		'in-order-2,1 in-order-2,2 e5-2603v1,1 e5-2603v1,2' "$(sed 1d table.csv | cut -d , -f 1,2 | paste -sd ' ')"
	check 'more threads are faster, relative to one' awk -F , 'NR > 1 {
		if ($2 == 1) { first = $3; if ($6 != 1) exit 1 } else if ($6 < 1.05 || ($6 - first / $3) ^ 2 > 1e-6) exit 1 }' table.csv
	check 'what a machine has not is said' grep -q 'e5-2603v1: it has 4 cores: more threads than that are left out' err
	check_equal 'each run is an epoch with its label' 4 "$(for epoch in in-order-2/1 in-order-2/2 e5-2603v1/1 e5-2603v1/2; do
		dcpiprof --db swept --epoch $epoch --label $epoch --json; done | jq -s 'map(select(.events[0].samples > 0)) | length')"
	if command -v gnuplot >/dev/null; then
		check 'the curves are drawn' grep -q 'perfect scale' curves.svg
		check 'on a white ground' has_white_ground curves.svg
		plot=(--plot curves.png)
	else
		skip 'the curves are drawn' 'gnuplot is not installed'
	fi
	dcpiemu sweep --machine in-order-2 --threads 1 --runs 2 --no-db --quiet --json --show-output "${plot[@]}" -- \
		echo '%t threads' >both
	check_equal 'the output of the program is shown if that is wished' '1 threads 1 threads' "$(head -2 both | paste -sd ' ')"
	sed -i 1,2d both
	[ ${#plot[@]} = 0 ] || check_equal 'also as pixels' PNG "$(head -c 4 curves.png | tail -c 3)"
	holds 'and each run is in it' '.schema == "dcpiemu-sweep/1" and (.points[0].runs_seconds | length) == 2' both
}

# A sweep that takes too long: with two threads the program says that it runs, and waits.
interrupted_sweep()
{
	local status=0

	# shellcheck disable=SC2016 # the program's own
	start env --default-signal=INT dcpiemu sweep --machine in-order-2 --threads 1..4 --db cut --csv -- sh -c \
		'[ "$1" = 1 ] && exit; echo $$ >begun; until [ -e enough.sweep ]; do :; done' sh %t >cut.csv 2>cut.err
	wait_for 60 test -s begun
	kill -INT "$started"
	wait "$started" || status=$?
	check_equal 'a sweep that is interrupted ends so' 130 $status
	check_equal 'what was finished is in the table' 'in-order-2,1' "$(sed 1d cut.csv | cut -d , -f 1,2)"
	check 'and in the database' dcpiprof --db cut --epoch in-order-2/1
	check_equal 'the rest is told of' 'dcpiemu: in-order-2/2: interrupted: it is not in the table; what it did until then is epoch 2
dcpiemu: ended early: 1 of 4 points are whole' "$(cat cut.err)"
	check_equal 'and nothing of it is left' '' "$(ls "$TMPDIR")"
}

of_one_thread
of_threads
as_text
sweep
interrupted_sweep
[ $failures = 0 ]
