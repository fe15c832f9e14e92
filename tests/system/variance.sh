#!/bin/bash
# dcpistats on eight runs of a program one procedure of which depends on where its arrays land, as the kernel places them
# in each run: of the program's procedures it is first, and it alone is marked; and on eight runs of one that is steady:
# nothing is. On a machine on which whatever runs varies by more than five percent that is tried again, at most twice.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

RUNS=8
LENGTH=${LENGTH:-400} # the program's: about 3 s in all
NOISE=5
db=$scratch/db
landing=$build/workloads/landing

# run LABEL [steady] - a run of the program; it says how many of 32 sets of the cache its arrays share
run()
{
	dcpictl --db "$db" label "$1" -- nice -n -10 "$landing" "$LENGTH" "${@:2}" >"$scratch/$1"
}

# run_all PREFIX - runs of both kinds in turn, so that they meet the same machine
run_all()
{
	local i kind

	for ((i = 1; i <= RUNS; i++)); do
		run "$1landing.$i" && run "$1steady.$i" steady || return
	done
	dcpictl --db "$db" flush
	for kind in landing steady; do
		dcpistats --db "$db" --label "$1$kind.*" --image landing --json >"$scratch/$kind.json" || return
	done
}

# shared PREFIX - what the runs said, the least first
shared()
{
	cat "$scratch/$1"landing.[0-9]* | sort -n | paste -sd' '
}

marked()
{
	jq -r '[.rows[] | select(.marked) | .procedure] | join(" ")' "$scratch/$1.json"
}

is_noisy()
{
	jq -se "any(.noise_percent > $NOISE)" "$scratch/landing.json" "$scratch/steady.json" >/dev/null
}

look()
{
	check_equal 'what depends on the place is first' walk_lines "$(jq -r '.rows[0].procedure' "$scratch/landing.json")"
	check_equal 'it alone is marked' walk_lines "$(marked landing)"
	check_equal 'of steady runs nothing is' '' "$(marked steady)"
	check 'all procedures were compared' json_holds '.tested >= 11 and (.sets | length) == 8' "$scratch/steady.json"
	figure "$(jq -r '"varying: range \(.rows[0].range_percent * 100 | round / 100) %, p \(.rows[0].p), the next \(
		[.rows[1:][].p | numbers] | min), noise \(.noise_percent * 10 | round / 10) %"' "$scratch/landing.json")"
	figure "$(jq -r '"steady: least p \([.rows[].p | numbers] | min), noise \(.noise_percent * 10 | round / 10) %"' \
		"$scratch/steady.json")"
}

may_sample_or_skip 'eight runs are compared' || exit 0
printf 'events = ( { name = "cpu-clock"; rate = 2000; } );\n' >"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 1
}
for prefix in a b c; do
	check 'the runs are sampled' run_all $prefix
	if [ "$(marked landing)/$(marked steady)" = walk_lines/ ] || ! is_noisy || [ $prefix = c ]; then
		break
	fi
	retry 'eight runs of each kind' "whatever runs here varies by $(jq -s 'map(.noise_percent) | max' \
		"$scratch/landing.json" "$scratch/steady.json") %"
done
figure "shared sets: $(shared "$prefix")"
look
stop "$started"

[ $failures = 0 ]
