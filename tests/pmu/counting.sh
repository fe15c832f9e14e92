# shellcheck shell=sh
# counting.sh - in the guest: several events, by period and by rate, and what cannot be had
# shellcheck source=tests/pmu/collect.sh
. /host/collect.sh

# dcpid cannot take samples for a while: what its rings do not hold is lost.
held_up()
{
	kill -STOP "$daemon"
	/workloads/shares 2
	kill -CONT "$daemon"
}

# Until dcpid has seen that the kernel's limit sank.
sinking()
{
	shares lowered 2
	sleep 12
}

limit_rate 100000
collect rate 'events = ( { name = "cycles"; rate = 977; } );' shares rate 3
collect instructions 'events = ( { name = "cycles"; period = 1000003; }, { name = "instructions"; period = 250007; },
	{ name = "cache-misses"; period = 1009; }, { name = "LLC-load-misses"; rate = 100; } );' shares instructions 2
# 37 instructions a turn: some 7,400 samples of instructions, and as many of cycles.
collect retired 'events = ( { name = "cycles"; period = 400009; }, { name = "instructions"; period = 100003; } );' \
	/workloads/odds 0 20000000 >/dev/null
collect raw 'events = ( { name = "r11"; period = 1000003; precise = 3; }, { name = "r08"; period = 500009; },
	{ name = "armv8_pmuv3/event=0x11/"; period = 1000003; },
	{ name = "armv8_pmuv3/cpu_cycles/"; period = 1000003; }, { name = "cycles:u"; period = 1000003; } );' shares raw 2
collect multiplexed 'events = ( { name = "cycles"; period = 1000003; }, { name = "r11"; period = 1000003; },
	{ name = "armv8_pmuv3/event=0x11/"; period = 1000003; }, { name = "armv8_pmuv3/cpu_cycles/"; period = 1000003; },
	{ name = "cycles:u"; period = 1000003; }, { name = "instructions"; period = 500009; },
	{ name = "r08"; period = 500009; }, { name = "armv8_pmuv3/event=0x08/"; period = 500009; },
	{ name = "armv8_pmuv3/inst_retired/"; period = 500009; }, { name = "instructions:u"; period = 500009; } );' \
	shares multiplexed 3
collect lost 'events = ( { name = "cycles"; period = 500009; } ); ring_kib = 16;' held_up
# The text of the kernel comes some flushes after its first samples, and in this guest a process is dear.
explained()
{
	/workloads/kernel_work 3
	sleep 25
	dcpictl --db /tmp/kernel flush
	sleep 3
}
collect kernel 'flush_interval = 2; overhead_limit = 30.0; events = ( { name = "cycles"; rate = 400; } );' explained
limit_rate 1000
collect throttled 'events = ( { name = "cycles"; period = 100003; }, { name = "instructions"; rate = 4000; } );' \
	shares throttled 1
# As it is after boot: the kernel lowers its limit by itself when it finds that interrupts take long.
echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate
collect lowered 'events = ( { name = "cycles"; rate = 20000; } );' sinking
cat /proc/sys/kernel/perf_event_max_sample_rate >"$out/lowered.limit"
take_out
