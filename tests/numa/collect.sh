# shellcheck shell=sh
# collect.sh - what the scripts of the guests with NUMA balancing share
#
# The shell is busybox's. While the guest waits for a file of the host, its time flies: all is written to memory, and taken
# out at the end by `take_out`.
#
# With huge pages, Linux marks 2 MiB at once, and the first access to them is all that is seen: objects here are too small
# for that.
out=/tmp/out
mkdir $out
echo never >/sys/kernel/mm/transparent_hugepage/enabled
mount -t debugfs debug /sys/kernel/debug

# mark_each MS - Linux marks the pages of a process each second of its time, and later less often, up to a minute: now each MS,
# as dcpimem(1) says that root can have it
mark_each()
{
	echo "$1" >/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
}

# observe NAME COMMAND... - what dcpimem reports is in NAME.json, what it and the command said in NAME.out and NAME.err, the
# status in NAME.status
observe()
{
	name=$1
	shift
	dcpimem run --quiet --json --output "$out/$name.json" --db /tmp/db -- "$@" >"$out/$name.out" 2>"$out/$name.err"
	echo $? >"$out/$name.status"
	read -r up _ </proc/uptime
	echo "$name: done at $up s"
}

# objects PROGRAM NAME LOOPS MIB - four threads
objects()
{
	observe "$2" "/workloads/objects/$1" "$2" plain 4 "$3" "$4" time
}

# hinting_faults POLICY - for 6 s
hinting_faults()
{
	/workloads/hinting_faults "$1" 6 16 >"$out/faults_$1"
}

take_out()
{
	cp -r $out/. /host
}
