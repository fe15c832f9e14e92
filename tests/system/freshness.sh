#!/bin/bash
# freshness.sh - dcpid rests while it meets nothing new, and a tool that reads gets what is older than a flush interval
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'a tool asks for what is in memory' || exit 0
member=64998
group=64999
db=$scratch/db
chmod a+x "$scratch"

as_member()
{
	setpriv --reuid=$member --regid=$group --clear-groups "$@"
}

printf 'flush_interval = 10; capture_limit_mib = 0; events = ( { name = "cpu-clock"; rate = 250; } );\n' \
	>"$scratch/dcpid.conf"
if as_member true 2>/dev/null; then
	start setpriv --regid=$group --clear-groups "$(command -v dcpid)" --foreground --db "$db" \
		--socket "$db/control" --config "$scratch/dcpid.conf" 2>"$db.log"
else
	start_dcpid "$db" --config "$scratch/dcpid.conf"
fi
daemon=$started
wait_for 20 dcpictl --db "$db" flush || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
start "$build/workloads/shares" 100

flushes()
{
	dcpictl --db "$db" status --json | jq .totals.flushes
}

# Seconds since the last flush.
age()
{
	echo $(($(date +%s) - $(date -d "$(dcpictl --db "$db" status --json | jq -r .last_flush.at)" +%s)))
}

# The timer may flush in between once, when the machine has begun a program.
before=$(flushes)
for _ in 1 2 3 4 5; do
	dcpiprof --db "$db" >/dev/null
done
check 'tools that read soon after a flush cause none' test "$(flushes)" -le $((before + 1))

sleep 11
before=$(flushes)
readers=()
for _ in {1..8}; do
	dcpiprof --db "$db" >"$scratch/report" &
	readers+=($!)
done
wait "${readers[@]}"
check 'eight tools at once, after eleven seconds, have what was sampled up to now' test "$(age)" -le 10
check '... by one flush' test "$(flushes)" -le $((before + 2))
check '... and say so' grep -q shares "$scratch/report"

sleep 11
if as_member true 2>/dev/null; then
	check 'a member of the group' as_member dcpiprof --db "$db"
	check '... is given it, too' test "$(age)" -le 10
else
	skip 'a member of the group' 'needs root to become another user'
fi

sleep 11
kill -STOP "$daemon"
SECONDS=0
check 'where dcpid does not answer, the database is read as it is' dcpistats --db "$db" --epoch 1 --epoch 1
check '... within some seconds' test "$SECONDS" -le 5
kill -CONT "$daemon"
