#!/bin/bash
# hung_mount.sh - dcpid never waits for a file system that hangs
#
# The first part runs a program from a FUSE file system (hung_mount.c), which then hangs: an open, lookup or stat of
# its files never returns. dcpid starts after that. It has to be ready within a second, to flush, and to give samples to
# both that program and another one. The image on the hung file system has no build-id then, but has its path.
#
# The second part runs processes that make code at run time (code_maker.c). dcpid looks for the names of such code in
# the /tmp/perf-PID.map of each process, and here their /tmp is a FUSE file system on which one kind of request for that
# file hangs: lookup, stat, open, read or flush. dcpid has to start, flush, answer and end in time all the same, and
# code of processes with a /tmp that works has to get its names meanwhile. Code whose map hangs keeps an image without
# names.
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

# counted COMM IMAGE - how many samples processes called COMM have in the image with the path IMAGE
#
# dcpicat only reads the database. dcpiprof would open the image to name its procedures, and hang.
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
sleep 0.5 # until all that the program executes is in the page cache, so that it goes on when its file system hangs
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
kill "$mount" "${started_pids[1]}" "${started_pids[2]}"

# ---- code made at run time ----

db=$scratch/code
declare -A mounts

# milliseconds COMMAND... - print how long the command takes, or nothing when it fails
milliseconds()
{
	local began=${EPOCHREALTIME/./}

	timeout 20 "$@" >/dev/null 2>&1 && echo $(((${EPOCHREALTIME/./} - began) / 1000))
}

# mount_for NAME [REQUEST] - start a process NAME that makes code, with a /tmp on which a REQUEST for its map hangs
#
# Without REQUEST it hangs only after SIGUSR1 to ${mounts[NAME]}. The process writes no map ("none"): the file system
# has one of every name. $started is the process.
mount_for()
{
	mkdir "$scratch/tmp.$1"
	start "$build/tests/system/hung_mount" "$build/workloads/code_maker" "$scratch/tmp.$1" "${@:2}" >"$scratch/tmp.$1.said"
	mounts[$1]=$started
	wait_for 10 grep -q ready "$scratch/tmp.$1.said" || return
	cp "$build/workloads/code_maker" "$scratch/$1"
	# shellcheck disable=SC2016 # the inner shell's
	start nice -n 19 unshare --mount sh -c 'mount --bind "$0" /mnt && mount --bind "$1" /tmp && exec "/mnt/$2" none 3600' \
		"$scratch" "$scratch/tmp.$1" "$1"
}

# named NAME [PROCEDURE] - how many samples PROCEDURE has in the code that process NAME made; without it, all that code
named()
{
	dcpiprof --db "$db" --json 2>/dev/null | jq -r --arg image "[jit:$1]" --arg name "${2:-}" \
		'[.rows[] | select(.image == $image and ($name == "" or .procedure == $name)) | .counts[]] | add // 0'
}

# has_names NAME - does the code that process NAME made have samples under the name that its map gives it?
has_names()
{
	[ "$(named "$1" 'hot loop')" -gt 0 ]
}

# keeps_map PID - does dcpid, which is a child of ready_time ($daemon), hold the map of that process open?
keeps_map()
{
	find "/proc/$(pgrep -P "$daemon")/fd" -lname "*/perf-$1.map" | grep -q .
}

for question in lookup stat open read flush; do
	mount_for "hung_$question" "$question"
done
mount_for late
late=$started
cp "$build/workloads/code_maker" "$scratch/by_map"
start nice -n 19 "$scratch/by_map" map 3600
made=(/tmp/perf-"$started".map)

start "$build/tests/system/ready_time" dcpid --foreground --db "$db" >"$scratch/ready" 2>"$scratch/log"
daemon=$started
wait_for 20 test -s "$scratch/ready"
check_at_most 'beside processes whose maps do not answer it is ready within a second' 1000 "$(cat "$scratch/ready")"
sleep 1 # until dcpid has met samples in that code, and a child of dcpid hangs as it looks for the maps
check_at_most 'and answers within half a second' 500 "$(milliseconds dcpictl --db "$db" status)"
check_at_most 'and flushes within a second' 1000 "$(milliseconds dcpictl --db "$db" flush)"
check 'code of another process has its names' wait_for 30 has_names by_map
check 'a map that answers is kept' wait_for 30 keeps_map "$late"
kill -USR1 "${mounts[late]}"
cp "$build/workloads/code_maker" "$scratch/another"
start nice -n 19 "$scratch/another" map 3600
made+=(/tmp/perf-"$started".map)
sleep 1
check_at_most 'it flushes as fast when one that it keeps does not answer any more' 1000 \
	"$(milliseconds dcpictl --db "$db" flush)"
check 'code of a process that comes later has its names, too' wait_for 40 has_names another
dcpictl --db "$db" flush
for question in lookup stat open read flush; do
	check_at_least "code of the process whose map hangs ($question) is its own" 1 "$(named "hung_$question")"
done
sed -n 's/.*the file system of device \([0-9:]*\) does not answer: code that.*/\1/p' "$scratch/log" >"$scratch/said"
check_at_least 'it says of which file systems maps are not to be had' 4 "$(sort -u "$scratch/said" | wc -l)"
check_equal 'of each once' '' "$(sort "$scratch/said" | uniq -d)"
check_equal 'nothing is lost' 0 "$(dcpictl --db "$db" status --json | jq '.sideband_lost + .totals.lost')"
began=$SECONDS
stop "$daemon"
check_equal 'it ends well' 0 $?
check_at_most 'and soon' 10 $((SECONDS - began))
kill "${mounts[@]}"
rm -f "${made[@]}"
