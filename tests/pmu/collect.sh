# shellcheck shell=sh
# collect.sh - what the scripts of the guest share: collections by dcpid under some configuration
#
# The shell is busybox's. A collection C leaves /host/C.db (its database), C.log (of dcpid), C.status (of dcpictl), and
# in C.interrupts how often the PMU had interrupted before dcpid began and after it ended. While the guest waits for a
# file of the host, its time flies: all is written to memory, and taken out at the end by `take_out`.
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

# start_dcpid NAME CONFIGURATION OPTION... - sets $daemon. Where it is configured otherwise, the PMU counts no stacks unless
# they are configured, too.
start_dcpid()
{
	db=/tmp/$1
	mkdir "$db"
	printf '%s\n' "$2" >"$db.conf"
	case $2 in
	'' | *stacks*) ;;
	*) echo 'stacks = { rate = 0; };' >>"$db.conf" ;;
	esac
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

# finish NAME - when dcpid has ended
finish()
{
	interrupts >>"$out/$1.interrupts"
	mkdir "$out/$1.db"
	cp "/tmp/$1/data.mdb" "$out/$1.db"
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
	finish "$name"
	read -r up _ </proc/uptime
	echo "$name: done at $up s"
}

# shares NAME SECONDS - and the CPU time it took, to NAME.time
shares()
{
	busybox time -f '%U %S' /workloads/shares "$2" 2>"$out/$1.time"
}

take_out()
{
	cp -r $out/. /host
}
