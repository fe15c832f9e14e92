#!/bin/bash
# accuracy.sh - recordings of a program and what they say of estimates: the way of `make accuracy`, in short
#
# What is asked of estimates is asked of recorded procedures, in tests/unit/analysis/frequency_recorded_test.c; here it is
# exact counts that must be exact on the samples, and everything else be there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'a program is recorded and judged' || exit 0
recordings=$scratch/recordings
check 'a program is recorded: samples, exact counts, bursts' \
	"$top/tests/accuracy/record" --seconds 2 --burst-seconds 2 --only kernel.tree "$recordings"
about=$recordings/kernel.tree/about
check 'it is said what was recorded' grep -qx 'program = "kernels";' "$about"
check 'bursts were seen' json_holds '.steps > 0' "$recordings/kernel.tree/bursts"
check 'what is there is left alone' "$top/tests/accuracy/record" --seconds 2 --burst-seconds 2 --only kernel.tree "$recordings"

"$build/tests/accuracy/accuracy" --models "$top/config/cpus" "$recordings/kernel.tree" >"$scratch/table" ||
	not_ok 'the recording is judged'

# A line of the table: procedures, samples, blocks within 5 % relative and absolute, from exact counts.
line=$(awk '$1 == "exact" { of = 1 } of && $1 == "kernel.tree" { print $2, $3, $5, $11 }' "$scratch/table")
check "exact counts are exact ($line)" awk -v line="$line" \
	'BEGIN { split(line, of); exit !(of[1] == 1 && of[2] >= 200 && of[3] == 100 && of[4] == 100) }'
for source in samples bursts; do
	figure "$(awk -v source=$source '$1 == source { of = 1 } of && $1 == "kernel.tree" {
		print source ": " $6 " % of the samples are within 10 %, relative"; exit }' "$scratch/table")"
done
"$build/tests/accuracy/accuracy" --models "$top/config/cpus" --specimen kernel_tree "$recordings/kernel.tree" \
	>"$scratch/specimen" ||
	not_ok 'the procedure becomes text'
check 'a procedure can be kept as text' grep -q '^procedure kernel_tree of kernel.tree retires [0-9]* skid 1$' "$scratch/specimen"
[ $failures = 0 ]
