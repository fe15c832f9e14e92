#!/bin/bash
# dcpiloc keeps the records of programs that have ended in the database: an epoch for each run, which shows what the record
# showed; those of programs that live stay; nothing is lost or kept twice, whatever goes wrong; databases with them are
# checked, copied, merged and salvaged; and programs that run often do not fill the disk
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export DCPI_LOCALITY=$scratch/records DCPI_DB=$scratch/db
mkdir "$DCPI_LOCALITY"

if ! dcpiloc --cflags >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'records of loops are kept in the database' "$(cat "$scratch/err")"
	exit 0
fi
read -ra cflags <"$scratch/cflags"
read -ra libs < <(dcpiloc --libs)
for name in kernels other; do
	gcc -O2 -g "${cflags[@]}" -o "$scratch/$name" "$top/tests/workloads/locality/kernels.c" "${libs[@]}" -lpthread 2>"$scratch/err" ||
		not_ok 'a program is compiled' "$(cat "$scratch/err")"
done

# run PROGRAM ARGUMENT...
run()
{
	"$scratch/$1" "${@:2}" >"$scratch/out" 2>&1
}

records()
{
	find "$DCPI_LOCALITY" -type f | wc -l
}

# shown [OPTION...] - all that is shown, but for the epoch's number
shown()
{
	dcpiloc --json --limit 1000 "$@" 2>"$scratch/err" | jq -S 'del(.epoch)'
}

# summary [OPTION...] - epoch, program, processes
summary()
{
	dcpiloc --json "$@" 2>"$scratch/err" | jq -r '"\(.epoch) \(.program | sub(".*/"; "")) \(.records)"'
}

# epochs - how many there are
epochs()
{
	dcpictl check 2>&1 | sed -n 's/.*: \([0-9]*\) epochs\{0,1\},.*/\1/p'
}

# ---- into the database ----

check_fails 'no record and no database' 1 'there is no record' dcpiloc
check_equal '... which is not made for that' 1 "$(test ! -e "$DCPI_DB"; echo $((! $?)))"
run kernels sparse 3000
record=$(echo "$DCPI_LOCALITY"/*)
size=$(du -k "$record" | cut -f1)
by_file=$(shown "$record")
check_equal 'with --no-db the record stays' 'null kernels 1, 1' "$(summary --no-db), $(records)"
check_equal '... and so does one that is named' 'null kernels 1, 1' "$(summary "$record"), $(records)"
check_equal 'the record of a program that ended goes into the database' '1 kernels 1, 0' "$(summary), $(records)"
check_equal '... which shows what it showed' "$by_file" "$(shown)"
check_at_least '... with loops' 2 "$(jq '.loops | length' <<<"$by_file")"
figure "a record of $size KiB takes $(du -k "$DCPI_DB/data.mdb" | cut -f1) KiB as a database"
run other add 1000
run kernels fork 1000
check_equal 'a run with its child is one epoch, and the newest is shown' '3 kernels 2, 0' "$(summary), $(records)"
check_equal 'another by its number' '1 kernels 1' "$(summary --epoch 1)"
check_equal '... and the newest of a program' '2 other 1' "$(summary --epoch other)"
check_equal 'text says which' 1 "$(dcpiloc --epoch other | grep -c '^Epoch 2: .*/other, process')"
check_equal 'the database is whole' 3 "$(epochs)"
check_fails 'an epoch that is not there' 4 'there is no epoch 9' dcpiloc --epoch 9
check_fails '--epoch of files' 2 '--epoch is of the database' dcpiloc --epoch 1 --directory "$DCPI_LOCALITY"

