# shellcheck shell=sh
# right.sh - in the guest: what the samples of `cycles` say
# shellcheck source=tests/pmu/collect.sh
. /host/collect.sh

# compress DEVICE ALGORITHM SECONDS - the work is done by the module of the algorithm
compress()
{
	echo "$2" >"/sys/block/$1/comp_algorithm"
	echo 64M >"/sys/block/$1/disksize"
	end=$(($(date +%s) + $3))
	while [ "$(date +%s)" -lt $end ]; do
		dd if=/lib/aarch64-linux-gnu/libc.so.6 of="/dev/$1" bs=64k oflag=direct 2>/dev/null
	done
	echo 1 >"/sys/block/$1/reset"
}

# As the service does: 8 seconds with the default configuration. lz4 is loaded before dcpid; zstd when dcpid has begun;
# lz4hc, at last, in the place where zstd was.
default_configuration()
{
	modprobe zram num_devices=3
	modprobe lz4
	start_dcpid default '' --seconds 8 || return
	modprobe zstd
	shares default 5 &
	one=$!
	/workloads/kernel_work 4 &
	two=$!
	compress zram0 lz4 2
	compress zram1 zstd 2
	wait "$one" "$two"
	dcpictl --db /tmp/default status --json >"$out/default.status"
	dcpictl --db /tmp/default doctor --json >"$out/doctor.json"
	dcpictl --db /tmp/default flush >/dev/null # which takes down the names of zstd
	modprobe -r zstd
	modprobe lz4hc
	compress zram2 lz4hc 2 &
	wait "$daemon"
	wait
	dcpiprof --db /tmp/default --json >"$out/default.json"
	dcpiprof --db /tmp/default --limit 40 | cat >"$out/default.txt"
	dcpictl --db /tmp/default check >"$out/default.check" 2>&1
	finish default
}

# start_processes SECONDS
start_processes()
{
	end=$(($(date +%s) + $1))
	while [ "$(date +%s)" -lt $end ]; do
		/workloads/shares 0
		/workloads/shares_static 0
	done
}

storm()
{
	before=$(awk '$1 == "processes" { print $2 }' /proc/stat)
	start_processes 2 &
	start_processes 2
	wait "$!"
	echo $(($(awk '$1 == "processes" { print $2 }' /proc/stat) - before)) >"$out/storm.processes"
}

# cpus_are LIST - wait until dcpid samples these, at most a minute
cpus_are()
{
	tries=120
	until dcpictl --db /tmp/hotplug status --json | grep -q "\"cpus\": \"$1\""; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.5
	done
	echo "$1" >>"$out/hotplug.cpus"
}

# alone_on CPU NAME - shares, under that name
alone_on()
{
	cp /workloads/shares "/tmp/$2"
	busybox time -f '%U %S' taskset -c "$1" "/tmp/$2" 1 2>"$out/$2.time"
}

# CPU 1 goes and comes back.
hotplug()
{
	alone_on 1 before
	echo 0 >/sys/devices/system/cpu/cpu1/online
	cpus_are 0
	alone_on 0 without
	echo 1 >/sys/devices/system/cpu/cpu1/online
	cpus_are 0-1
	alone_on 1 after
}

# known_stacks SECONDS - of call_tree, and of shares
known_stacks()
{
	/workloads/call_tree "$1" /workloads/libburn_a.so
	/workloads/shares 3
}

# Once the unwind tables are there: to make one takes seconds here, and a caller's is made after that of what it calls.
# While all sleep, time flies.
stacked()
{
	known_stacks 4
	sleep 25
	known_stacks 4
	tries=120
	until dcpictl --db /tmp/stacked status --json | tr -d '\n' | grep -q '"unwind": {[^}]*"waiting": 0'; do
		[ $((tries -= 1)) -gt 0 ] || break
		sleep 1
	done
	dcpictl --db /tmp/stacked epoch --label measured >/dev/null
	known_stacks 22
}

grep ' _stext$' /proc/kallsyms >"$out/stext"
dmesg | grep -E 'perfevents|KASLR' >"$out/dmesg"
limit_rate 100000
default_configuration
collect storm '' storm
collect stacked 'overhead_limit = 50.0; stacks = { rate = 99; }; events = ( { name = "cycles"; period = 10000019; } );' stacked
collect hotplug 'events = ( { name = "cycles"; period = 1000003; } );' hotplug
take_out
