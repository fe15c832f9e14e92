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
for page in README.md docs/tour.md man/dcpiemu.1.scd; do
	check "$page says of sweeps what the model leaves out" grep -q 'knows no coherence between private caches' "$top/$page"
done
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
	[[ " packages pmu service " == *" $name "* ]] || grep -qx "$name" <<<"$documented" || echo "$name"
done)"
# shellcheck disable=SC2016 # of the text
check_equal 'and names none that is not there' '' "$(grep -oE '`(unit|system)/[a-zA-Z_0-9/-]+`' "$top/docs/testing.md" | tr -d '`' |
	sort -u | while read -r name; do
	case $name in
	system/*) [ -e "$top/tests/$name.sh" ] || echo "$name" ;;
	unit/*) [ -e "$top/tests/$name.c" ] || [ -d "$top/tests/$name" ] || echo "$name" ;;
	esac
done)"

[ $failures = 0 ]

# docs/ten_tasks.md is left out: it tells which files readers opened, and some are gone.
# shellcheck disable=SC2016 # of the text
check_equal 'pages name no source file that is not there' '' "$(find "$top/README.md" "$top/docs" -name '*.md' \
	! -name ten_tasks.md -exec grep -ohE '`[a-z_0-9/-]+\.(c|h|sh|mk)`' {} + | tr -d '`' | sort -u | while read -r name; do
	find "$top" -path "$top/build" -prune -o -path "*/$name" -print -quit | grep -q . || echo "$name"
done)"
