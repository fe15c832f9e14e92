#!/bin/bash
# memory.sh - among 500 processes, after thousands that came and went, dcpid has no more memory than before them
#
# What each process leaves behind shows in the second storm: after the first, heap and tables have their size. 512 KiB
# over 10,000 processes are 52 bytes each; the least that is remembered of one is larger. The limit of resident memory is for
# 250 samples/s: at 5,200/s a storm beside builds takes more (docs/benchmarks.md).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'memory stays as it is in a storm of processes' || exit 0

# in_status FILTER
in_status()
{
	dcpictl --db "$scratch/db" status --json | jq "$1"
}

# In two shells at once: pids and maps of both are mixed.
storm()
{
	local i

	for _ in 1 2; do
		for ((i = 0; i < $1 / 2; i++)); do
			/bin/true
		done &
		storms+=($!)
	done
	wait "${storms[@]}"
	storms=()
}

# Those that ended are remembered for a second.
settled()
{
	[ "$(in_status .processes)" -lt 2000 ]
}

# measure - sets $own and $resident, in KiB
measure()
{
	sleep 2
	wait_for 20 settled
	dcpictl --db "$scratch/db" flush >/dev/null
	read -r own resident < <(in_status '"\(.own_bytes / 1024) \(.rss_bytes / 1024)"' | tr -d '"')
}

storms=()
printf 'flush_interval = 1;\nevents = ( { name = "cpu-clock"; rate = 250; }, { name = "page-faults"; period = 1009; } );\n' \
	>"$scratch/dcpid.conf"
for _ in $(seq 500); do
	start sleep 1000
done
start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
dcpid=$started
storm 5000
measure
first=$own
storm 10000
measure
figure "own memory $first KiB after 5,000 processes, $own KiB after 15,000; resident $resident KiB;" \
	"$(in_status '[.processes, .mappings, .images, .contexts, .totals.samples]' | tr -d ' \n')"
check_at_most 'another 10,000 processes leave less than 512 KiB behind' 512 $((own - first))
check_at_most 'resident memory is at most 24 MiB among 500 processes, at 250 samples/s' 24576 "$resident"
check_equal 'no sample is lost' 0 "$(in_status .totals.lost)"
stop "$dcpid"
