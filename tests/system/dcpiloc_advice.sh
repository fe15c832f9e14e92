#!/bin/bash
# dcpiloc --try: of six kernels with a known remedy that one is first, and the caches of the emulator miss less with it as
# foretold; what is not proved is not proposed
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sources=$top/tests/workloads/locality
machine=e5-2699v3
export DCPI_LOCALITY=$scratch/records
report=$scratch/report
mkdir "$DCPI_LOCALITY"

if ! dcpiloc --cflags >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'remedies of loops' "$(cat "$scratch/err")"
	exit 0
fi
read -ra cflags <"$scratch/cflags"
read -ra libs < <(dcpiloc --libs)
check 'the kernels in C are compiled with the plugin' gcc -O2 -g "${cflags[@]}" -o "$scratch/remedies" "$sources/remedies.c" "${libs[@]}"
check '... and without' gcc -O2 -g -o "$scratch/plain-remedies" "$sources/remedies.c"

# advise PROGRAM KERNEL SIZE - its remedies, of the kernel's function FUNCTION
advise()
{
	rm -f "$DCPI_LOCALITY"/*
	"$scratch/$1" "$2" "$3" 1 >/dev/null || not_ok "$2 runs"
	dcpiloc --json --try --machine $machine --directory "$DCPI_LOCALITY" >"$report" || not_ok "dcpiloc tries $2"
}

# of FILTER - of the remedies of the nest with most references
of()
{
	jq -r "[.advice[]] | max_by(.references) | $1" "$report"
}

# misses LEVEL PROGRAM ARGUMENT... - of data, in the emulator (1: of level 1)
misses()
{
	local level=$1

	dcpiemu run --machine $machine --threads 1 --no-db --json --quiet --output "$scratch/run" -- "$scratch/$2" "${@:3}" \
		>/dev/null 2>"$scratch/err" || return
	jq ".levels[$level] | .loads_missed + .stores_missed" "$scratch/run"
}

# judge PROGRAM KERNEL SIZE KIND TEXT - the first remedy is KIND and says TEXT; the change of misses is within a tenth, or a few
judge()
{
	local level before after foretold

	advise "$1" "$2" "$3"
	check_equal "$2: the remedy is the known one" "$4" "$(of '.remedies[1].kind')"
	check_equal "$2: '$5'" 1 "$(of '.remedies[1].text' | grep -c -- "$5")"
	[ "$has_emulator" = yes ] || return
	for level in 1 2; do
		before=$(misses $level "plain-$1" "$2" "$3" 1)
		after=$(misses $level "plain-$1" "$2-remedied" "$3" 1)
		foretold=$(of ".remedies[0].trial.missed[$((level - 1))] - .remedies[1].trial.missed[$((level - 1))]")
		check "$2: $((before - after)) misses of level $level less, foretold $foretold" \
			awk -v found=$((before - after)) -v said="$foretold" 'BEGIN {
				within = 0.1 * found + 100
				exit !(said - found <= within && found - said <= within) }'
	done
}

has_emulator=yes
misses 1 plain-remedies columns 10 1 >/dev/null || {
	has_emulator=no
	skip 'misses of the remedied kernels' "$(tail -n 1 "$scratch/err")"
}
judge remedies columns 700 interchange 'loops of lines [0-9]*, [0-9]*; sums are added in another order'
judge remedies product 200 tile 'tiles of 32 iterations'
judge remedies bodies 100000 split 'members of body in arrays of their own (8 of 64 bytes are used)'
judge remedies recurrence 700 transpose 'keep matrix transposed'
check_equal '... and an interchange is not proposed' 0 "$(of '[.remedies[] | select(.kind == "interchange" or .kind == "tile")] | length')"
judge remedies planes 100 interchange 'interchange: loops of lines'
if command -v gfortran >/dev/null; then
	check 'the kernel in Fortran is compiled with the plugin' \
		gfortran -O2 -g "${cflags[@]}" -o "$scratch/rows" "$sources/rows.f90" "${libs[@]}"
	check '... and without' gfortran -O2 -g -o "$scratch/plain-rows" "$sources/rows.f90"
	judge rows rows 700 interchange 'loops of lines'
else
	skip 'a kernel in Fortran' 'gfortran is not installed'
fi

# ---- what another order of the loops would change ----

for level in 1 2 3 s; do
	check "-O$level: kernels whose order of loops matters are compiled" \
		gcc -O$level -g "${cflags[@]}" -o "$scratch/orders" "$sources/orders.c" "${libs[@]}"
	for kernel in last_negative begin_anew twice sum_of_sums squares_of_sums products copied atomic read_before_sum read_before_all; do
		advise orders $kernel 300
		check_equal "-O$level, $kernel: its nest is seen" 1 "$(of '.remedies | length > 0' | grep -c true)"
		check_equal "-O$level, $kernel: no other order is proposed" 0 \
			"$(of '[.remedies[] | select(.kind == "interchange" or .kind == "tile")] | length')"
	done
	for kernel in sum_of_all sum_of_some sum_by_columns; do
		advise orders $kernel 300
		check_equal "-O$level, $kernel: another order is proposed" true \
			"$(of '[.remedies[] | select(.kind == "interchange")] | length > 0')"
	done
done

# ---- for a reader ----

advise remedies columns 300
check_equal 'the nest as it is comes first' 1 "$(dcpiloc --directory "$DCPI_LOCALITY" --try --machine $machine | grep -c 'as it is: loops of lines')"
check_equal 'without a machine: by lines' 1 "$(dcpiloc --directory "$DCPI_LOCALITY" | grep -c '125  *interchange: loops of lines')"
advise remedies columns-remedied 300
check_equal 'a kernel that needs none gets none' 1 "$(dcpiloc --directory "$DCPI_LOCALITY" --loop columns_remedied --try --machine $machine | grep -c 'There is no remedy')"
check_fails 'no machine' 2 '--try: on which machine' dcpiloc --try
check_fails 'a machine alone' 2 '--machine is for --try' dcpiloc --machine $machine
check_fails 'a machine that is none' 2 'there is no machine "nowhere"' dcpiloc --directory "$DCPI_LOCALITY" --try --machine nowhere

[ $failures = 0 ]
