#!/bin/bash
# dcpiprof on a small database, its output compared whole with tests/system/expected/dcpiprof/; the expected texts are
# written by hand (the path of the scratch folder is PLACE in them, and the rule above the table is five long).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=figure_database.sh
. "$top/tests/system/figure_database.sh"

here=$top/tests/system
db=$scratch/db
export COLUMNS=80
unset PAGER LESS NO_COLOR

# The output of a command, made the same for every scratch folder.
normal()
{
	"$@" 2>&1 | sed "s|$scratch|PLACE|g; /^==*\$/s/.*/=====/"
}

# prints SENTENCE EXPECTED-FILE OPTION... - dcpiprof with these options prints that
prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpiprof/$2")" "$(normal dcpiprof --db "$db" "${@:3}")"
}

# on_terminal COLUMNS OPTION... - what dcpiprof writes to a terminal that is so wide, without carriage returns
on_terminal()
{
	local columns=$1

	shift
	TERM=xterm script -qec "stty cols $columns; dcpiprof --db $db $*" /dev/null </dev/null | tr -d '\r'
}

check 'the database is made' make_figure_database "$db" || exit 1

prints 'procedures of the latest epoch' default
prints 'images with -i' by-image -i
prints 'one image, by name' image --image libfigure.so
prints 'one image, by path' image --image "$scratch/libfigure.so"
prints 'one image, by the beginning of its build-id' image --image 1111
prints 'one image, as an argument' image libfigure.so
check_equal 'of many images that were asked for, three are named' \
	"Only image $scratch/libfigure.so, image $scratch/libstripped.so, image $scratch/libreplaced.so (33333333) and 2 more images" \
	"$(dcpiprof --db "$db" --image '*.so' | sed -n '2s/:.*//p')"
prints 'one event of some processes' context --comm 'ev*' --cgroup /system.slice --event cpu-clock --limit 2
prints 'all epochs, the rows that 60 % need' all-epochs --epoch all --keep 60
prints 'comma-separated values' csv --csv
prints 'sorted by another event' by-faults -i --sort page-faults --limit 2 --csv
prints 'JSON' json --json --limit 2

check_equal 'an epoch by label, number, and counted back' "$(printf 'hot_loop\n%.0s' 1 2 3)" \
	"$(for epoch in before 1 latest-1; do dcpiprof --db "$db" --epoch $epoch --event cpu-clock --no-header | awk '{ print $4 }'; done)"
check_equal 'a stretch of time takes the slices it meets' '560 75.68%' \
	"$(dcpiprof --db "$db" --since '2026-11-21 15:45' --no-header -i --limit 1 | awk '{ print $1, $2 }')"
check_equal '--no-header prints rows only' '     5200  52.00%  52.00% hot_loop   PLACE/libfigure.so' \
	"$(normal dcpiprof --db "$db" --no-header --limit 1 --event cpu-clock)"
check_equal '--no-demangle keeps the linker'\''s names' '1' \
	"$(dcpiprof --db "$db" --no-demangle | grep -c ' _ZN3foo3barEi ')"
check_equal 'the rule is as wide as the table' "$(dcpiprof --db "$db" | grep '^==*$' | wc -L)" \
	"$(dcpiprof --db "$db" | sed -n '/^==/,/^$/p' | grep -v '^=' | wc -L)"
check_equal 'rows without samples of the event are not missed' '' \
	"$(dcpiprof --db "$db" --event page-faults | grep '^Rows:')"
DCPI_DB=$db check 'the database may come from the environment' dcpiprof

check 'JSON has every key that is promised' json_holds '
	(keys - ["covered"] | contains(["schema", "events", "rows", "unknown", "lost", "throttled", "overhead_percent"])) and
	(.events[0] | has("name") and has("unit") and has("period") and has("samples")) and
	(.rows | all(has("procedure") and has("image") and has("build_id") and has("counts")))' <(dcpiprof --db "$db" --json)
check_equal 'rows and unknown samples of JSON are all samples' '10000 10000' "$(dcpiprof --db "$db" --json |
	jq -r '"\([.rows[].counts["cpu-clock"]] + [.unknown[]] | add) \(.events[0].samples)"')"
check_equal 'no control character reaches the output' 0 \
	"$(for format in --json --csv --color=never; do dcpiprof --db "$db" $format; done | LC_ALL=C grep -c $'[\001-\010\013-\037]')"

check_equal 'no colour in a pipe' 0 "$(dcpiprof --db "$db" | grep -c $'\033')"
check_equal 'colour in a pipe if asked for' yes "$(dcpiprof --db "$db" --color | grep -q $'\033\[1m' && echo yes)"
check_equal 'colour on a terminal' yes "$(PAGER='' on_terminal 80 | grep -q $'\033\[1m' && echo yes)"
check_equal 'NO_COLOR is honoured' 0 "$(NO_COLOR=1 PAGER='' on_terminal 80 | grep -c $'\033')"
check_equal 'a terminal cuts the table to its width' 80 \
	"$(PAGER='' on_terminal 80 --color=never | sed -n '/^==/,/^$/p' | wc -L)"
check_equal 'a pager is used on a terminal' 'PAGED Total' "$(PAGER="sed 's/^/PAGED /'" on_terminal 80 | head -1 | cut -c1-11)"
check_equal 'no pager if not wanted' 'Total' "$(PAGER="sed 's/^/PAGED /'" on_terminal 80 --no-pager | head -1 | cut -c1-5)"
check_equal 'a reader that leaves early is no error' '' "$( (trap '' PIPE; dcpiprof --db "$db" | head -1 >/dev/null) 2>&1)"
check_fails 'a full disk is an error' 1 'standard output: cannot write the report: No space left on device' \
	bash -c "dcpiprof --db '$db' >/dev/full"

check_fails 'an image that is not there' 4 \
	'dcpiprof: postgres: no image with samples is called that; the hottest images are '"$scratch/libfigure.so, " \
	dcpiprof --db "$db" --image postgres
check_fails 'an image that is nearly there' 4 'did you mean libfigure.so?' dcpiprof --db "$db" --image libfigur.so
check_fails 'a command that is not there' 4 'there are figure, ev\x1b[2Jil' dcpiprof --db "$db" --comm nginx
check_fails 'an event that stands in' 4 'cycles was not counted; cpu-clock stands in for it' \
	dcpiprof --db "$db" --event cycles
check_fails 'an event that is not available' 4 'cache-misses was not available on this machine' \
	dcpiprof --db "$db" --sort cache-misses
check_fails 'an event that is none' 2 'did you mean page-faults?' dcpiprof --db "$db" --event page-fault
check_fails 'a time that is none' 2 "--since 'noon' is not a time; write '10m'" dcpiprof --db "$db" --since noon
check_fails 'times in the wrong order' 2 '--since is not before --until' \
	dcpiprof --db "$db" --since 2026-11-22 --until 2026-11-21
check_fails 'a time before all samples' 4 'no samples in that time; there are some from 2026-11-21 14:30:00 UTC to' \
	dcpiprof --db "$db" --until @0
check_fails 'a percentage that is none' 2 "--keep '101' is not a number from 0 to 100" dcpiprof --db "$db" --keep 101
check_fails 'an option that is none' 2 '--help' dcpiprof --colour
check_fails 'no database' 1 'there is no profile database here (start the daemon with '"'systemctl start dcpid'" \
	dcpiprof --db "$scratch/nothing"

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch" && chmod 700 "$db"
	check_fails 'no permission' 1 'Permission denied (are you in group dcpi?)' \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$build/bin/dcpiprof" --db "$db"
else
	skip 'no permission' 'not root, so there is no other user to be'
fi

# Every page but the two that are read first; the file is as long as it was. Nothing random: that now and then looks like
# a page of somebody else's.
cp -r "$db" "$scratch/damaged"
pages=$(($(stat -c %s "$db/data.mdb") / 4096))
tr '\0' '\377' </dev/zero | dd of="$scratch/damaged/data.mdb" bs=4096 seek=2 count=$((pages - 2)) iflag=fullblock conv=notrunc status=none
check_fails 'a damaged database' 3 "'dcpictl salvage' saves what is whole" dcpiprof --db "$scratch/damaged"

cp -r "$db" "$scratch/short"
truncate -s 8192 "$scratch/short/data.mdb"
check_fails 'a database that was cut short' 3 "'dcpictl salvage' saves what is whole" dcpiprof --db "$scratch/short"

# Ten million samples at 60,000 places: this program's own libraries, and a kernel of 100,000 functions.
describe_large()
{
	local library offset size number=0

	echo 'event cpu-clock cpu-clock ns 1000000 yes -'
	echo 'event cache-misses cache-misses events 1000003 yes -'
	echo 'epoch 1795271400 -'
	echo 'context gcc / -'
	echo 'image kernel - [kernel]'
	awk 'BEGIN { for (i = 0; i < 40000; i++) print "count", i % 4 ? "cpu-clock" : "cache-misses", 0, 0, i * 150, 170 }'
	for library in $(ldd "$build/bin/dcpiprof" | awk '$3 ~ "^/" { print $3 }'); do
		number=$((number + 1))
		echo "image user $(readelf -n "$library" | awk '/Build ID/ { print $3 }') $(realpath "$library")"
		read -r offset size < <(readelf -lW "$library" | awk '$1 == "LOAD" && / R E / { print $2, $5 }')
		awk -v image=$number -v offset=$((offset)) -v size=$((size)) \
			'BEGIN { for (i = 0; i < 2000; i++) print "count cpu-clock", image, 0, offset + int(size * i / 2000), 170 }'
	done
	echo 'slice 1795271400 1795272000'
	awk 'BEGIN { printf "symbols 0"; for (i = 0; i < 100000; i++) printf " %d kernel_function_%d", i * 64, i; print "" }'
}

describe_large >"$scratch/large.description"
check 'a large database is made' "$build/tests/system/make_database" "$scratch/large" <"$scratch/large.description"
samples=$(dcpiprof --db "$scratch/large" -i --json | jq '[.events[].samples] | add')
TIMEFORMAT='%U %S'
read -r user kernel < <({ time dcpiprof --db "$scratch/large" >"$scratch/large.out"; } 2>&1)
cpu_ms=$(awk -v user="$user" -v kernel="$kernel" 'BEGIN { print int((user + kernel) * 1000) }')
figure "dcpiprof on $samples samples: $cpu_ms ms of processor time, $(wc -l <"$scratch/large.out") lines"
check 'many samples make a report' grep -q kernel_function_ "$scratch/large.out"

# The kernel's names are most of a small database, as one value that is compressed: zstd's frames begin with 28b52ffd.
LC_ALL=C grep -aboP '\x28\xb5\x2f\xfd' "$scratch/large/data.mdb" | cut -d : -f 1 >"$scratch/frames"
check 'the names are found in the file' test -s "$scratch/frames"
while read -r offset; do
	dd if=/dev/zero of="$scratch/large/data.mdb" bs=1 seek=$((offset + 100)) count=4000 conv=notrunc status=none
done <"$scratch/frames"
check_fails 'names that are damaged' 3 "'dcpictl salvage' saves what is whole" dcpiprof --db "$scratch/large"
check 'are left behind by salvage' dcpictl --db "$scratch/large" salvage --to "$scratch/salvaged"
check_equal 'which keeps the samples' "$samples" \
	"$(dcpiprof --db "$scratch/salvaged" -i --json | jq '[.events[].samples] | add')"

[ $failures = 0 ]
