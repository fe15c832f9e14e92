#!/bin/bash
# emulate_reference.sh - caches and TLBs are a slow and obvious reference: access for access on what real programs fetch,
# load and store; and what dcpiemu reports of the same run are its counts
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'caches and TLBs are the reference' || exit 0
trace=$scratch/trace counts=$scratch/counts
mkfifo "$trace"

# traced MACHINE COMMAND... - the run's report is in $report, what the reference makes of the same run in $counts
traced()
{
	local machine=$1

	shift
	"$build/tests/system/compare_trace" "$top/config/machines/$machine.conf" <"$trace" >"$counts" &
	started_pids+=($!)
	QEMU_PLUGIN=$build/tests/system/trace_plugin.so,out=$trace dcpiemu run --machine "$machine" --threads 1 --no-db \
		--quiet --json --output "$report" -- "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	: <>"$trace" # in case that nobody has written
	wait "${started_pids[-1]}"
}

# near SENTENCE PERCENT FILTER FILTER - of the report, and of the counts; chance alone makes a few
near()
{
	local found expected

	found=$(jq "$3" "$report") expected=$(jq "$4" "$counts")
	check "$1: $found, the reference has $expected" awk -v a="$found" -v b="$expected" -v percent="$2" \
		'BEGIN { exit !(b > 0 && (a - b) ^ 2 <= (b * percent / 100 + 5) ^ 2) }'
}

# compared NAME COMMAND...
compared()
{
	local name=$1 machine

	shift
	for machine in e5-2699v3 in-order-2; do # the second one has no prefetchers: its misses are those of the reference
		traced "$machine" "$@"
		figure "reference: $name on $machine: $(jq .accesses "$counts") accesses"
		check "$name: each access is where the reference has it, on $machine" json_holds \
			'.differ == 0 and .written_back == .model_written_back and .accesses > 1000000' "$counts"
	done
	near "$name: code that is not in level 1" 0.1 '.levels[0].code_missed' '.fetches.missed[0]'
	near "$name: code that is in memory" 0.1 '.levels[2].code_missed' '.fetches.missed[1]'
	near "$name: loads that miss" 0.1 '.levels[1].loads_missed' '.loads.missed[0]'
	near "$name: stores that miss" 0.1 '.levels[1].stores_missed' '.stores.missed[0]'
	near "$name: data that are in memory" 0.1 '.levels[2] | .loads_missed + .stores_missed' \
		'.loads.missed[1] + .stores.missed[1]'
	near "$name: code that misses its TLB" 0.1 '.tlbs.code_missed' '.fetches.tlb_missed'
	near "$name: data that miss their TLB" 2 '.tlbs.data_missed' '.loads.tlb_missed + .stores.tlb_missed'
	near "$name: walks" 2 '.tlbs | .code_walks + .data_walks' '.fetches.walked + .loads.walked + .stores.walked'
}

cat >"$scratch/table.sql" <<'END'
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
insert into t select i, 'name ' || (i * 7919 % 1000), i * 31 % 977 from n;
select sum(c), count(distinct b) from t where c > 100;
END
head -c 20000 "$build/tests/system/compare_trace" >"$scratch/file"
compared gzip gzip -9 -c "$scratch/file"
compared python3 /usr/bin/python3 -S -c 'print(sorted({str(i): i * 0.5 for i in range(500)}.items())[7])'
if command -v sqlite3 >/dev/null; then
	compared sqlite3 sqlite3 :memory: ".read $scratch/table.sql"
else
	skip 'sqlite3: each access is where the reference has it' 'sqlite3 is not installed'
fi
[ $failures = 0 ]
