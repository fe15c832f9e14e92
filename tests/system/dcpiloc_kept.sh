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
	# two images of one build would be one image
	gcc -O2 -g "${cflags[@]}" "-Wl,--build-id=0x$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')" -o "$scratch/$name" "$top/tests/workloads/locality/kernels.c" "${libs[@]}" -lpthread 2>"$scratch/err" ||
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

# runs - how many are in the database; of an epoch that a dcpiloc began before it was killed there is no slice
runs()
{
	dcpictl check 2>&1 | sed -n 's/.* \([0-9]*\) slices\{0,1\},.*/\1/p'
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
check_equal 'the database is whole' 3 "$(runs)"
check_fails 'an epoch that is not there' 4 'there is no epoch 9' dcpiloc --epoch 9
check_fails '--epoch of files' 2 '--epoch is of the database' dcpiloc --epoch 1 --directory "$DCPI_LOCALITY"


# ---- programs that live ----

# begin PROGRAM - it runs until it is killed; sets $started
begin()
{
	start "$scratch/$1" add 1000 1000000000000 >"$scratch/out"
	wait_for 10 test -e "$DCPI_LOCALITY/locality.$started.0"
}

begin other
living=$started
run kernels sparse 100
check_equal 'a program that ended goes there, and the record of one that lives stays' '4 kernels 1, 1' "$(summary), $(records)"
begin other
check_equal '... which is shown, when it began last' 'null other 1, 2' "$(summary), $(records)"
kill "$living" "$started"
wait "$living" "$started" 2>/dev/null
check_equal '... until it has ended' '6 other 1, 0' "$(summary), $(records)"
# a shell's child of that number lives, but the program with the record has executed another
run kernels sparse 100
mv "$DCPI_LOCALITY"/locality.* "$DCPI_LOCALITY/locality.$$.0"
check_equal 'a process that has its number now does not keep it' '7 kernels 1, 0' "$(summary), $(records)"
: >"$DCPI_LOCALITY/locality.4194303.0"
check_equal 'a file of a program that ended before it wrote is removed' '7 kernels 1, 0' "$(summary), $(records)"

# ---- nothing is lost, and nothing is kept twice ----

for _ in {1..20}; do
	run kernels add 100
done
before=$(runs)
for _ in {1..5}; do
	dcpiloc >"$scratch/out.$BASHPID" 2>&1 &
done
wait
check_equal 'five dcpiloc at once keep twenty runs once' "$((before + 20)), 0" "$(runs), $(records)"
run kernels fork 100
cp -r "$DCPI_LOCALITY" "$scratch/copies"
before=$(runs)
check_equal 'a run is kept' "$((before + 1)) kernels 2, 0" "$(summary), $(records)"
cp "$scratch/copies"/* "$DCPI_LOCALITY"
check_equal '... once, when a dcpiloc was killed before it removed the files' "$((before + 1)) kernels 2, 0, $((before + 1))" \
	"$(summary), $(records), $(runs)"
for ((i = 0; i < 12; i++)); do
	run kernels random 300000
	{ timeout -s KILL "0.0$((i * 3 + 10))" dcpiloc >"$scratch/out"; } 2>"$scratch/killed"
done 2>/dev/null
dcpiloc >"$scratch/out" 2>&1
check_equal 'dcpiloc, killed at any time, loses none and keeps none twice' "$((before + 13)), 0" "$(runs), $(records)"
run other sparse 200
rm -rf "$scratch/copies"
cp -r "$DCPI_LOCALITY" "$scratch/copies"
echo 'no database' >"$scratch/blocked"
check_fails 'a database that cannot be written: that is said' 1 'cannot write the profile database' dcpiloc --db "$scratch/blocked"
check_equal '... the record is shown where it is, and stays' 'null other 1, 1' "$(summary --db "$scratch/blocked"), $(records)"
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$scratch"
	mkdir "$scratch/theirs"
	chown -R 65534 "$scratch/theirs" "$scratch/copies"
	cp "$build/bin/dcpiloc" "$scratch/dcpiloc"
	cp -P "$build"/lib/*.so* "$scratch/" 2>/dev/null
	chmod -R a+rX "$scratch/dcpiloc"
	check_equal 'a user without rights sees records of the own, which stay' 'null other 1, 1' "$(
		DCPI_LOCALITY=$scratch/copies DCPI_DB='' setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$scratch/dcpiloc" --db /nowhere/dcpi --json 2>"$scratch/err" | jq -r '"\(.epoch) \(.program | sub(".*/"; "")) \(.records)"'
	), $(find "$scratch/copies" -type f | wc -l)"
	check_equal '... and keeps them in a database of the own' '1 other 1, 0' "$(
		DCPI_LOCALITY=$scratch/copies setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$scratch/dcpiloc" --db "$scratch/theirs/db" --json 2>"$scratch/err" | jq -r '"\(.epoch) \(.program | sub(".*/"; "")) \(.records)"'
	), $(find "$scratch/copies" -type f | wc -l)"
else
	skip 'a user without rights sees records of the own' 'not root'
fi
head -c 200000 /dev/urandom >"$DCPI_LOCALITY/locality.4194302.0"
check_fails 'a damaged record is named' 1 'locality.4194302.0: it is no record of this version of dcpi, or damaged' dcpiloc
check_equal '... and the others are kept' 'other 1, 1' "$(summary | cut -d' ' -f2-), $(records)"
rm "$DCPI_LOCALITY"/*
run kernels sparse 3000
truncate -s 5000 "$DCPI_LOCALITY"/*
run other sparse 3000
check_fails 'a record that was cut off is named' 1 'the record is damaged, and its run stays out of the database: remove it' dcpiloc
check_equal '... and runs behind it are kept' 'other 1, 1' "$(summary | cut -d' ' -f2-), $(records)"
rm "$DCPI_LOCALITY"/*

# ---- what is done with databases ----

newest=$(shown)
check 'an archive is written' dcpitar "$scratch/archive.tar.zst"
check '... and read' dcpitar -x "$scratch/archive.tar.zst" --to "$scratch/elsewhere"
check_equal '... with the loops' "$newest" "$(shown --db "$(dirname "$(find "$scratch/elsewhere" -name data.mdb)")")"
check 'the database is compacted' dcpictl compact
check_equal '... with the loops' "$newest" "$(shown)"
check 'it is salvaged' dcpictl salvage --to "$scratch/salvaged"
check_equal '... with the loops' "$newest" "$(shown --db "$scratch/salvaged")"
mkdir "$scratch/small"
run kernels columns 300
DCPI_DB=$scratch/small/db dcpiloc >"$scratch/out"
check 'it is imported into another' dcpimport --db "$scratch/small/db" "$DCPI_DB"
check_equal '... which has the loops of both' "$(runs) 1 kernels 1" \
	"$(DCPI_DB=$scratch/small/db runs | awk '{ print $1 - 1 }') $(summary --db "$scratch/small/db" --epoch 1)"
check_equal '... as they were' "$newest" "$(shown --db "$scratch/small/db" --epoch other)"
check 'all of them are whole' dcpictl --db "$scratch/small/db" check

# ---- programs that run often ----

for ((i = 0; i < 999; i++)); do
	: >"$DCPI_LOCALITY/locality.$((5000000 + i)).0"
done
run kernels add 100
check_equal 'the thousandth record is made' 1000 "$(records)"
check 'the next program runs' run kernels add 100
check_equal '... without one' 1000 "$(records)"
check_equal 'dcpiloc says so' 1 "$(dcpiloc 2>&1 >"$scratch/out" | grep -c 'it was full: programs that began since then left no record')"
run kernels add 100
check_equal '... and makes room' 1 "$(records)"
dcpiloc >"$scratch/out"

# ---- strides in dcpicalc ----

if may_sample_or_skip 'dcpicalc shows strides'; then
	export DCPI_DB=$scratch/sampled
	start_dcpid "$DCPI_DB" || not_ok 'dcpid starts' "$(cat "$DCPI_DB.log")"
	for arguments in 'sparse 3000 6000' 'columns 1000 500' 'add 1000 1200000'; do
		# shellcheck disable=SC2086 # words
		run kernels $arguments
	done
	run other random 20000000
	dcpictl flush >"$scratch/out"

	# strides PROCEDURE IMAGE - "what it does: strides", once for each kind of instruction
	strides()
	{
		dcpicalc --json "$1" "$scratch/$2" 2>"$scratch/err" | jq -r '.blocks[].instructions[] | select(.references) |
			[.references[] | (.stride | tostring) + " " + .name] | join(", ")' | sort -u | paste -sd';'
	}

	check_equal 'without a record nothing is said' '' "$(strides multiply kernels)"
	dcpiloc >"$scratch/out" 2>&1
	check_equal 'a sparse matrix: by line, size, and what is done' '4 columns;4 rows;8 values, null x;8 y' "$(strides multiply kernels)"
	check_equal 'down the columns of a matrix' '8000 matrix' "$(strides sum_columns kernels)"
	check_equal 'a sum of two' '8 a, 8 b;8 c' "$(strides add kernels)"
	check_equal 'each in the newest run that has it: at random' 'null table' "$(strides update other)"
	check_equal 'in text, at the end of the line' 1 "$(dcpicalc sum_columns "$scratch/kernels" | grep -c '[0-9)y]  # stride 8000: matrix$')"
	check_at_least 'samples stay what is newest' 1 "$(dcpiprof 2>&1 | grep -c '/kernels$')"
fi

[ $failures = 0 ]
