#!/bin/bash
# many_processes.sh - dcpid is ready within a second where 10,000 processes run, and then knows each of them
#
# Reading what they map takes longer than that: a child of dcpid reads on while samples are taken already.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

count=10000
db=$scratch/db

status_of()
{
	dcpictl --db "$db" status --json | jq -r "$1"
}

status_holds()
{
	[ "$(status_of "$1")" = true ]
}

may_sample_or_skip 'dcpid is ready within a second with 10,000 processes' || exit 0
[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -gt $((count + 2000)) ] || {
	skip 'dcpid is ready within a second with 10,000 processes' 'so many processes are not allowed'
	exit 0
}

# Processes are read in the order of their numbers. A sample waits until its process is read; a call stack does not, and is
# unknown. So what runs comes first here: numbers that begin anew between it and the others would make it the last.
[ "$(cat /proc/sys/kernel/pid_max)" -gt 100000 ] || echo 2000 2>/dev/null >/proc/sys/kernel/ns_last_pid
# Runs from before dcpid, as the others do, and is sampled at once; its text is its own.
build_of_its_own "$build/workloads/shares" "$scratch/busy"
start "$scratch/busy" 3600 >"$scratch/busy.out"
busy=$started
start "$build/tests/system/many_processes" $count >"$scratch/many"
many=$started
check 'all processes run' wait_for 60 grep -q ready "$scratch/many"

start "$build/tests/system/ready_time" dcpid --foreground --db "$db" >"$scratch/ready" 2>"$scratch/log"
daemon=$started
check 'it says that it is ready' wait_for 60 test -s "$scratch/ready"
figure "ready with $count processes after $(cat "$scratch/ready") ms"
check_at_most 'within a second' 1000 "$(cat "$scratch/ready")"
check 'then all processes are read' wait_for 60 status_holds ".proc.scans == 1 and .processes >= $count"
check_at_least 'and their mappings are known' $((count * 24)) "$(status_of .mappings)"
check_equal 'no ring overflowed meanwhile' 0 "$(status_of '.sideband_lost + .totals.lost')"
check_equal 'no process is left out' 0 "$(status_of .proc.unread)"
kill "$busy"
check 'what was counted is written' dcpictl --db "$db" flush
check_at_least 'a program that ran already has its samples' 100 \
	"$(dcpiprof --db "$db" --comm busy --json | jq '.events[0].selected')"
figure "$(status_of .totals.samples) samples, $(status_of .totals.unknown) unknown: $(status_of '[.events[].unknown]' | tr -d ' \n')"
check_at_most 'percent of all samples are unknown' 1 "$(status_of '100 * .totals.unknown / .totals.samples')"
kill "$many"
stop "$daemon"
check_equal 'it ends well' 0 $?
