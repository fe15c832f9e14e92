#!/bin/bash
# rate_limit.sh - the kernel's limit of samples is lowered under a dcpid that samples at a rate above it
#
# The kernel does so by itself when interrupts take long ("perf: interrupt took too long"); here root does.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

sentence='a rate above a limit that was lowered is lowered with it'
may_sample_or_skip "$sentence" || exit 0
limit=/proc/sys/kernel/perf_event_max_sample_rate
before=$(cat $limit)
rate=$((before < 20000 ? before : 20000))
lower=$((rate * 4 / 5))
trap 'echo "$before" >$limit; end_everything' EXIT
if ! (echo "$before" >$limit) 2>/dev/null; then
	skip "$sentence" "$limit cannot be set here"
	exit 0
fi

printf 'events = ( { name = "page-faults"; rate = %d; } );\n' $rate >"$scratch/dcpid.conf"
start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}

# says FILTER VALUE - of the status
says()
{
	[ "$(dcpictl --db "$scratch/db" status --json | jq -r "$1")" = "$2" ]
}

check 'below the limit the rate is the one that was asked for' says '.events[0].rate' $rate
check 'in the first epoch' says .epoch.id 1
echo $lower >$limit
check "$sentence" wait_for 20 says '.events[0].rate' $lower
check 'an epoch begins with it' says .epoch.id 2
check 'status says why' says '.events[0].note' \
	"kernel.perf_event_max_sample_rate allows $lower samples a second, $rate were asked for"
check 'the log says it' grep -q "perf_event_max_sample_rate is now $lower" "$scratch/db.log"
for _ in $(seq 200); do
	/bin/true
done
dcpictl --db "$scratch/db" flush >/dev/null
check 'samples go on' test "$(dcpictl --db "$scratch/db" status --json | jq '.events[0].samples')" -gt 0
stop "$started"
check_equal 'dcpid ends well' 0 $?
