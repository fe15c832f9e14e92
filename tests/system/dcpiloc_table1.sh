#!/bin/bash
# Table 1 of Diniz and Krishna, "A Compiler-guided Instrumentation for Application Behavior Understanding" (CTWatch Quarterly
# 2006), by dcpiloc: basic blocks, how often they run, references and locality of streamadd, randomaccess, and NAS CG's product
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sources=$top/tests/workloads/locality
export DCPI_LOCALITY=$scratch/records DCPI_DB=$scratch/db
report=$scratch/report
mkdir "$DCPI_LOCALITY"

if ! dcpiloc --cflags --source >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'programs are compiled with the plugin' "$(cat "$scratch/err")"
	exit 0
fi
read -ra cflags <"$scratch/cflags"
read -ra libs < <(dcpiloc --libs)

observe()
{
	rm -f "$DCPI_LOCALITY"/*
	"$@" >"$scratch/output" || not_ok "$*: it runs"
	dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" >"$report"
}

# row FUNCTION - what the article's table says of a program, of the function with its loops
row()
{
	function=$(jq --arg function "$1" '[.functions[] | select(.function == $function)][0]' "$report")
	classes=$(jq -r '.classes | "\(.stride_0) \(.stride_1) \(.strided) \(.random)"' <<<"$function")
	frequency=$(jq -r '.frequency | "\(.min):\(.mean | floor):\(.max | round)"' <<<"$function")
	blocks=$(jq .basic_blocks <<<"$function")
	spatial=$(jq .spatial <<<"$function")
	by_stride=$(jq .by_stride <<<"$function")
	temporal=$(jq .temporal <<<"$function")
	figure "$1: $blocks basic blocks, $frequency; stride 0, 1, other, random: $classes; spatial $spatial, by stride" \
		"$by_stride, temporal $temporal"
}

# without_tests - how often the blocks ran, but for those that only test whether a loop goes on
without_tests()
{
	jq -c --argjson tests "$(jq -c '[.loops[].block]' "$report")" \
		'.frequencies | to_entries | map(select(.key as $block | $tests | index($block) | not) | .value)' <<<"$function"
}

# close SENTENCE EXPECTED FOUND WITHIN
close()
{
	check "$1: $3 is $2 within $4" awk -v e="$2" -v f="$3" -v w="$4" 'BEGIN { exit !(f - e <= w && e - f <= w) }'
}

# ---- streamadd: 5 blocks, 1:200:1,000; 3 stride 1; spatial 0.999, temporal 0.1 ----

check 'the programs in C are compiled' gcc -O2 -g "${cflags[@]}" -o "$scratch/article" "$sources/article.c" "${libs[@]}"
observe "$scratch/article" streamadd 1000
row streamadd
check_equal 'streamadd: its references are 3 of stride 1' '0 3 0 0' "$classes"
close '... spatial' 0.999 "$spatial" 0.01
check_equal '... GCC has 6 blocks, with where it begins and ends; the test of the loop is one of its own' '6 1:334:1001' \
	"$blocks $frequency"
check_equal '... without that they are the 5 of the article, and run as often' '5 1:200:1000' \
	"$(without_tests | jq -r '"\(length) \(min):\(add / length | floor):\(max)"')"
# nothing comes back; the article has 1 / log2(1000) for that
close '... nothing comes back' 0 "$temporal" 0.001
close '... which the article counts as the last of its powers of two' 0.1 "$(awk 'BEGIN { print 1 / (log(1000) / log(2)) }')" 0.001

# ---- randomaccess: 12 blocks, to 2,000,000; 1 stride 0, 2 random; spatial 0.001, temporal 0.000 ----

observe "$scratch/article" randomaccess 2000000
row randomaccess
check_equal 'randomaccess: its references are 1 of stride 0, and 2 random' '1 0 0 2' "$classes"
close '... spatial' 0.001 "$spatial" 0.01
close '... spatial, by stride' 0.001 "$by_stride" 0.01
check_equal '... GCC has 9 blocks; how often each side of a condition runs is not known' '9 7 1:2000001' \
	"$blocks $(jq -r .frequency.known <<<"$function") ${frequency%%:*}:${frequency##*:}"
check_equal '... without the test of the loop, the most frequent run as often as the article says' 2000000 "$(without_tests | jq max)"
# the size is the same address, the write that of the read before it: both come back at once, and count 1 here, 0 there
streams=$(jq -c '.loops[0].streams' "$report")
check_equal '... of its temporal score, that of the same address and of a write behind its read is all' '1 1' \
	"$(jq -r '"\([.[] | select(.class == "stride 0")][0].temporal * 1000 | round / 1000) \([.[] | select(.access == "write")][0].temporal * 1000 | round / 1000)"' <<<"$streams")"
close '... the random read has' 0.000 "$(jq '[.[] | select(.class == "irregular" and .access == "read")][0].temporal' <<<"$streams")" 0.05

# ---- CGM: 14 blocks, 1:269,729:1,853,104; 2 random, 7 stride 1; spatial 0.714, temporal 0.422 ----

if ! command -v gfortran >/dev/null; then
	skip 'CGM' 'gfortran is not installed'
	exit
fi
check 'CG is compiled' gfortran -O2 -J "$scratch" -c -o "$scratch/cg.o" "$sources/cg.f90"
check '... and its product, with the plugin' gfortran -O2 -g "${cflags[@]}" -o "$scratch/cgm" "$sources/cgm.f90" "$scratch/cg.o" "${libs[@]}"
observe "$scratch/cgm" A 1
read -r _ rows _ elements <"$scratch/output"
check_equal 'CGM: the matrix of class A has the elements of the article' '14000 1853104' "$rows $elements"
row matvec
check_equal '... its references are 7 of stride 1, and 2 random' '0 7 0 2' "$classes"
close '... temporal' 0.422 "$temporal" 0.05
check_equal '... GCC has 12 blocks' 12 "$blocks"
# The article's: without the tests of three loops, with a block before the second and third loop, one for each label that
# ends the first and third loop, and one for RETURN: 7 that run once, 5 for each row, 2 for each element.
check_equal '... by its rules these are 14, and run as often on average' '14 269729' \
	"$(awk -v n="$rows" -v z="$elements" -v b="$(without_tests | jq length)" 'BEGIN { print b + 5, int((7 + 5 * n + 2 * z) / 14) }')"
check_equal '... those of GCC without the tests: once, for each row' "5 3" \
	"$(without_tests | jq -r --argjson n "$rows" '"\(map(select(. == 1)) | length) \(map(select(. == $n)) | length)"')"
# the burst ends within the third loop: its iterations are those of the entries that were recorded
check "... for each element, within 2 %" awk -v e="$elements" -v f="$(without_tests | jq max)" \
	'BEGIN { exit !(f / e > 0.98 && f / e < 1.02) }'
# Of the five references to each element, three are of stride 1; the article has the two of colstr, which bound the third
# loop, as references of that loop: 5 of 7. Three of these come back at once: the bounds, and rowidx.
close '... spatial, by stride, as references are made' "$(awk -v n="$rows" -v z="$elements" 'BEGIN { print (3 * z + 4 * n) / (5 * z + 4 * n) }')" \
	"$by_stride" 0.001
close '... with the bounds of the third loop counted in it' 0.714 \
	"$(awk -v n="$rows" -v z="$(without_tests | jq max)" 'BEGIN { print (5 * z + 2 * n) / (7 * z + 2 * n) }')" 0.01
observe "$scratch/cgm" S 1
row matvec
check_equal 'CGM of class S is recorded whole' '1:13725:79548' "$frequency"

[ $failures = 0 ]
