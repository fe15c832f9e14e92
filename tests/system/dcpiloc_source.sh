#!/bin/bash
# dcpiloc --cflags --source: programs do what they do without it, at each level of optimization, -O0 too; what is said of the
# loops, basic blocks and references of a source does not depend on the level; NAS CG has its zeta with either plugin
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sources=$top/tests/workloads/locality
export DCPI_LOCALITY=$scratch/records DCPI_DB=$scratch/db
report=$scratch/report
mkdir "$DCPI_LOCALITY" "$scratch/plain"

if ! dcpiloc --cflags --source >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'programs are compiled with the plugin' "$(cat "$scratch/err")"
	exit 0
fi
read -ra source_flags <"$scratch/cflags"
read -ra optimized_flags < <(dcpiloc --cflags)
read -ra libs < <(dcpiloc --libs)
cflags=("${source_flags[@]}")

# compile COMPILER OPTIONS SOURCE... - $scratch/program with the plugin, $scratch/plain/program without; OPTIONS are words
compile()
{
	local compiler=$1 options

	read -ra options <<<"$2"
	[ "$compiler" != gfortran ] || options+=(-J "$scratch")
	"$compiler" "${options[@]}" -o "$scratch/plain/program" "${@:3}" -lpthread 2>"$scratch/err" &&
		"$compiler" "${options[@]}" "${cflags[@]}" -o "$scratch/program" "${@:3}" "${libs[@]}" -lpthread 2>>"$scratch/err"
}

is_same()
{
	[ "$("$scratch/plain/program" "$@" 2>&1; echo $?)" = "$("$scratch/program" "$@" 2>&1; echo $?)" ]
}

# observe ARGUMENT... - run the program, whose record alone is shown in $report
observe()
{
	rm -f "$DCPI_LOCALITY"/*
	is_same "$@" || not_ok "$* does what it does without the plugin"
	dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" >"$report" 2>"$scratch/err"
}

# function_of NAME FILTER
function_of()
{
	jq -r --arg function "$1" ".functions[] | select(.function == \$function) | $2" "$report"
}

# close SENTENCE EXPECTED FOUND WITHIN
close()
{
	check "$1: $3 is $2 within $4" awk -v e="$2" -v f="$3" -v w="$4" 'BEGIN { exit !(f - e <= w && e - f <= w) }'
}

frequencies='[.frequencies[] | if . == null then "?" else round end | tostring] | join(" ")'
classes='(.classes | "\(.stride_0) \(.stride_1) \(.strided) \(.random)")'
has_fortran=$(command -v gfortran)
[ "$has_fortran" ] || skip 'programs in Fortran' 'gfortran is not installed'

for level in -O0 -O1 -O2 -O3 -Os '-O3 -march=native' '-O2 -flto' '-O2 -fopenmp' '-O2 -fnon-call-exceptions' \
	'-O0 -fchecking' '-O2 -fchecking'; do
	compile gcc "$level -g" "$sources/kernels.c" || not_ok "compiled with $level" "$(cat "$scratch/err")"
	unlike=''
	for name in add random sparse columns chase search members threads fork segv exit jump goto signals; do
		is_same $name 300 2 || unlike+=" $name"
	done
	# begins, ends; before the loop, in it, its test, behind it
	observe add 300 2
	check_equal "$level: a loop of 300, called twice" '2 2 2 600 602 2' "$(function_of add "$frequencies")"
	check_equal "$level: ... and its references" '0 3 0 0 1800' "$(function_of add "$classes + \" \(.references)\"")"
	# the first of each array has no neighbour
	close "$level: ... spatial" "$(awk 'BEGIN { print 299 / 300 }')" "$(function_of add .spatial)" 0.001
	observe sparse 300
	check_equal "$level: a loop in a loop" '1 1 1 300 3300 3600 300 301 1' "$(function_of multiply "$frequencies")"
	compile g++ "$level -g" "$sources/throws.cc" && is_same || unlike+=' throws.cc'
	if [ "$has_fortran" ]; then
		compile gfortran "$level -g" "$sources/sparse.f90" && is_same || unlike+=' sparse.f90'
		observe
		check_equal "$level: Fortran" '0 6 0 2' "$(function_of matvec "$classes")"
		check_equal "$level: ... its blocks" '1 1 1 2001 2000 16000 14000 2000 1' "$(function_of matvec "$frequencies")"
	fi
	check_equal "$level: which programs do not do what they do without the plugin" '' "$unlike"
done

# ---- what is not known is not said ----

compile gcc '-O2 -g' "$sources/kernels.c"
observe chase 5000
check_equal 'a list: how often its loop ran follows from its references' '1 1 1 5000 5001 1' "$(function_of chase "$frequencies")"
observe random 1000
check_equal 'a place in a table is read and written, and the number whose address a function is given is in memory' '1 0 0 2' "$(function_of update "$classes")"
check_equal 'a loop says in which blocks its references are' "$(function_of update '.frequencies | index(1000)')" \
	"$(jq '[.loops[] | select(.function == "update")][0].streams[0].block' "$report")"

# ---- for a reader ----

observe sparse 1000
check_equal 'functions have a table' 1 "$(dcpiloc --directory "$DCPI_LOCALITY" | grep -c '^ *1  *9  *1:[0-9]*:12000  .*multiply  *kernels.c:[0-9]*  ')"
check_equal 'one function, with the blocks of its references' 1 "$(dcpiloc --directory "$DCPI_LOCALITY" --loop multiply | grep -c '  columns  *4$')"
check_fails 'the source is looked at by the compiler' 2 '--source is for --cflags' dcpiloc --source
cflags=("${optimized_flags[@]}")
compile gcc '-O2 -g' "$sources/kernels.c"
observe sparse 1000
check_equal 'behind the optimizer, basic blocks have no numbers' '0 null' "$(jq -r '"\(.functions | length) \(.loops[0].block)"' "$report")"

# ---- NAS CG ----

if [ "$has_fortran" ]; then
	for mode in source optimized; do
		[ $mode = optimized ] || cflags=("${source_flags[@]}")
		[ $mode = source ] || cflags=("${optimized_flags[@]}")
		for level in -O0 -O2 -O3; do
			compile gfortran "$level -g" "$sources/cg.f90" "$sources/cgm.f90" || not_ok "CG, $mode $level" "$(cat "$scratch/err")"
			check "NAS CG, class S, $mode, $level: zeta is the specification's within 1e-10" "$scratch/program" S
			check "... and the same without the plugin" is_same S
		done
		check "class W, $mode" "$scratch/program" W
		check '... the same' is_same W
	done
fi

[ $failures = 0 ]
