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

limit_rate 100000
collect rate 'events = ( { name = "cycles"; rate = 977; } );' shares rate 3
collect instructions 'events = ( { name = "cycles"; period = 1000003; }, { name = "instructions"; period = 250007; },
	{ name = "cache-misses"; period = 1009; }, { name = "LLC-load-misses"; rate = 100; } );' shares instructions 2
collect raw 'events = ( { name = "r11"; period = 1000003; precise = 3; }, { name = "r08"; period = 500009; },
	{ name = "armv8_pmuv3/event=0x11/"; period = 1000003; },
	{ name = "armv8_pmuv3/cpu_cycles/"; period = 1000003; }, { name = "cycles:u"; period = 1000003; } );' shares raw 2
collect lost 'events = ( { name = "cycles"; period = 500009; } ); ring_kib = 16;' held_up
limit_rate 1000
collect throttled 'events = ( { name = "cycles"; period = 100003; }, { name = "instructions"; rate = 4000; } );' \
	shares throttled 1
take_out
