#!/bin/sh
# guest.sh NAME - what try-pmu runs in its guest: dcpid on the PMU, under several configurations
#
# The shell is busybox's. A collection C leaves /host/C.log (of dcpid), C.status and C.json (of dcpictl and dcpiprof),
# C.txt, and in C.interrupts how often the PMU had interrupted before dcpid began and after it ended.
# While the guest waits for a file of the host, its time flies: all is written to memory, and taken out at the end.
boot=$1
out=/tmp/out
mkdir $out

# Those of the PMU, of both CPUs.
interrupts()
{
	awk '$NF == "arm-pmu" { print $2 + $3 }' /proc/interrupts
}

# Interrupts take long here, and the kernel would lower its limit of them by itself. It takes a rate only while the share
# of time is neither 0 nor 100.
limit_rate()
{
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
	echo "$1" >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# start_dcpid NAME CONFIGURATION OPTION... - sets $daemon
start_dcpid()
{
	db=/tmp/$1
	mkdir "$db"
	printf '%s\n' "$2" >"$db.conf"
	interrupts >"$out/$1.interrupts"
	log=$out/$1.log
	shift 2
	dcpid --foreground --db "$db" --config "$db.conf" "$@" 2>"$log" &
	daemon=$!
	until dcpictl --db "$db" status >/dev/null 2>&1; do
		kill -0 $daemon || return
		sleep 0.1
	done
}

# report NAME EPOCH - when dcpid has ended
report()
{
	interrupts >>"$out/$1.interrupts"
	dcpiprof --db "/tmp/$1" --epoch "$2" --json >"$out/$1.json"
	dcpiprof --db "/tmp/$1" --epoch all --json >"$out/$1.all"
	dcpiprof --db "/tmp/$1" --epoch "$2" --limit 40 | cat >"$out/$1.txt"
	dcpictl --db "/tmp/$1" check >"$out/$1.check" 2>&1
}

# collect NAME CONFIGURATION COMMAND... - what is counted while the command runs is epoch `work`
collect()
{
	name=$1
	start_dcpid "$1" "$2" || return
	shift 2
	dcpictl --db "/tmp/$name" epoch --label work >/dev/null
	"$@"
	dcpictl --db "/tmp/$name" flush >/dev/null
	dcpictl --db "/tmp/$name" status --json >"$out/$name.status"
	dcpictl --db "/tmp/$name" epoch --label after >/dev/null
	dcpictl --db "/tmp/$name" quit >/dev/null
	wait $daemon
	report "$name" work
}

# shares NAME SECONDS - and the CPU time it took, to NAME.time
shares()
{
	busybox time -f '%U %S' /workloads/shares "$2" 2>"$out/$1.time"
}

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

# As the service does: 12 seconds with the default configuration. lz4 is loaded before dcpid; zstd when dcpid has begun;
# lz4hc, at last, in the place where zstd was.
default_configuration()
{
	modprobe zram num_devices=3
	modprobe lz4
	start_dcpid default '' --seconds 12 || return
	modprobe zstd
	shares default 8 &
	one=$!
	/workloads/kernel_work 8 &
	two=$!
	compress zram0 lz4 2
	compress zram1 zstd 3
	wait $one $two
	dcpictl --db /tmp/default status --json >$out/default.status
	dcpictl --db /tmp/default flush >/dev/null # which takes down the names of zstd
	modprobe -r zstd
	modprobe lz4hc
	compress zram2 lz4hc 3 &
	wait $daemon
	wait
	report default latest
	dcpiprof -i --db /tmp/default --json >$out/default.images
	mkdir $out/default.db
	cp /tmp/default/data.mdb $out/default.db
}

# dcpid cannot take samples for a while: what its rings do not hold is lost.
held_up()
{
	kill -STOP "$daemon"
	/workloads/shares 3
	kill -CONT "$daemon"
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
	start_processes 5 &
	start_processes 5
	wait $!
	awk '$1 == "processes" { print $2 }' /proc/stat >$out/storm.processes
}

parallel()
{
	shares "$1" 6 &
	/workloads/library_user 6
	wait $!
}

grep ' _stext$' /proc/kallsyms >$out/stext
dmesg | grep -E 'perfevents|KASLR' >$out/dmesg
limit_rate 100000
case $boot in
counted)
	default_configuration
	collect rate 'events = ( { name = "cycles"; rate = 977; } );' shares rate 4
	collect instructions 'events = ( { name = "cycles"; period = 1000003; }, { name = "instructions"; period = 250007; },
		{ name = "cache-misses"; period = 1009; }, { name = "LLC-load-misses"; rate = 100; } );' shares instructions 4
	collect raw 'events = ( { name = "r11"; period = 1000003; precise = 3; }, { name = "r08"; period = 500009; },
		{ name = "armv8_pmuv3/event=0x11/"; period = 1000003; },
		{ name = "armv8_pmuv3/cpu_cycles/"; period = 1000003; }, { name = "cycles:u"; period = 1000003; } );' shares raw 3
	collect lost 'events = ( { name = "cycles"; period = 1000003; } ); ring_kib = 16;' held_up
	limit_rate 1000
	collect throttled 'events = ( { name = "cycles"; period = 100003; }, { name = "instructions"; rate = 4000; } );' \
		shares throttled 2
	;;
threads)
	collect parallel '' parallel parallel
	collect storm '' storm
	;;
esac
cp -r $out/. /host
