#!/bin/bash
# dcpimem_record.sh - dcpimem record of a process that was started with the tracker knows its objects, whenever it begins
# and however often; faults of pages that are given back and touched again are its samples, as those of NUMA balancing are
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

program=$build/workloads/objects/given_back
logs=$scratch/logs
balancing=/proc/sys/kernel/numa_balancing
mkdir "$logs"

# start COMMAND... - $process
start()
{
	"$@" >"$scratch/printed" 2>"$scratch/errors" &
	process=$!
}

end()
{
	kill -KILL "$process" 2>/dev/null
	wait "$process" 2>/dev/null
	[ -z "$before" ] || echo "$before" >"$balancing"
}

# record SECONDS [OPTION...] - report in $scratch/report, what it says in $scratch/said
record()
{
	dcpimem record --pid "$process" --seconds "$1" --source faults --no-db --json --output "$scratch/report" "${@:2}" \
		2>"$scratch/said"
}

# named - the object with most accesses, and its type
named()
{
	jq -r '.objects[0] | "\(.object | sub("[+].*"; "")) \(.type)"' "$scratch/report"
}

room()
{
	du -s --apparent-size "$logs" | cut -f1
}

of_a_process()
{
	local round before_rounds resident

	start env DCPI_OBJECTS="$logs" LD_PRELOAD="$build/lib/dcpi/libdcpi-objects.so" "$program"
	sleep 3 # some million objects: the log was full, and nobody has read it
	for round in first second third; do
		check "dcpimem records for the $round time" record 2
		check_equal 'and knows the object that was made before the log was full' 'make_pages char[]' "$(named)"
		check_equal 'all that is said is what is missing' '' "$(cat "$scratch/said")"
	done
	before_rounds=$(room)
	resident=$(awk '/VmRSS/ { print $2 }' /proc/$process/status)
	for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		record 0.2 || break
	done
	check_equal 'twenty more times in a loop' 20 "$round"
	check_equal 'take no more room on the disk' "$before_rounds" "$(room)"
	check_at_most '... nor in the process, MiB' 40 \
		$((($(awk '/VmRSS/ { print $2 }' /proc/$process/status) - resident) / 1024))
	record 4 &
	sleep 1.5
	dcpimem record --pid "$process" --seconds 1 --source faults --no-db --json --output "$scratch/second" 2>"$scratch/second.said"
	check_equal 'of two at once, the second says why its objects have no names' 1 \
		"$(grep -c 'another dcpimem reads the objects of 1 process: they have no names here' "$scratch/second.said")"
	wait $!
	check_equal '... and the first has them' 'make_pages char[]' "$(named)"
	dcpimem record --pid "$process" --source faults --no-db >/dev/null 2>&1 &
	sleep 1
	kill -KILL $!
	wait $! 2>/dev/null
	check 'after one that was killed, the next records' record 2
	check_equal '... and knows the objects' 'make_pages char[]' "$(named)"
	check_equal 'the program has noticed nothing' "alive ''" \
		"$([ -d /proc/$process ] && echo alive) '$(cat "$scratch/errors")'"
	end
}

# of_child HOW - of a process that has the object from the parent of its parent
of_child()
{
	local parent

	start env DCPI_OBJECTS="$logs" LD_PRELOAD="$build/lib/dcpi/libdcpi-objects.so" "$program" "$1"
	parent=$process
	sleep 2
	process=$(cat "$scratch/printed")
	check "$1: dcpimem records a child of a child" record 2
	check_equal '... and knows the object that was there before it, and no other' 'make_pages' \
		"$(jq -r '[.objects[] | select(.object | startswith("make_")) | .object | sub("[+].*"; "")] | join(" ")' "$scratch/report")"
	check_equal '... and has accesses to memory that has no name' true "$(jq 'any(.objects[]; .kind == "mapping")' "$scratch/report")"
	check_equal '... and has nothing to say' '' "$(cat "$scratch/said")"
	rm "$logs"/*."$parent".*
	check "$1: it records again" record 1
	check_equal '... and says that its parent'\''s log is gone' 1 \
		"$(grep -c 'the log of a parent is gone: what its child has from before the fork has no names' "$scratch/said")"
	end
}

of_another()
{
	start "$program"
	record 2
	check_equal 'of a process without the tracker it says so' 1 "$(grep -c 'was not started with the tracker' "$scratch/said")"
	check_equal '... and has its mappings' true "$(jq 'any(.objects[]; .kind == "mapping")' "$scratch/report")"
	end
}

before=$(cat "$balancing" 2>/dev/null)
trap end EXIT
if [ -z "$before" ] || ! echo 1 >"$balancing"; then
	skip 'a process that runs is recorded' 'NUMA balancing cannot be turned on here'
else
	of_a_process
	for how in waits daemon; do
		echo 1 >"$balancing"
		of_child $how
	done
	echo 1 >"$balancing"
	of_another
fi
[ $failures = 0 ]
