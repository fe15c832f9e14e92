#!/bin/bash
# dcpiemu and how programs live and die: forks, execs, threads, signals, kills - nothing of their profile is lost, and
# executions are exact.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'programs are followed' || exit 0
program=$build/workloads/executions
turns=1000000
once=$((3 * turns + 3)) # instructions of loop(), see tests/workloads/executions.c

# executions PROCEDURE - how many instructions of it
executions()
{
	dcpiprof --db "$db" --event executions --json |
		jq --arg name "$1" '[.rows[] | select(.procedure == $name) | .counts.executions] | add'
}

# followed SENTENCE TIMES STATUS ARGUMENT... - loop() was executed so many times, has cycles, and the status is that
followed()
{
	local status

	rm -rf "$db"
	emulate in-order-2 4 -- "${@:4}"
	status=$?
	check_equal "$1" "$(($2 * once)) $3" "$(executions loop) $status"
	check_at_least '... and has cycles' 50 "$(share procedure '^loop$')"
}

lives()
{
	followed 'a program that does nothing special' 1 3 "$program" one $turns
	followed 'threads' 8 3 "$program" threads $turns
	followed 'children of fork' 4 3 "$program" fork $turns
	followed 'a program that is executed' 2 3 "$program" exec $turns
	followed 'one that is executed after vfork' 2 3 "$program" vfork $turns
	followed 'handlers of signals' 3 3 "$program" signals $turns
	check_equal 'signals that the program found ignored are so in what it executes' alive "$(trap '' HUP PIPE USR1
		dcpiemu run --machine in-order-2 --no-db --quiet -- \
			bash -c '/bin/sh -c "kill -HUP \$\$; kill -PIPE \$\$; kill -USR1 \$\$; echo alive"; true')"
	followed 'a static program' 1 3 "$program"_static one $turns
}

# Opened while the program runs, closed again, and another one opened in its place.
libraries()
{
	local dir=$build/workloads name

	followed 'libraries that are opened one after the other in the same place' 2 3 "$dir/same_place" $turns \
		"$(nm "$dir/libexecutions_a.so" | awk '$3 == "loop" { print $1 }')" "$dir"/libexecutions_{a,b}.so
	for name in a b; do
		check_equal "each has its own: $name" $once "$(dcpiprof --db "$db" --event executions --json |
			jq --arg image "libexecutions_$name.so" '[.rows[] |
				select(.procedure == "loop" and (.image | endswith($image))) | .counts.executions] | add')"
		check_at_least '... and its cycles' 30 "$(share image "libexecutions_$name.so")"
	done
}

deaths()
{
	followed 'a program that a signal ends keeps its profile' 1 139 "$program" segv $turns
	followed 'one that is killed, too' 1 137 "$program" kill $turns
}

# It would run for hours.
killed_from_outside()
{
	local emulator

	rm -rf "$db"
	start dcpiemu run --machine in-order-2 --threads 1 --db "$db" --quiet -- "$program" one 100000000000
	wait_for 60 pgrep -P "$started" -f qemu-x86_64 || not_ok 'the emulator is a child of dcpiemu'
	emulator=$(pgrep -P "$started" -f qemu-x86_64)
	wait_for 60 eval "[ \"\$(cut -d ' ' -f 14 /proc/$emulator/stat)\" -gt 100 ]"
	kill -KILL "$emulator"
	wait "$started"
	check_equal 'an emulator that somebody kills is a program that was killed' 137 $?
	check_at_least 'and the profile has what it did until then' 95 "$(share procedure '^loop$')"
	check_at_least 'all of it' 1000000 "$(executions loop)"
	check 'the database is sound' dcpictl check --db "$db"
}

# emulators - the processes of the last run that is not over
emulators()
{
	pgrep -f -- "-plugin $TMPDIR/"
}

no_emulators()
{
	! emulators >/dev/null
}

# start_family [COMMAND...] - a program with children, which would run for hours, until it and what it executed are there;
# COMMAND executes dcpiemu
start_family()
{
	rm -rf "$scratch"/begun*
	start "$@" dcpiemu run --machine in-order-2 --no-db --quiet -- sh -c \
		"(echo >$scratch/begun1; while :; do :; done) & sh -c 'echo >$scratch/begun2; while :; do :; done' & wait"
	wait_for 60 test -e "$scratch/begun1" -a -e "$scratch/begun2"
	check_equal 'three emulators run' 3 "$(emulators | wc -l)"
}

killed_tool()
{
	start_family
	kill -KILL "$started"
	wait "$started"
	check 'when dcpiemu is killed, all that it emulates ends' wait_for 60 no_emulators
	check 'and what was recorded is removed' wait_for 60 rmdir "$TMPDIR"
	mkdir "$TMPDIR"
	start_family env TMPDIR="$TMPDIR/" # the next one spells it otherwise
	pkill -KILL -P "$started" -x emulators-end
	kill -KILL "$started"
	wait "$started"
	check 'killed with its keeper, it leaves a directory' test -n "$(ls "$TMPDIR")"
	dcpiemu run --machine in-order-2 --no-db --quiet -- true
	check 'which the next one removes' test -z "$(ls "$TMPDIR")"
	check 'with what still ran' no_emulators
}

lives
libraries
deaths
killed_from_outside
killed_tool
