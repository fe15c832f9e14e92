# shellcheck shell=bash
# soak_loads.sh - what bench/soak does to dcpid: each function goes on until it is killed

# Globals of tests/system/lib.sh and soak:
# shellcheck disable=SC2154

did()
{
	echo "$1" >>"$events"
}

storm_of_processes()
{
	while :; do
		/bin/true
	done
}

churn_of_images()
{
	mkdir -p "$scratch/images"
	while "$build/workloads/image_churn" "$(every 2 360)" "$scratch/images" "$build/workloads/libburn_a.so" >>"$scratch/churned"; do
		:
	done
}

# The directory in which control groups can be made, as dcpid sees them; nothing when there is none.
cgroup_directory()
{
	local directory

	for directory in /sys/fs/cgroup/perf_event /sys/fs/cgroup/unified /sys/fs/cgroup; do
		[ -e "$directory/cgroup.procs" ] || continue
		mkdir "$directory/dcpi-soak-try" 2>/dev/null || return
		rmdir "$directory/dcpi-soak-try"
		echo "$directory"
		return
	done
}

churn_of_cgroups()
{
	local parent group i=0

	parent=$(cgroup_directory)
	[ -n "$parent" ] || return
	while :; do
		group=$parent/dcpi-soak-$((++i))
		mkdir "$group" || return
		sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" --burn 0.02' - "$group" "$build/workloads/image_churn"
		rmdir "$group" && did cgroup
		sleep 0.2
	done
}

flushes()
{
	while sleep 3; do
		dcpictl --db "$db" flush && did flush
	done
}

epochs()
{
	while sleep "$(every 3 60)"; do
		dcpictl --db "$db" epoch --label soak && did epoch
	done
}

readers()
{
	while sleep 1; do
		dcpiprof --db "$db" --epoch all >/dev/null && did reader
	done
}

# Stopped wherever it is, for longer than many flushes take, and let go.
stopped_readers()
{
	local reader

	while sleep 1; do
		dcpiprof --db "$db" --epoch all >/dev/null &
		reader=$!
		sleep "0.0$((RANDOM % 9 + 1))"
		kill -STOP $reader 2>/dev/null && did stopped
		sleep "$(every 3 180)"
		kill -CONT $reader 2>/dev/null
		wait $reader
	done
}

set_cpu()
{
	echo "$1" >/sys/devices/system/cpu/cpu1/online
}

go_and_come()
{
	trap 'set_cpu 1' EXIT
	trap 'exit 1' TERM
	set_cpu 0 && did hotplug
	sleep 2
	set_cpu 1
}

hotplug_of_cpus()
{
	[ -w /sys/devices/system/cpu/cpu1/online ] || return
	while sleep "$(every 5 60)"; do
		(
			exec 9>"${SOAK_HOTPLUG_LOCK:-$scratch/hotplug.lock}"
			flock 9
			go_and_come
		)
	done
}

compactions()
{
	while sleep "$(every 5 40)"; do
		dcpictl --db "$db" compact && did compact
	done
}

# Each is a process group of its own, to be ended whole.
start_load()
{
	set -m
	"$@" >/dev/null 2>>"$scratch/loads.log" &
	set +m
	[ "$nice" = 0 ] || renice -n "$nice" -g "$!" >/dev/null
	started_pids+=("-$!")
	load_groups+=("-$!")
}

start_loads()
{
	local load

	for load in storm_of_processes churn_of_images churn_of_cgroups flushes epochs readers stopped_readers compactions; do
		start_load $load
	done
	[ -z "$hotplug" ] || start_load hotplug_of_cpus
}

end_loads()
{
	local group

	for group in "${load_groups[@]}"; do
		kill -CONT -- "$group" 2>/dev/null
		kill -TERM -- "$group" 2>/dev/null
		wait "${group#-}" 2>/dev/null
	done
	load_groups=()
	for group in "$(cgroup_directory)"/dcpi-soak-*; do
		[ ! -d "$group" ] || rmdir "$group"
	done
}
