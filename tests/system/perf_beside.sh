#!/bin/bash
# perf_beside.sh - perf works beside a running dcpid as it does without
#
# Forty runs of perf, of eight kinds, while dcpid samples, compilers begin and end all the time, and programs are deleted
# as soon as they run. Each ends with success and what it wrote can be read, and the mappings and build-ids that it wrote
# of one program are those of a run without dcpid; dcpid knows its own samples beside them as it does without.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

runs=5 # of each kind
kinds=(command graph all pid dwarf stat trace top)

command -v perf >/dev/null || {
	skip 'perf works beside dcpid' 'perf is not installed'
	exit 0
}
may_sample_or_skip 'perf works beside dcpid' || exit 0

# Programs that nobody else on the machine runs.
cp "$(readlink -f /bin/dash)" "$scratch/beside" && cp "$build/workloads/shares" "$scratch/attached"
# shellcheck disable=SC2016 # the program's own variables
printf 'i=0\nwhile [ $i -lt 30000 ]; do\n\ti=$((i + 1))\ndone\n' >"$scratch/work.sh"

storm()
{
	printf 'int f(int x) { return 3 * x; }\n' >"$scratch/storm.c"
	while :; do
		gcc -O1 -c "$scratch/storm.c" -o "$scratch/storm.$BASHPID.o"
	done
}

# Programs that are gone soon after they began, each a build of its own
deleted_programs()
{
	local n=0

	while :; do
		run_deleted_program $((n += 1))
	done
}

# perf_run KIND FILE - one run of perf
perf_run()
{
	local record=(perf record -q -F 999 -e cpu-clock -o "$2")

	case $1 in
	command) "${record[@]}" -- "$scratch/beside" "$scratch/work.sh" ;;
	graph) "${record[@]}" -g -- "$scratch/beside" "$scratch/work.sh" ;;
	all) "${record[@]}" -a -- "$scratch/beside" "$scratch/work.sh" ;;
	pid) "${record[@]}" -p "$attached" -- sleep 0.3 ;;
	dwarf) "${record[@]}" --call-graph dwarf,4096 -- "$scratch/beside" "$scratch/work.sh" ;;
	stat) perf stat -e task-clock,page-faults -o "$2" -- "$scratch/beside" "$scratch/work.sh" ;;
	trace) perf trace -o "$2" -- "$scratch/beside" "$scratch/work.sh" ;;
	top) perf_top "$2" ;;
	esac
}

# perf_top FILE - until it has shown something, however long it takes to begin: before, SIGINT would end it as anybody
perf_top()
{
	local top

	perf top --stdio -e cpu-clock -d 1 </dev/null >"$1" &
	top=$!
	wait_for 60 grep -q 'PerfTop' "$1"
	kill -INT $top
	wait $top
}

has_file()
{
	case $1 in
	stat | trace | top) return 1 ;;
	esac
}

# perf_files KIND FILE - which files the recording says that the one program maps to execute them: not where they lay, for
# that differs from run to run
perf_files()
{
	local name=beside

	[ "$1" = pid ] && name=attached
	perf script -i "$2" --show-mmap-events 2>/dev/null |
		sed -n "s/^ *$name .*PERF_RECORD_MMAP2.* @ *\\(.*\\)\\]: r-xp \\(\\/.*\\)\$/\\1 \\2/p" | sort -u
}

file_build_id()
{
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}

# right_build_ids KIND FILE - does the recording have that of the program, and are those of its files what the files say?
right_build_ids()
{
	local name=beside id path found=1 files="$scratch/"

	[ "$1" = pid ] && name=attached
	[ "$1" = all ] || files+='|/libc\.so\.6|/ld-linux' # other roots have others
	while read -r id path; do
		[ -f "$path" ] || continue
		[ "$path" = "$scratch/$name" ] && found=0
		[ "$id" = "$(file_build_id "$path")" ] || {
			echo "$path: $id"
			return 1
		}
	done < <(perf buildid-list -i "$2" | grep -E "$files")
	[ $found = 0 ] || echo "no build-id of $name"
	return $found
}

# try KIND NAME - run perf and read what it wrote; false with a reason in $scratch/why
try()
{
	local file=$scratch/$2 status

	perf_run "$1" "$file" >"$scratch/said" 2>&1
	status=$?
	if [ $status != 0 ]; then
		echo "ended with status $status: $(tail -n 3 "$scratch/said")" >"$scratch/why"
	elif [ ! -s "$file" ]; then
		echo 'wrote nothing' >"$scratch/why"
		status=1
	elif has_file "$1"; then
		perf script -i "$file" 2>"$scratch/said" | grep -c cpu-clock >"$scratch/count"
		[ "$(cat "$scratch/count")" -gt 0 ] || {
			echo "cannot be read: $(tail -n 3 "$scratch/said")" >"$scratch/why"
			status=1
		}
	fi
	return $status
}

# lost_records FILE - did perf itself come too late for some? Then mappings may be among them.
lost_records()
{
	perf script -i "$1" --show-lost-events 2>/dev/null | grep -q 'PERF_RECORD_LOST'
}

# try_whole KIND NAME - as try; what perf lost records of is recorded again, twice at most
try_whole()
{
	local again

	for again in 1 2 3; do
		try "$1" "$2" || return
		if ! has_file "$1" || [ $again = 3 ] || ! lost_records "$scratch/$2"; then
			return 0
		fi
		retry "perf beside dcpid ($1)" 'perf lost records, as it may on a machine this busy' >&3
	done
}

exec 3>&1
start "$scratch/attached" 1000
attached=$started
start storm
start deleted_programs
usable=()
for kind in "${kinds[@]}"; do
	if try_whole "$kind" "$kind.alone"; then
		usable+=("$kind")
		has_file "$kind" && perf_files "$kind" "$scratch/$kind.alone" >"$scratch/$kind.expected"
	else
		skip "perf works beside dcpid ($kind)" "nor does it without: $(tr '\n' ' ' <"$scratch/why")"
	fi
done
check 'without dcpid, perf can record commands' test -s "$scratch/command.expected"

start_dcpid "$scratch/db" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
for kind in "${usable[@]}"; do
	good=0
	same=0
	for i in $(seq $runs); do
		if try_whole "$kind" "$kind.$i"; then
			good=$((good + 1))
		else
			echo "run $i: $(cat "$scratch/why")"
		fi
		has_file "$kind" || continue
		perf_files "$kind" "$scratch/$kind.$i" >"$scratch/$kind.found" 2>/dev/null
		if ! cmp -s "$scratch/$kind.expected" "$scratch/$kind.found"; then
			diff "$scratch/$kind.expected" "$scratch/$kind.found" | head -n 8
		elif right_build_ids "$kind" "$scratch/$kind.$i"; then
			same=$((same + 1))
		fi
		rm -f "$scratch/$kind.$i"
	done >"$scratch/$kind.complaints" 2>&1
	check_equal "all runs end well and can be read ($kind)" "$runs of $runs" "$good of $runs"
	has_file "$kind" && check_equal "mappings and build-ids are those without dcpid ($kind)" "$runs of $runs" "$same of $runs"
	sed 's/^/#   /' "$scratch/$kind.complaints" | head -n 20
done
dcpictl --db "$scratch/db" status --json >"$scratch/status"
figure "dcpid in the storm: $(jq -c '[.totals.samples, .totals.unknown, .totals.lost, .files]' "$scratch/status")"
check_at_most 'meanwhile at most 0.005 % of the samples of dcpid are unknown' 0.005 \
	"$(jq '100 * .totals.unknown / .totals.samples' "$scratch/status")"
check_equal 'and none is lost' 0 "$(jq '.totals.lost + .sideband_lost' "$scratch/status")"
# And the other way round: a listener that asks for build-ids marks dcpid's records, too.
wait_for 60 dcpictl --db "$scratch/db" epoch --label beside
if perf record -q -a --buildid-mmap -e cpu-clock -F 99 -o "$scratch/asking" -- sleep 4 >"$scratch/said" 2>&1; then
	dcpictl --db "$scratch/db" flush >/dev/null
	json=$(dcpiprof --db "$scratch/db" --epoch beside --json)
	figure "beside perf record --buildid-mmap: $(jq -c '[[.events[].samples], .unknown]' <<<"$json")"
	check 'perf record --buildid-mmap takes no sample from dcpid' json_holds \
		'([.events[].samples] | add) > 100 and ([.unknown[]] | add // 0) <= 0.0005 * ([.events[].samples] | add)' <(echo "$json")
else
	skip 'perf record --buildid-mmap takes no sample from dcpid' "perf cannot: $(head -n 1 "$scratch/said")"
fi
check 'dcpid sampled meanwhile' test "$(dcpictl --db "$scratch/db" status --json | jq '[.events[].samples] | add')" -gt 100
stop "$started"
