#!/bin/bash
# dcpiloc --exact: what a program's own record says of its loops, beside its whole address trace: twelve kernels, whose scores
# and footprints are estimated well; programs keep their output and status; reuse that is sampled; bad input gets a sentence
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sources=$top/tests/workloads/locality
report=$scratch/report

if ! dcpiloc --cflags >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'estimates are beside an exact trace' "$(cat "$scratch/err")"
	exit 0
fi
if ! command -v qemu-x86_64 >/dev/null && [ ! -x /usr/lib/dcpi/qemu/qemu-x86_64 ]; then
	skip 'estimates are beside an exact trace' 'no qemu-user that loads plugins'
	exit 0
fi
read -ra cflags <"$scratch/cflags"
read -ra libs < <(dcpiloc --libs)

# trace PROGRAM [ARGUMENT]... - its output in $scratch/output, and the report
trace()
{
	dcpiloc --exact --json --limit 1000 --output "$report" -- "$@" >"$scratch/output" 2>"$scratch/err"
}

# loops FUNCTION - each loop that has a tenth of what the function refers to: "LINE VALUES...", estimated and exact in turns
loops()
{
	jq -r --arg function "$1" '[.loops[] | select(.function == $function)] | (map(.exact.references) | add) as $all | .[] |
		select(.exact.references >= $all / 10) |
		[.line, .estimated.references, .exact.references, .estimated.spatial, .exact.spatial, .estimated.temporal // -1,
		.exact.temporal // -1, .estimated.footprint, .exact.footprint] | join(" ")' "$report"
}

# check_kernel NAME FUNCTION PROGRAM [ARGUMENT]... - the kernel's loops are estimated as they are
check_kernel()
{
	local name=$1 function=$2 found=0

	if ! trace "${@:3}"; then
		not_ok "$name is traced" "$(cat "$scratch/err")"
		return
	fi
	check_equal "$name: the output is the program's own" "$("${@:3}")" "$(cat "$scratch/output")"
	while read -r line references exact_references spatial exact_spatial temporal exact_temporal footprint exact_footprint; do
		found=1
		check "$name, line $line: references $references, exactly $exact_references" \
			awk -v e="$references" -v x="$exact_references" 'BEGIN { exit !(e >= 0.85 * x && e <= 1.15 * x) }'
		check "$name, line $line: spatial $spatial, exactly $exact_spatial" \
			awk -v e="$spatial" -v x="$exact_spatial" 'BEGIN { exit !(e - x <= 0.05 && x - e <= 0.05) }'
		check "$name, line $line: temporal $temporal, exactly $exact_temporal" \
			awk -v e="$temporal" -v x="$exact_temporal" 'BEGIN { exit !(e >= 0 && x >= 0 && e - x <= 0.1 && x - e <= 0.1) }'
		check "$name, line $line: footprint $footprint, exactly $exact_footprint" \
			awk -v e="$footprint" -v x="$exact_footprint" 'BEGIN { exit !(x > 0 && e >= 0.95 * x && e <= 1.05 * x) }'
	done < <(loops "$function")
	check_equal "$name: loops of $function are in both" 1 "$found"
	check_at_least "$name: of a hundred references, the loops describe" 50 "$(jq '.described * 100 | floor' "$report")"
}

# ---- the twelve kernels ----

gcc -O2 -g "${cflags[@]}" -o "$scratch/twelve" "$sources/twelve.c" "${libs[@]}" -lm || not_ok 'the kernels are compiled'
check_kernel dense multiply_dense "$scratch/twelve" dense
check_kernel sparse multiply_sparse "$scratch/twelve" sparse
check_kernel stencil relax "$scratch/twelve" stencil
check_kernel fft transform "$scratch/twelve" fft
check_kernel join probe_table "$scratch/twelve" join
check_kernel list follow "$scratch/twelve" list
check_kernel tree search "$scratch/twelve" tree
check_kernel sort sort "$scratch/twelve" sort
check_kernel convolution convolve "$scratch/twelve" convolution
check_kernel transpose transpose "$scratch/twelve" transpose
check_kernel histogram count_pixels "$scratch/twelve" histogram
if command -v gfortran >/dev/null; then
	gfortran -O2 -g "${cflags[@]}" -o "$scratch/triangular" "$sources/triangular.f90" "${libs[@]}" || not_ok 'Fortran is compiled'
	check_kernel triangular triangular "$scratch/triangular"
else
	skip 'a triangular system in Fortran' 'gfortran is not installed'
fi

# ---- what is exact ----

# 20 rounds over three arrays of 1,000 elements of 8 bytes; references of the library and its countdown are not among them
gcc -O2 -g "${cflags[@]}" -o "$scratch/kernels" "$sources/kernels.c" "${libs[@]}" -lpthread
trace "$scratch/kernels" add 1000 20
check_equal 'each reference of a loop is counted, and no other' '60000 60000' \
	"$(jq -r '.loops[] | select(.function == "add") | "\(.estimated.references) \(.exact.references)"' "$report")"
check_equal '... and each line, of three arrays that begin somewhere in one' true \
	"$(jq -r '.loops[] | select(.function == "add") | .exact.footprint / 64 | . >= 375 and . <= 378' "$report")"
trace "$scratch/kernels" threads 1000
# where the countdown is becomes known when it is first stored to: each thread may have read its place once before
check_equal 'of four threads' true "$(jq -r '.loops[] | select(.function == "add") | .exact.references | . >= 12000 and . <= 12004' "$report")"
trace "$scratch/kernels" fork 1000
check_equal 'of a child, too' '2 9000' "$(jq -r '"\(.processes) \(.loops[] | select(.function == "add") | .exact.references)"' "$report")"

trace "$scratch/kernels" signals 5000
check "beside a handler that has loops: 165000, and $(jq '[.loops[] | select(.function == "multiply") | .exact.references] | max' "$report")" \
	awk -v x="$(jq '[.loops[] | select(.function == "multiply") | .exact.references] | max' "$report")" 'BEGIN { exit !(x >= 164900 && x <= 165100) }'

# ---- reuse that is sampled ----

trace "$scratch/twelve" sparse 300
exact=$(jq .exact.temporal "$report")
check_equal 'up to 100 million references reuse is exact' 0 "$(jq .sampled "$report")"
dcpiloc --exact --exact-millions 1 --json --output "$report" -- "$scratch/twelve" sparse 300 >/dev/null
check_equal 'behind what is asked for it is sampled' true "$(jq '.sampled > 30e6 and .bursts >= 1' "$report")"
check "... and is $(jq .exact.temporal "$report"), exactly $exact" \
	awk -v e="$(jq .exact.temporal "$report")" -v x="$exact" 'BEGIN { exit !(e - x <= 0.01 && x - e <= 0.01) }'
dcpiloc --exact --exact-millions 0 --output "$scratch/text" -- "$scratch/twelve" sparse 300 >/dev/null
check_equal '... which is said, with its error' 1 "$(grep -c 'are sampled, in [0-9]* bursts: .* +- 0[.][0-9]*' "$scratch/text")"

# ---- the program is its own ----

dcpiloc --exact --output "$scratch/text" -- "$scratch/kernels" exit 1000 >"$scratch/output" 2>"$scratch/err"
check_equal 'the exit status is the program'\''s' 3 $?
check_equal '... and it has a report' 1 "$(grep -c ' add .*kernels.c:' "$scratch/text")"
(dcpiloc --exact --output "$scratch/text" -- "$scratch/kernels" segv 1000) >"$scratch/output" 2>"$scratch/err"
check_equal 'and the signal that ended it' $((128 + 11)) $?
check_equal '... however it ended' 1 "$(grep -c ' add .*kernels.c:' "$scratch/text")"
check_equal '... where its sums are gone' 0 "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -user "$(id -un)" -name 'dcpiloc.*' | wc -l)"

# ---- for a reader ----

dcpiloc --exact --loop multiply_sparse --output "$scratch/text" -- "$scratch/twelve" sparse >/dev/null
check_at_least 'one loop, with its instructions' 3 "$(grep -c '^read .* twelve+0x' "$scratch/text")"
dcpiloc --exact --loop nowhere.c:1 --output "$scratch/text" -- "$scratch/twelve" sparse >/dev/null
check_equal '... and a sentence if it is none' 1 "$(grep -c 'No loop or function of the record is called so' "$scratch/text")"
dcpiloc --exact -- "$scratch/twelve" list >/dev/null 2>"$scratch/text"
check_equal 'the report is on standard error' 1 "$(grep -c 'the record.s loops describe [0-9.]* % of them' "$scratch/text")"

# ---- what goes wrong ----

gcc -O2 -g -o "$scratch/plain" "$sources/twelve.c" -lm
dcpiloc --exact --output "$scratch/text" -- "$scratch/plain" list >"$scratch/output"
check_equal 'a program without the plugin has a sentence' 1 "$(grep -c 'It left no record: compile it' "$scratch/text")"
check_equal '... and its exact totals' 1 "$(grep -c '^ *- *[0-9]* .*\[all\]' "$scratch/text")"
check_fails 'no program' 2 'which program?' dcpiloc --exact
check_fails 'a program that is none' 1 'cannot run it' dcpiloc --exact -- "$scratch/nowhere"
check_fails '--output without --exact' 2 'output is for --exact' dcpiloc --output "$scratch/text"
check_fails '--exact with --directory' 2 '--exact shows the record that its program leaves' dcpiloc --directory "$scratch" --exact -- "$scratch/plain"

[ $failures = 0 ]
