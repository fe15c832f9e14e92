#!/bin/bash
# freshness.sh - dcpid rests while it meets nothing new, and a tool that reads gets what is older than a flush interval
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'a tool asks for what is in memory' || exit 0
db=$scratch/db
printf 'flush_interval = 10; capture_limit_mib = 0; events = ( { name = "cpu-clock"; rate = 250; } );\n' \
	>"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
daemon=$started
start "$build/workloads/shares" 100

# status FILTER - of what dcpid says of itself, which causes no flush
status()
{
	dcpictl --db "$db" status --json | jq "$1"
}

# Seconds since the last flush.
age()
{
	echo $(($(date +%s) - $(date -d "$(dcpictl --db "$db" status --json | jq -r .last_flush.at)" +%s)))
}

dcpictl --db "$db" flush
before=$(status .totals.flushes)
for _ in 1 2 3 4 5; do
	dcpiprof --db "$db" >/dev/null
done
check 'tools that read soon after a flush cause none' test "$(status .totals.flushes)" -le $((before + 1))
for round in first second; do
	sleep 11
	dcpiprof --db "$db" >"$scratch/report"
	check "the $round one after eleven seconds has what was sampled up to now" test "$(age)" -le 10
done
check 'and says so' grep -q shares "$scratch/report"

sleep 11
kill -STOP "$daemon"
SECONDS=0
check 'where dcpid does not answer, the database is read as it is' dcpiprof --db "$db"
check '... within some seconds' test "$SECONDS" -le 8
kill -CONT "$daemon"
