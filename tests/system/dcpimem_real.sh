#!/bin/bash
# dcpimem on a program after PARSEC's streamcluster: it finds the block of points that the main thread fills, and a trial
# gains what the remedied source gains; a server of root's that becomes another user is followed
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"
# shellcheck source=tests/system/objects_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/objects_lib.sh"

emulator_or_skip 'dcpimem finds what is wrong in streamcluster' || exit 0
streamcluster=$build/workloads/objects/streamcluster
size='8 4 65536 1' # threads, candidates, points, blocks: 32 MiB, of which each of four nodes reads more than it caches

# observe VARIANT [OPTION...] - the report is in $report; the program's output in $scratch/out
observe()
{
	rm -f "$report"
	# shellcheck disable=SC2086 # four words
	dcpimem run --machine $opteron --threads 8 --no-db --quiet --json --output "$report" "${@:2}" -- \
		"$streamcluster" "$1" $size >"$scratch/out" 2>"$scratch/err" </dev/null
}

# shellcheck disable=SC2086 # four words
expected=$("$streamcluster" plain $size)
observe plain --try local
check_equal 'streamcluster prints what it prints natively' "$expected" "$(cat "$scratch/out")"
check_equal 'the block of points is found by who allocated it, with its type' 'make_block local float[]' \
	"$(jq -r '.objects[0] | (.object | sub("[+].*"; "")) + " \(.verdict) \(.type)"' "$report")"
check_equal 'why: nodes have parts of it' true \
	"$(jq '.objects[0].why | startswith("each node uses parts of it of its own, and")' "$report")"
check_equal 'nothing came late' 0 "$(jq .late "$report")"
plain=$(jq .seconds "$report")
tried=$(jq '.tried[0].seconds' "$report")

observe placed
check_equal 'placed: it prints the same' "$expected" "$(cat "$scratch/out")"
check_equal 'placed: the block is right' 0 \
	"$(jq '[.objects[] | select((.object | startswith("make_block")) and .verdict != "nothing")] | length' "$report")"
placed=$(jq .seconds "$report")
figure "$(awk -v p="$plain" -v t="$tried" -v r="$placed" \
	'BEGIN { printf "%.2f times as fast, %.2f when tried", p / r, p / t }')"
check_at_least 'placed: the program is so many times as fast' 1.15 "$(awk -v p="$plain" -v r="$placed" 'BEGIN { print p / r }')"
check_at_most 'how far the gain that was tried is off, percent' 25 \
	"$(awk -v p="$plain" -v t="$tried" -v r="$placed" \
		'BEGIN { tried = p / t - 1; gain = p / r - 1; print (tried > gain ? tried - gain : gain - tried) / gain * 100 }')"

# ---- a server of root's ----

# become_nobody - a program of root's that becomes nobody and begins a thread
become_nobody()
{
	rm -f "$report"
	dcpimem run --machine $xeon --threads 4 --no-db --quiet --json --output "$report" -- /usr/bin/python3 -c '
import os, threading
os.setuid(65534)
thread = threading.Thread(target=lambda: print(os.getuid(), len(bytes(1 << 20))))
thread.start()
thread.join()' >"$scratch/out" 2>"$scratch/err" </dev/null
}

if [ "$(id -u)" = 0 ]; then
	TMPDIR=/tmp become_nobody
	check_equal 'a process of root that becomes another user has threads: status' 0 $?
	check_equal '... what it prints' '65534 1048576' "$(cat "$scratch/out")"
	check_equal '... and its thread and its heap are known' '0 true' \
		"$(jq -r '"\(.untracked) \([.objects[] | .evidence.threads] | max >= 2)"' "$report")"
	mkdir -m 700 "$scratch/closed"
	TMPDIR=$scratch/closed become_nobody
	check_equal 'where that user may not enter, a message says where' 1 \
		"$(grep -c "cannot be emulated: .* (user 65534 may not reach $scratch/closed/.*: set TMPDIR" "$scratch/err")"
else
	skip 'a process of root that becomes another user' 'this is not root'
fi

[ $failures = 0 ]
