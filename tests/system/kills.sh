#!/bin/bash
# kills.sh [SEED [ROUNDS]] - kill -9 the real dcpid at random moments of a busy run, look for what it had acknowledged
#
# Three lanes of it at once, each on one database all the way, an epoch or two a round. Beside dcpid runs a client that
# writes down what dcpid said it has taken, once dcpid has also said that it is written: by the reply to a flush, or by
# two flushes on its own timer. After each kill the database must open, be sound, and hold at least that; at the end also
# everything found before.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seed=${1:-$((SRANDOM % 100000))}
rounds=${2:-200}
lanes=3
declare -A found=()
acknowledgements=0 early=0 trouble=''

# "EPOCH SAMPLES LAST-FLUSH" as dcpid says
taken()
{
	local status

	status=$(dcpictl --db "$db" status --json 2>/dev/null) &&
		jq -r '"\(.epoch.id) \([.events[].samples] | add) \(.last_flush.at)"' <<<"$status"
}

# Until dcpid is gone: what it has taken, it writes when told to. Now and then it is told to begin an epoch.
ask_for_flushes()
{
	local before turn=0

	while kill -0 "$1" 2>/dev/null; do
		before=$(taken) || continue
		dcpictl --db "$db" flush >/dev/null 2>&1 || continue
		# An epoch that has just begun has nothing to lose.
		[[ $before == *' 0 '* ]] || echo "$before" >>"$acknowledged"
		[ $((++turn % 5)) != 0 ] || dcpictl --db "$db" epoch >/dev/null 2>&1
	done
}

# Until dcpid is gone: what it has taken is written when it has flushed twice since; one flush may have begun before.
watch_flushes()
{
	local now epoch samples flushed waiting='' next='' last=''

	while kill -0 "$1" 2>/dev/null; do
		now=$(taken) || continue
		read -r epoch samples flushed <<<"$now"
		if [ "$flushed" != "$last" ]; then
			[ -z "$waiting" ] || echo "$waiting" >>"$acknowledged"
			waiting=$next next="$epoch $samples" last=$flushed
		fi
		sleep 0.05
	done
}

# What was acknowledged of each epoch is there, and nothing was there before and is not now.
compare()
{
	local epoch samples rest held
	local -A expected=()

	while read -r epoch samples rest; do
		acknowledgements=$((acknowledgements + 1))
		[ "${expected[$epoch]:-0}" -ge "$samples" ] || expected[$epoch]=$samples
	done <"$acknowledged"
	[ ${#expected[@]} != 0 ] || early=$((early + 1))
	for epoch in "${!expected[@]}"; do
		held=$(samples_written "$db" "$epoch") || held=0
		[ "$held" -ge "${expected[$epoch]}" ] ||
			trouble+="round $1: epoch $epoch holds $held of ${expected[$epoch]} acknowledged samples"$'\n'
		found[$epoch]=$held
	done
}

# kill_once ROUND FROM CLIENT - start dcpid, kill it at a random moment after its start or its first flush, look
kill_once()
{
	local dcpid client output microseconds=$((((RANDOM << 15) | RANDOM) % 300000))

	: >"$acknowledged"
	dcpid --foreground --db "$db" --config "$scratch/kills.conf" 2>>"$db.log" &
	dcpid=$!
	"$3" $dcpid &
	client=$!
	[ "$2" = start ] || wait_for 30 test -s "$acknowledged" || trouble+="round $1: no flush in 30 s"$'\n'
	sleep "$(printf '0.%06d' $microseconds)"
	kill -KILL $dcpid || trouble+="round $1: dcpid had left: $(tail -n 1 "$db.log")"$'\n'
	wait $dcpid $client 2>/dev/null
	if [ ! -s "$db/data.mdb" ]; then
		early=$((early + 1)) # before there was anything
		return
	fi
	# An empty database is what a kill leaves before the first transaction, and no damage.
	output=$(dcpictl --db "$db" check 2>&1) || [[ $output == *'there is no profile database here' ]] ||
		trouble+="round $1: $output"$'\n'
	compare "$1"
}

# Many places, processes that come and go, and page faults beside the clock.
keep_busy()
{
	while :; do
		find /usr/include -name 'a*.h' -exec head -c 100 '{}' + >/dev/null
		for _ in {1..20}; do true | true; done
		gzip -c /usr/bin/dash >/dev/null
	done
}

# lane FIRST - every $lanes-th round from FIRST on, on a database of its own; leaves in lane.FIRST.* what there was to say
lane()
{
	local round epoch

	RANDOM=$((seed + $1))
	db=$scratch/db.$1
	acknowledged=$scratch/acknowledged.$1
	# shellcheck disable=SC2046 # numbers
	trap 'kill $(jobs -p) 2>/dev/null' EXIT
	for ((round = $1; round <= rounds; round += lanes)); do
		# Three in ten at any moment from the start on, the others once a flush was acknowledged. A few have only the
		# timer to flush for them.
		case $((round % 40)) in
		0) kill_once $round flush watch_flushes ;;
		*[159]) kill_once $round start ask_for_flushes ;;
		*) kill_once $round flush ask_for_flushes ;;
		esac
	done
	for epoch in "${!found[@]}"; do
		[ "$(samples_written "$db" "$epoch")" = "${found[$epoch]}" ] || echo "database $1, epoch $epoch"
	done >"$scratch/lane.$1.lost"
	printf %s "$trouble" >"$scratch/lane.$1.trouble"
	echo "$early $acknowledgements" >"$scratch/lane.$1.counts"
}

test_kills()
{
	local first waiting=()

	printf '%s\n' 'flush_interval = 1; slice = 1; log_level = "warning";' \
		'events = ( { name = "cpu-clock"; rate = 1000; }, { name = "page-faults"; period = 7; } );' \
		>"$scratch/kills.conf"
	start keep_busy
	for ((first = 1; first <= lanes; first++)); do
		start lane $first
		waiting+=("$started")
	done
	wait "${waiting[@]}"
	check_equal 'each lane came to its end' $lanes "$(cat "$scratch"/lane.*.counts | wc -l)"
	check_equal "after $rounds kills -9 nothing acknowledged is missing, and the database was sound each time" \
		'' "$(cat "$scratch"/lane.*.trouble)"
	check_equal 'what was there after one kill is there after all' '' "$(cat "$scratch"/lane.*.lost)"
	read -r early acknowledgements < <(awk '{ e += $1; a += $2 } END { print e, a }' "$scratch"/lane.*.counts)
	check_at_most 'many came after something was acknowledged' $((rounds / 2)) "$early"
	figure "seed $seed: $rounds kills, $early before anything was acknowledged, $acknowledgements acknowledgements"
}

may_sample_or_skip 'a killed dcpid loses nothing' || exit 0
echo "# seed $seed"
test_kills
