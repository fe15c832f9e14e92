#!/bin/bash
# pages.sh - figures that a page quotes are those of the page that they are from, and limits stand where they are needed
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# figure_of KIND SOURCE COLUMN - of docs/accuracy.md's table of means: 1 is "within 5 %", 2 within 10, ... 6 a factor of 2
figure_of()
{
	awk -F '|' -v kind=" $1 " -v source=" $2 " -v column="$3" \
		'$2 == kind && $3 == source { print $(3 + column) + 0; exit }' "$top/docs/accuracy.md"
}

# text_of PAGE - in one line
text_of()
{
	tr '\n' ' ' <"$top/$1"
}

alone='samples alone' bursts='samples and bursts'
check_equal 'docs/tour.md quotes how right bursts are, relative and absolute' found "$(text_of docs/tour.md | grep -Fo \
	"with bursts $(figure_of 'blocks, relative' "$bursts" 2) % of the samples are within 10 % after scaling each procedure \
($(figure_of 'blocks, relative' "$alone" 2) % without bursts); unscaled $(figure_of 'blocks, absolute' "$bursts" 2) % \
($(figure_of 'blocks, absolute' "$alone" 2) %), and $(figure_of 'blocks, absolute' "$bursts" 6) % within a factor of two \
($(figure_of 'blocks, absolute' "$alone" 6) %;" | sed 's/.*/found/')"
for page in README.md docs/tour.md; do
	check_equal "$page quotes how right samples alone are" found "$(text_of "$page" | grep -Fo \
		"from samples alone, $(figure_of 'blocks, relative' "$alone" 2) % of the samples lie in blocks whose frequency is estimated \
within 10 % if each procedure may be scaled by one factor: good for comparing blocks of one procedure. Without that factor only \
$(figure_of 'blocks, absolute' "$alone" 2) % do, and $(figure_of 'blocks, absolute' "$alone" 6) % are within a factor of two" |
		sed 's/.*/found/')"
done
# ---- README's figures of costs, and those that docs/benchmarks.md says of its own tables ----

# cost_of LOAD ROW COLUMN - of the table under "### Load: LOAD" of docs/benchmarks.md, as it stands there: 1 dcpid, 2 perf
# record, 3 the ratio; ROW is how the row begins
cost_of()
{
	awk -F '|' -v heading="### Load: $1" -v row=" $2" -v column="$3" '/^#/ { found = $0 == heading }
		found && index($2, row) == 1 { gsub(/ /, "", $(2 + column)); print $(2 + column); exit }' "$top/docs/benchmarks.md"
}

# rounded DIGITS NUMBER - half of the last digit is rounded up, in decimal: 7.05 is 7.1
rounded()
{
	awk -v digits="$1" -v number="$2" 'BEGIN {
		if (number == "")
			print "missing"
		else
			printf "%.*f\n", digits, int(number * 10 ^ digits + .5 + 1e-9) / 10 ^ digits
	}'
}

# ratio_of LOAD ROW - with one digit
ratio_of()
{
	rounded 1 "$(cost_of "$1" "$2" 3)"
}

first='processor time in the first 60 s, ns' later='processor time, ns' whole='whole run: start, collection, stop'
answered='whole run and answer' resident='resident, peak'

# ns_of LOAD, times_of LOAD - after the first minute, and in it
ns_of()
{
	echo "$(cost_of "$1" "$later" 1) ($(cost_of "$1" "$first" 1))"
}

times_of()
{
	echo "$(ratio_of "$1" "$later") ($(ratio_of "$1" "$first"))"
}

# each_load FUNCTION ARGUMENT... - of the loads that README has, one a line, the least first
loads=(steady shell compile 'fork storm' python)
each_load()
{
	for load in "${loads[@]}"; do
		"$1" "$load" "${@:2}"
	done | sort -g
}

# range_of - the first and the last line
range_of()
{
	sed -n '1p;$p' | paste -sd ' ' | sed 's/ / to /'
}

# fraction_of NUMBER - the nearest of those that have a name
fraction_of()
{
	awk -v number="$1" 'BEGIN {
		count = split("an eighth:.125,a sixth:.1667,a fifth:.2,a quarter:.25,a third:.3333,two fifths:.4,half:.5,two thirds:.6667",
			names, ",")
		for (i = 1; i <= count; i++) {
			split(names[i], part, ":")
			distance = number > part[2] ? number - part[2] : part[2] - number
			if (best == "" || distance < least) {
				best = part[1]
				least = distance
			}
		}
		print best
	}'
}

mebibytes()
{
	rounded 1 "$(awk -v kib="$1" 'BEGIN { if (kib != "") print kib / 1024 }')"
}

# check_quotes PAGE WHAT TEXT - the page, read as one line, has it
check_quotes()
{
	if text_of "$1" | grep -qF -- "$3"; then
		ok "$1 quotes $2"
	else
		not_ok "$1 quotes $2" "docs/benchmarks.md says: $3"
	fi
}

names=('a loop' shell compilers 'a storm of short processes' "\`python3\` over and over")
for i in "${!loads[@]}"; do
	load=${loads[i]}
	check_quotes README.md "what $load costs" "| ${names[i]} | $(ns_of "$load") | $(times_of "$load") | $(
		rounded 2 "$(cost_of "$load" 'processor time, % of one CPU' 1)") | $(ratio_of "$load" "$whole") | $(
		cost_of "$load" "$answered" 3) | $(cost_of "$load" 'on disk at the end' 3) |"
done
check_equal 'and no other load' ${#loads[@]} "$(awk '/^\| load \|/ { table = 1; next } !/^\|/ { table = 0 }
	table && !/^\|---/' "$top/README.md" | wc -l)"
sparse='steady, 500 samples/s per CPU' dense='steady, 20,000 samples/s per CPU'
whole_range=$(each_load ratio_of "$whole" | range_of)
answered_range=$(each_load cost_of "$answered" 3 | range_of)
peak=$(mebibytes "$(for load in "${loads[@]}" idle "$sparse" "$dense"; do cost_of "$load" "$resident" 1; done | sort -n | tail -n 1)")
storm_peak=$(mebibytes "$(sed -n 's/^- Resident, KiB:.* peak \([0-9]*\)\.$/\1/p' "$top/docs/benchmarks.md")")
measured=$(sed -n '/results begin/,$ s/^Measured \([0-9-]*\) .*/\1/p' "$top/docs/benchmarks.md" | head -n 1)
start=$(grep -oE '[0-9]+ ms with a new one' "$top/docs/benchmarks.md" | head -n 1)
check_quotes README.md 'when costs were measured' "$(date -d "$measured" '+%-d %B %Y'), for 60 s after a first minute"
check_quotes README.md 'what collecting costs' "Collecting alone costs $whole_range times what \`perf record\` costs"
check_quotes README.md 'what a sample costs at 500 samples/s' "2 times at 500 samples/s (measured: $(ratio_of "$sparse" "$later"))"
check_quotes README.md 'what collecting and answering cost' "cost $(fraction_of "${answered_range% to *}") to $(
	fraction_of "${answered_range#* to }") of \`perf record\` and \`perf report\`, $(
	fraction_of "$(cost_of idle "$answered" 3)") on an idle machine, and $(
	cost_of "$sparse" "$answered" 3) times at 500 samples/s"
check_quotes README.md 'what is resident' "\`dcpid\` had $peak MiB resident at most"
check_quotes README.md 'what is resident in a storm' "it had $storm_peak MiB at most"
check_quotes README.md 'what the start costs with a new database' "takes ${start% with*} of processor time"

# The aims, and how it was measured.
# aim_of EXPRESSION - of the lines that EXPRESSION, with one group, matches: the group
aim_of()
{
	sed -nE "s/^\| $1.*/\1/p" "$top/docs/benchmarks.md" | head -n 1
}

check_quotes README.md 'the aims for a sample' "The aims for a sample were $(aim_of '([0-9.]+) times .perf record. in a steady load') \
times \`perf record\` for a loop, $(aim_of '([0-9.]+) times for compilers and short processes') times for compilers and storms"
check_quotes README.md 'the aim for memory' "the aim was $(aim_of 'at most ([0-9]+ MB) resident')"
check_quotes README.md 'the aim for the start' "the aim was $(aim_of '([0-9]+ ms) of processor time to start')"
check_quotes README.md 'at which rate' "beside \`perf record -a\` at $(sed -nE '/results begin/,$ s/^Measured .*--rate ([0-9]+)([0-9]{3}) .*/\1,\2/p' \
	"$top/docs/benchmarks.md" | head -n 1) samples/s per CPU"
check_quotes README.md 'among how many processes' "of short processes $(grep -oE 'among [0-9]+ processes' "$top/docs/benchmarks.md" |
	tail -n 1 | sed 's/ processes//') that sleep"

page=docs/benchmarks.md
check_quotes $page 'its tables: a steady load' "$(times_of steady) at 5,200 samples/s; $(cost_of "$dense" "$later" 3) ($(
	cost_of "$dense" "$first" 3)) at 20,000"
check_quotes $page 'its tables: short processes' "fork storm $(times_of 'fork storm'), compile $(times_of compile), python $(
	times_of python); shell $(times_of shell)"
check_quotes $page 'its tables: 500 samples/s' "| $(times_of "$sparse"), $(
	cost_of "$sparse" 'processor time, % of one CPU' 1) % of one CPU |"
check_quotes $page 'its tables: ns a sample' "steady $(ns_of steady), compile $(ns_of compile); at 20,000 samples/s $(ns_of "$dense")"
check_quotes $page 'its tables: ns a sample of other loads' "shell $(ns_of shell), python $(ns_of python); at 500 samples/s $(
	ns_of "$sparse")"
check_quotes $page 'its tables: ns a sample in a fork storm' "$(ns_of 'fork storm' | sed 's/ / ns /')"
check_quotes $page 'its tables: answers' "$answered_range times at 5,200 samples/s under load, $(cost_of "$dense" "$answered" 3) at 20,000"
check_quotes $page 'its tables: answers elsewhere' "$(cost_of "$sparse" "$answered" 3) at 500 samples/s, $(
	cost_of idle "$answered" 3) on an idle machine"
check_quotes $page 'its tables: memory' "$peak MiB at most in this run; in ten minutes of fork storm beside builds and tests $storm_peak MiB"
check_quotes $page 'its tables: whole runs' "$(ratio_of "$dense" "$whole") times at 20,000, $(
	cost_of "$sparse" "$whole" 3) times at 500 and $(cost_of idle "$whole" 3) times on an idle machine"
check_quotes $page 'its tables: reports' "takes $(each_load cost_of 'answer (dcpiprof' 3 | range_of) times as long as \`perf report\`"

# ---- limits ----

check 'dcpid(8) says that a build-id can be forged' grep -q 'A build-id can be forged' "$top/man/dcpid.8.scd"
check_equal 'no example of README or docs/tour.md writes a database into /tmp' '' \
	"$(grep -nE -- '(--db|--to) /tmp' "$top/README.md" "$top/docs/tour.md")"
count=$(sed -n 's/^CapabilityBoundingSet=//p' "$top/systemd/dcpid.service" | wc -w)
words=(no one two three four five six)
check_equal 'docs/tour.md and dcpid(8) count the capabilities of the unit' "${words[count]} ${words[count]}" \
	"$(text_of docs/tour.md | grep -oE '[a-z]+ +capabilities' | awk '{ print $1 }') $(text_of man/dcpid.8.scd |
		grep -oE 'The service has these [a-z]+' | awk '{ print $NF }')"
check_equal 'and dcpid(8) names each' '' "$(sed -n 's/^CapabilityBoundingSet=//p' "$top/systemd/dcpid.service" | tr ' ' '\n' |
	while read -r name; do grep -q "$name" "$top/man/dcpid.8.scd" || echo "$name"; done)"

# docs/testing.md names each system test, and every test that it names is there.
# shellcheck disable=SC2016 # of the text
documented=$(sed -nE 's/^\| \.\.\. (`[^|]*`) \|.*/\1/p' "$top/docs/testing.md" | grep -oE '[a-z_0-9]+' | sort -u)
check_equal 'docs/testing.md says of each system test what it proves' '' "$(for program in "$top"/tests/system/*.sh; do
	name=$(basename "$program" .sh)
	[ "$(head -c 2 "$program")" = '#!' ] || continue
	[[ " packages pmu numa service " == *" $name "* ]] || grep -qx "$name" <<<"$documented" || echo "$name"
done)"
# shellcheck disable=SC2016 # of the text
check_equal 'and names none that is not there' '' "$(grep -oE '`(unit|system)/[a-zA-Z_0-9/-]+`' "$top/docs/testing.md" | tr -d '`' |
	sort -u | while read -r name; do
	case $name in
	system/*) [ -e "$top/tests/$name.sh" ] || echo "$name" ;;
	unit/*) [ -e "$top/tests/$name.c" ] || [ -d "$top/tests/$name" ] || echo "$name" ;;
	esac
done)"

# docs/ten_tasks.md is left out: it tells which files readers opened, and some are gone.
# shellcheck disable=SC2016 # of the text
check_equal 'pages name no source file that is not there' '' "$(find "$top/README.md" "$top/docs" -name '*.md' \
	! -name ten_tasks.md -exec grep -ohE '`[a-z_0-9/-]+\.(c|h|sh|mk)`' {} + | tr -d '`' | sort -u | while read -r name; do
	find "$top" -path "$top/build" -prune -o -path "*/$name" -print -quit | grep -q . || echo "$name"
done)"

# How many system tests Debian 13 runs, by the list of .ci/run.
elsewhere=$(tr -d '\\\n' <"$top/.ci/run" | sed -n 's/.*elsewhere="\([a-z_0-9,]*\)".*/\1/p' | tr , '\n' | grep -c .)
check 'README.md has the number of system tests that Debian 13 runs' grep -q "$elsewhere of the [0-9]* system tests" "$top/README.md"
check 'and so has docs/testing.md' grep -q "$elsewhere of the [0-9]* system tests" "$top/docs/testing.md"

[ $failures = 0 ]
