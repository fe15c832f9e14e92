#!/bin/bash
# labels.sh - a label is given to a process tree, to all of it and to nothing else, however it comes and goes
#
# Programs of known deeds are run under copies' names: what is sampled under a name is to carry that name's label, to the
# last sample, whoever runs beside it. Page faults are all sampled, a clock often.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

may_sample_or_skip 'process trees with labels' || exit 0

db=$scratch/db
t=t$(($$ % 1000)) # names that another run of this beside it has not
touches=$build/workloads/touches
cat >"$scratch/dcpid.conf" <<'END'
events = ( { name = "cpu-clock"; rate = 1000; }, { name = "page-faults"; period = 1; } );
flush_interval = 2;
END

# ask OPTION... - all samples of that selection as they were taken, of every epoch: the unit of those that are weighted is
# the shortest period of the epochs that were asked for, and differs between two questions
ask()
{
	dcpiprof --db "$db" --epoch all -i --json "$@" 2>/dev/null |
		jq -s '[.[].events[] | .selected_taken // .selected] | add // 0'
}

# copy NAME - a program of its own that touches
copy()
{
	cp "$touches" "$scratch/$1"
}

label()
{
	dcpictl --db "$db" label "$@"
}

# all_carry SENTENCE NAME LABEL LEAST - every sample of what ran as NAME carries LABEL, and there are LEAST
all_carry()
{
	local all labelled

	all=$(ask --comm "$2")
	labelled=$(ask --comm "$2" --label "$3")
	check_equal "$1" "$all samples of $2" "$labelled samples of $2"
	check "$1: $4 samples at least" test "$all" -ge "$4"
}

# Each process touches 100 pages, and faults some more until it does.
test_trees()
{
	local how

	for how in fork thread exec; do
		copy "$t-$how"
		label "$how" -- "$scratch/$t-$how" 100 $how
	done
	all_carry 'children and their children' $t-fork fork 200
	all_carry 'threads, and what they begin' $t-thread thread 200
	all_carry 'what executes itself' $t-exec exec 300
	check_equal 'JSON says which label was asked for' '"fork"' "$(dcpiprof --db "$db" --label fork --json | jq .label)"
	check_equal 'and nothing else carries a label' "$(($(ask --label fork) + $(ask --label thread) + $(ask --label exec)))" "$(ask --label '?*')"
}

test_daemons()
{
	copy $t-daemon
	label left -- "$scratch/$t-daemon" 100 daemon >"$scratch/said"
	wait_for 20 grep -q 'done' "$scratch/said"
	dcpictl --db "$db" flush
	all_carry 'a daemon that has left the tree' $t-daemon left 200
}

# Two streams of short runs, each of labels that alternate, and runs without one between them.
run_shortly()
{
	local i

	for ((i = 0; i < 60; i++)); do
		label "$1-a" -- "$scratch/$1-a" 20
		"$scratch/$1-none" 20
		label "$1-b" -- "$scratch/$1-b" 20 fork
	done
}

test_short_runs()
{
	local name wrong=0 all=0

	for name in $t-one-a $t-one-b $t-one-none $t-two-a $t-two-b $t-two-none; do
		copy "$name"
	done
	run_shortly $t-one &
	run_shortly $t-two
	wait $!
	dcpictl --db "$db" flush
	for name in $t-one-a $t-one-b $t-two-a $t-two-b; do
		all=$((all + $(ask --comm "$name")))
		wrong=$((wrong + $(ask --comm "$name") - $(ask --comm "$name" --label "$name") + $(ask --label "$name") - $(ask --comm "$name" --label "$name")))
	done
	check 'many short runs: samples of each' test $all -ge 4800
	check_equal 'many short runs: not one sample has another label' 0 $wrong
	check_equal 'nor have runs between them any' 0 "$(ask --comm "$t-*-none" --label '?*')"
	figure "240 short runs: $all samples with labels, $wrong with a wrong one, $(ask --comm "$t-*-none") of 120 runs between them"
	check_equal 'nor what ran them' 0 "$(ask --comm dcpictl --label '?*')"
	check 'which was sampled' test "$(ask --comm dcpictl)" -ge 100
}

test_command_line()
{
	local status

	check_equal 'the program has our standard streams' 'in: out' "$(echo out | label x -- sed 's/^/in: /')"
	label x -- sh -c 'exit 7'
	check_equal 'its exit status is ours' 7 $?
	label x -- sh -c 'kill -TERM $$'
	check_equal 'so is its signal' 143 $?
	check_fails 'a program that is not there' 127 'nosuch: cannot run it: No such file' label x -- nosuch
	check_fails 'one that cannot be executed' 126 'cannot run it: Permission denied' label x -- /etc
	check_fails 'a label that is none' 125 'the label may have neither' label a/b -- true
	check_fails 'no program' 2 'label LABEL -- PROGRAM' label x
	check_fails 'no dcpid, no program' 125 'dcpid is not running' dcpictl --db "$scratch" label x -- echo run
	check 'which is not run then' test -z "$(dcpictl --db "$scratch" label x -- echo run 2>/dev/null)"
	check_equal 'options behind the program are its own' '--json --db' "$(label x echo --json --db)"
	# shellcheck disable=SC2016 # for the shell that is run
	start dcpictl --db "$db" label x -- sh -c 'trap "exit 9" TERM; echo >"$0"; while :; do sleep 0.1; done' "$scratch/waits"
	wait_for 10 test -e "$scratch/waits"
	stop "$started"
	status=$?
	check_equal 'a signal that is sent to dcpictl goes to the program' 9 $status
}

as_nobody()
{
	setpriv --reuid=65534 --regid="$1" --clear-groups -- "$scratch/dcpictl" --db "$db" label "${@:2}"
}

test_users()
{
	local sleeper

	[ "$(id -u)" = 0 ] || {
		skip 'labels of other users' 'only root can become them'
		return
	}
	chmod 755 "$scratch" "$db"
	cp "$build/bin/dcpictl" "$scratch" # they may not look into ours
	check_fails 'who is not of the group may not label' 125 'cannot talk to dcpid: Permission denied (are you in group dcpi?)' as_nobody 65534 theirs -- true
	check_equal 'who is may, and the program is theirs' 65534 "$(as_nobody 0 theirs -- id -u)"
	start sleep 60
	sleeper=$started
	check_fails 'but not what is not theirs' 1 "process $sleeper is another user's" as_nobody 0 theirs --pid "$sleeper"
	start setpriv --reuid=65534 --regid=65534 --clear-groups sleep 60
	check 'their own they may' as_nobody 0 theirs --pid "$started"
	check 'root may label anything' label ours --pid "$started"
	stop "$started"
	check_fails 'that is there' 1 'there is no process 2147483647' label ours --pid 2147483647
	chmod 700 "$scratch"
}

# A shell that runs $scratch/NAME again and again, until it is stopped; sets $started.
keep_running()
{
	copy "$1"
	start dcpictl --db "$db" label "$1" -- sh -c "while :; do '$scratch/$1' 20; sleep 0.05; done"
	wait_for 20 more_than "$1" 0
}

more_than()
{
	dcpictl --db "$db" flush
	[ "$(ask --comm "$1" --label "$1")" -gt "$2" ]
}

# goes_on NAME SENTENCE - from now on, too
goes_on()
{
	check "$2" wait_for 20 more_than "$1" $(($(ask --comm "$1" --label "$1") + 100))
}

test_lasting()
{
	keep_running $t-last
	running=$started
	check_equal 'the status has the label' $t-last "$(dcpictl --db "$db" status --json | jq -r '.labels[].label')"
	check 'also for people' grep -q '^  labels .*'$t-last': [1-9]' <(dcpictl --db "$db" status)
	dcpictl --db "$db" epoch --label second >/dev/null
	goes_on $t-last 'a tree keeps its label in another epoch'
	sed -i 's/rate = 1000/rate = 900/' "$scratch/dcpid.conf"
	check 'other events are taken over' dcpictl --db "$db" reload
	goes_on $t-last 'when events change'
	stop "$daemon"
	start_dcpid "$db" --config "$scratch/dcpid.conf"
	daemon=$started
	goes_on $t-last 'when dcpid is started anew'
	stop "$daemon" KILL
	start_dcpid "$db" --config "$scratch/dcpid.conf"
	daemon=$started
	goes_on $t-last 'when it was killed'
	all_carry 'to the last sample' $t-last $t-last 500
	stop "$running"
	check 'the file that this takes goes with the last process' wait_for 20 test ! -e "$db/control.labels"
}

runs()
{
	dcpilabel --db "$db" "$@" 2>"$scratch/heard"
}

test_runs()
{
	copy $t-runs
	runs --runs 3 -q runs -- "$scratch/$t-runs" 200 fork >"$scratch/compared"
	check_equal 'a line for each run' 'runs.1: runs.2: runs.3: runs:' "$(cut -d ' ' -f 1 "$scratch/heard" | paste -sd ' ')"
	check 'then what differs between them' grep -q '^set 1 = .*set 3 = ' "$scratch/compared"
	for run in 1 2 3; do
		check "run $run has its samples" test "$(ask --comm $t-runs --label runs.$run)" -ge 200
	done
	check_fails 'labels that are there are not used again' 2 'runs.1: there is such a label already' dcpilabel --db "$db" runs true
	check 'but behind them' runs --runs 1 --first 4 runs true
	check 'or when that is wanted' runs --runs 2 --add --no-stats runs true
	check_fails 'the first that fails ends it' 1 'fails.1: ' dcpilabel --db "$db" fails false
	check_equal 'that and no other' 1 "$(runs fails2 false; wc -l <"$scratch/heard")"
	runs --runs 2 --json json -- "$scratch/$t-runs" 200 fork >"$scratch/json"
	check 'as JSON it is one object, of runs and of what differs' json_holds '.schema == "dcpilabel/1" and
		([.runs[] | [.label, .exit_status, .signal]] == [["json.1", 0, null], ["json.2", 0, null]]) and
		(.runs | all(.elapsed_s > 0 and .cpu_s > 0)) and .statistics.schema == "dcpistats/1"' "$scratch/json"
	# shellcheck disable=SC2016 # its own
	check_fails 'a run that is killed ends it also then' 137 'killed.1: ' \
		dcpilabel --db "$db" --json killed -- sh -c 'kill -9 $$'
	runs --json killed2 -- sh -c 'kill -9 $$' >"$scratch/json"
	check 'and is told' json_holds '[.runs[] | [.exit_status, .signal]] == [[null, 9]] and .statistics == null' "$scratch/json"
	check 'but if it is to go on' runs --runs 2 --keep-going --no-stats kept false
	check_equal 'with the others' 3 "$(wc -l <"$scratch/heard")"
	check_fails 'a name with wildcards' 2 'or have wildcards' dcpilabel --db "$db" 'a*' true
	check_fails 'no program' 2 'which name, and which program?' dcpilabel --db "$db" a
	check_fails 'a program that is not there' 127 'nosuch: cannot run it' dcpilabel --db "$db" nothing nosuch
}

# The same name again: other names, each of its own context, until there are 64 Ki of them.
test_many_contexts()
{
	local count

	copy $t-many
	# some more: a sample may be one that the kernel drops, where others fault at the same time
	label many -- "$scratch/$t-many" 1 rename 66500
	count=$(dcpictl --db "$db" status --json | jq .database.contexts)
	check "66,500 names under a label are 65,536 contexts at least: $count" test "$count" -ge 65536
	check_equal 'none is given up for another' 0 "$(ask --comm '(other)')"
	check 'each has its sample' test "$(ask --comm "$t-many-*" --label many)" -ge 65536
	check_equal 'and the label' "$(ask --comm "$t-many-*")" "$(ask --comm "$t-many-*" --label many)"
}

start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
daemon=$started
test_trees
test_daemons
test_short_runs
before=$(ask --label fork)
label fork -- "$scratch/$t-fork" 100 fork
check 'the same label again adds up' test "$(ask --label fork)" -ge $((before + 200))
test_command_line
test_users
test_runs
test_lasting
test_many_contexts
check_equal 'no record about processes was lost' 0 "$(dcpictl --db "$db" status --json | jq .sideband_lost)"
stop "$daemon"
check 'the database is whole' dcpictl --db "$db" check
