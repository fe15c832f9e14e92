#!/bin/bash
# memory.sh - among 500 processes, after thousands that came and went, dcpid has no more memory than before them; with the
# call stacks of large programs it has at most 48 MiB
#
# What each process leaves behind shows in the second storm: after the first, heap and tables have their size. Without call
# stacks, 512 KiB over 10,000 processes are 52 bytes each; the least that is remembered of one is larger. With them, what
# other programs do meanwhile takes room, too: of nodes and of stacks that wait, 4 MiB each at most, which is less than a
# hundred copies of a stack; unwind tables are counted by the status. The limit of 24 MiB is for 250 samples/s without
# stacks: at 5,200/s a storm beside builds takes more (docs/benchmarks.md).
# shellcheck source-path=SCRIPTDIR disable=SC2016 # programs in bash and Perl
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

no_table_is_expected()
{
	[ "$(in_status '.unwind.waiting // 0')" = 0 ]
}

# measure - sets $own, without unwind tables, and $resident, in KiB
measure()
{
	sleep 2
	wait_for 20 settled
	wait_for 20 no_table_is_expected
	dcpictl --db "$scratch/db" flush >/dev/null
	read -r own resident < <(in_status '"\((.own_bytes - (.unwind.bytes // 0)) / 1024 | floor) \(.rss_bytes / 1024)"' | tr -d '"')
}

# begin CONFIGURATION - a dcpid with it; sets $dcpid
begin()
{
	rm -rf "$scratch/db"
	printf '%s\n' 'flush_interval = 1;' 'events = ( { name = "cpu-clock"; rate = 250; }, { name = "page-faults"; period = 1009; } );' \
		"$1" >"$scratch/dcpid.conf"
	start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
		not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
		exit 0
	}
	dcpid=$started
}

# storms_leave LIMIT HOW - KiB
storms_leave()
{
	local first

	storm 5000
	measure
	first=$own
	storm 10000
	measure
	figure "$2: own memory but unwind tables $first KiB after 5,000 processes, $own KiB after 15,000; resident $resident KiB;" \
		"$(in_status '[.processes, .mappings, .images, .contexts, .totals.samples, .unwind.bytes // 0]' | tr -d ' \n')"
	check_at_most "$2: another 10,000 processes leave less than $1 KiB behind" "$1" $((own - first))
}

# large_programs - what there is of programs whose unwind tables are large, or many, each for 3 s of its CPU time
large_programs()
{
	local pids=()

	work()
	{
		(ulimit -t 3 && cp "$(readlink -f "$1")" "$scratch/$2" && exec "$scratch/$2" "${@:3}") >/dev/null 2>&1 &
		pids+=($!)
	}
	awk 'BEGIN { for (i = 0; i < 20000; i++)
		printf "int f%d(int a, char *s) { for (int i = 0; i < a; i++) s[i] = (char)(s[i] * %d + i); return s[a]; }\n", i, i % 97
	}' >"$scratch/large.c"
	truncate -s 20G "$scratch/sparse"
	work "$("${CC:-gcc}" -print-prog-name=cc1)" large_cc1 -quiet -O2 -o "$scratch/large.s" "$scratch/large.c"
	work "$(command -v perl)" large_perl -e 'sub f { my $n = shift; return $n < 2 ? $n : f($n - 1) + f($n - 2) } f(60)'
	work /bin/bash large_bash -c 'f() { f=$1; }; while :; do f $((RANDOM * 3)); done'
	work "$(command -v sqlite3)" large_sqlite :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		SELECT count(DISTINCT i * 7919 % 65537), max(printf('%x', i)) FROM n"
	[ ! -x /usr/bin/python3 ] || work /usr/bin/python3 large_python -c 'f = lambda n: n if n < 2 else f(n - 1) + f(n - 2); f(60)'
	[ ! -x /usr/bin/git ] || work /usr/bin/git large_git hash-object "$scratch/sparse"
	wait "${pids[@]}"
}

# stacks_of PATTERN - samples of the call stacks of such commands
stacks_of()
{
	dcpiprof --db "$scratch/db" --epoch all --comm "$1" --tree --least 0 --json 2>/dev/null | jq '.samples'
}

storms=()
for _ in $(seq 500); do
	start sleep 1000
done
begin 'stacks = { rate = 0; };'
storms_leave 512 'without stacks'
check_at_most 'resident memory is at most 24 MiB among 500 processes, at 250 samples/s' 24576 "$resident"
check_equal 'no sample is lost' 0 "$(in_status .totals.lost)"
stop "$dcpid"

begin ''
storms_leave 8704 'with stacks'
check_at_least 'call stacks are sampled meanwhile' 100 \
	"$(in_status '[.events[] | select(.name | endswith(".stacks")) | .samples] | add')"

# 18 s of CPU time have 880 stacks, less where a stack turns out to cost much.
large_programs
wait_for 20 no_table_is_expected # which is when most is in memory, but not a condition
dcpictl --db "$scratch/db" flush >/dev/null
highest=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$dcpid/status")
measure
figure "with the stacks of large programs: at most $highest KiB resident, now $resident;" \
	"$(in_status '.unwind | "\(.loaded) tables of \(.images) images in memory, \(.bytes / 1024 | floor) KiB, \(.evicted) given back"' | tr -d '"');" \
	"stacks: $(for comm in large_{cc1,perl,bash,sqlite,python,git}; do printf '%s ' "${comm#*_}" "$(stacks_of "$comm")"; done)"
check_at_least 'call stacks of large programs are sampled' 200 "$(stacks_of 'large_*')"
check_at_most 'with them, dcpid never had more than 48 MiB' 49152 "$highest"
check_equal 'no sample is lost' 0 "$(in_status .totals.lost)"
stop "$dcpid"
