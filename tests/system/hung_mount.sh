#!/bin/bash
# hung_mount.sh - a file system that does not answer costs dcpid a build-id, and nobody else anything
#
# Two programs run from a FUSE file system that then stops answering: opens, lookups and stats of its files never come
# back. dcpid starts, is ready, flushes, and names everybody: what ran already there is known by its path.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db
tell='a file system that does not answer delays nobody'

status_of()
{
	dcpictl --db "$db" status --json | jq -r "$1"
}

status_holds()
{
	[ "$(status_of "$1")" = true ]
}

may_sample_or_skip "$tell" || exit 0
mkdir "$scratch/mnt"
build_of_its_own "$build/workloads/shares" "$scratch/victim"
start "$build/tests/system/hung_mount" "$scratch/victim" "$scratch/mnt" >"$scratch/mounted" 2>&1
mount=$started
wait_for 10 grep -q ready "$scratch/mounted" || {
	skip "$tell" "not allowed to mount one: $(cat "$scratch/mounted")"
	exit 0
}

# counted COMM IMAGE - samples of that image in processes of that name; names would have to be read from the image
counted()
{
	dcpicat --db "$db" --comm "$1" | awk -v path="$2" '
		/^image / { is_it = $2 == path }
		/^samples / && is_it { print $2; found = 1 }
		END { if (!found) print 0 }'
}

build_of_its_own "$build/workloads/shares" "$scratch/other"
start "$scratch/mnt/program" 3600 >"$scratch/victim.out"
start "$scratch/other" 3600 >"$scratch/other.out"
sleep 0.5 # what it executes is in the page cache then
kill -USR1 "$mount"
wait_for 10 grep -q hung "$scratch/mounted"

start "$build/tests/system/ready_time" dcpid --foreground --db "$db" >"$scratch/ready" 2>"$scratch/log"
daemon=$started
check 'it is ready' wait_for 20 test -s "$scratch/ready"
check_at_most 'within a second' 1000 "$(cat "$scratch/ready")"
check 'it says which file system does not answer' wait_for 20 grep -q 'file system of device .* does not answer' "$scratch/log"
check 'all processes are read' wait_for 20 status_holds '.proc.scans == 1'
check_at_least 'what hung is counted' 1 "$(status_of .proc.hung)"
check_equal 'no process is without mappings for it' 0 "$(status_of .proc.unread)"
check 'a flush is answered' timeout 20 dcpictl --db "$db" flush
check_at_least 'the program on the hung file system has samples, under its path' 50 \
	"$(counted program "$scratch/mnt/program")"
check_at_least 'another has its own' 50 "$(counted other "$scratch/other")"
sleep 1
check 'another flush is answered' timeout 20 dcpictl --db "$db" flush
check_equal 'nothing is lost' 0 "$(status_of '.sideband_lost + .totals.lost')"
stop "$daemon"
check_equal 'it ends well' 0 $?
kill "$mount"
