#!/bin/bash
# dcpitar: a profile goes to a machine that has not its binaries and is the same there; what is hostile is refused
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=figure_database.sh
. "$top/tests/system/figure_database.sh"

db=$scratch/db
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
cd "$scratch" || exit

# What reports say, whatever the database is called. Of one image another build lies there.
report()
{
	dcpiprof --db "$1" --epoch all --csv "${@:2}" | grep -v ,4444444444444444
}

look_at_small_database()
{
	local before after

	before=$(report "$db")
	check_equal 'what was written is said' \
		'small.tar.zst: 2 epochs; of 8 images with samples, 5 have names and 3 their text' \
		"$(dcpitar --db "$db" small.tar.zst | sed 's/, [0-9.]* MiB//')"
	check_equal 'it is what tar and zstd read' $'drwxr-x--- 0/0 small/\n-rw-r----- 0/0 small/data.mdb' \
		"$(zstd -dc small.tar.zst | tar -tv | awk '{ print $1, $2, $NF }')"
	dcpitar --db "$db" again.tar.zst >/dev/null
	mkdir again && mv small.tar.zst again/
	dcpitar --db "$db" small.tar.zst >/dev/null
	check 'the same database gives the same bytes' cmp small.tar.zst again/small.tar.zst
	rm "$scratch"/lib{figure,stripped,replaced}.so
	check 'it is extracted' dcpitar -x small.tar.zst
	after=$(report small)
	check_equal 'without the binaries, reports are what they were' "$before" "$after"
	check 'it is sound' dcpictl --db small check
	check_equal 'JSON says what is in it' '"dcpitar/1",2,8,5,3,3' "$(link_again &&
		dcpitar --db "$db" small.tar.zst --json | jq -c '[.schema, .epochs, .images, .named, .with_text, .read_now]' | tr -d '[]')"
	check_equal 'what dcpid did not capture is left out if it shall be' 2 \
		"$(dcpitar --db "$db" --no-images small.tar.zst --json | jq .named)"
	dcpitar --db "$db" - | dcpitar -x - --to piped >/dev/null
	check_equal 'it goes through a pipe' "$(report "$db" -i)" "$(report piped -i)"
	check_equal 'nothing is left behind' '' "$(ls -A "$TMPDIR"; ls -Ad .dcpitar* 2>/dev/null)"
}

link_again()
{
	link_figure libfigure.so 1111111111111111 && link_figure libstripped.so 2222222222222222 -s &&
		link_figure libreplaced.so 3333333333333333
}

# refused SENTENCE TEXT FILE [OPTION...] - it is damage, that is said, and nothing is extracted
refused()
{
	check_fails "$1" 3 "$2" dcpitar -x "$3" --to hostile "${@:4}"
	check_equal '... and nothing is extracted' '' "$(ls -Ad hostile .dcpitar* 2>/dev/null)"
}

# archive_of [TAR-OPTION]... - what tar makes of these, as hostile.tar.zst
archive_of()
{
	tar -c "$@" | zstd -q >hostile.tar.zst
}

look_at_hostile_archives()
{
	local size i

	size=$(stat -c %s small.tar.zst)
	mkdir -p a/x b && cp small/data.mdb a/ && ln -s /etc/passwd b/data.mdb && mkfifo a/pipe
	head -c $((size / 2)) small.tar.zst >half.tar.zst
	refused 'half an archive' 'it is damaged' half.tar.zst
	head -c 100 /dev/urandom >noise
	refused 'noise' 'no archive that dcpitar wrote' noise
	: >empty
	refused 'an empty file' 'archive' empty
	archive_of small/data.mdb a/data.mdb
	refused 'two databases' 'more in the archive' hostile.tar.zst
	archive_of b/data.mdb
	refused 'a symbolic link' 'more in the archive' hostile.tar.zst
	archive_of a/pipe
	refused 'a pipe' 'more in the archive' hostile.tar.zst
	archive_of --transform 's|small|../small|' -P small/data.mdb
	refused 'a path that leads out' 'more in the archive' hostile.tar.zst
	archive_of --transform 's|^small|/tmp|' -P small/data.mdb
	refused 'a path from the root' 'more in the archive' hostile.tar.zst
	archive_of --transform 's|data.mdb|lock.mdb|' small/data.mdb
	refused 'another name' 'more in the archive' hostile.tar.zst
	archive_of a/x
	refused 'a directory alone' 'there is no profile database in the archive' hostile.tar.zst
	for ((i = 0; i < 20; i++)); do mkdir "a/x/$i"; done
	archive_of a/x
	refused 'nothing but directories' 'more in the archive' hostile.tar.zst
	truncate -s 1G a/data.mdb
	archive_of --sparse a/data.mdb
	refused 'a file that ends with a gap' 'damaged, or ends too early' hostile.tar.zst
	printf end >>a/data.mdb
	archive_of --sparse a/data.mdb
	refused 'a file with gaps' 'gaps' hostile.tar.zst
	archive_of a/data.mdb
	check_at_most 'a small archive' 1000000 "$(stat -c %s hostile.tar.zst)"
	check_fails '... with a large file is refused' 1 'more than 100 MiB; --limit raises that' \
		dcpitar -x hostile.tar.zst --to hostile --limit 100
	head -c 100000 /dev/zero >b/zeros && mv -f b/zeros b/data.mdb
	archive_of b/data.mdb
	refused 'what is no database' 'cannot open the database in it' hostile.tar.zst
	cp small/data.mdb b/data.mdb # the roots of both versions, in the first two pages
	for i in 128 4224; do printf '\377\377\377\0\0\0\0\0' | dd of=b/data.mdb bs=1 seek="$i" conv=notrunc status=none; done
	archive_of b/data.mdb
	refused 'a database whose pages lie outside of it' 'page 16777215 is used twice, or lies outside' hostile.tar.zst
	zstd -dc small.tar.zst | gzip >hostile.tar.zst
	refused 'another compression' 'no archive that dcpitar wrote' hostile.tar.zst
	check_equal 'nothing of all that is left' '' "$(ls -A "$TMPDIR"; ls -Ad hostile .dcpitar* 2>/dev/null)"
}

look_at_refusals()
{
	check_fails 'no archive' 2 'which archive?' dcpitar
	check_fails 'two archives' 2 'one archive at a time' dcpitar a b
	check_fails 'where to extract to, without -x' 2 'with -x' dcpitar --to a b
	check_fails 'standard input without a directory' 2 'where to? --to DIR' dcpitar -x -
	check_fails 'a directory that is there' 1 'is there already' dcpitar -x small.tar.zst
	check_fails 'an archive that is not' 1 'No such file or directory' dcpitar -x nowhere.tar.zst
	check_fails 'no database' 1 'there is no profile database here' dcpitar --db "$scratch/again" a.tar.zst
	check_fails 'an archive in the place of a database' 1 "'dcpitar -x' extracts" dcpiprof --db small.tar.zst
	check_fails 'no place to work' 1 \
		'/nowhere: cannot make a directory to work in: No such file or directory (TMPDIR names another place)' \
		env TMPDIR=/nowhere dcpitar --db "$db" a.tar.zst
	check 'a failure leaves no archive' test ! -e a.tar.zst
	mount_or_skip 16k "$scratch/disk" 'a full disk keeps the old archive' || return
	echo old >"$scratch/disk/a.tar.zst"
	head -c 20000 /dev/zero >"$scratch/disk/fill" 2>/dev/null
	check_fails 'a disk that is full' 1 'No space left' dcpitar --db "$db" "$scratch/disk/a.tar.zst"
	check_equal 'has the old archive' old "$(cat "$scratch/disk/a.tar.zst")"
	check_fails 'so is one to work on' 1 'No space left' env TMPDIR="$scratch/disk" dcpitar --db "$db" a.tar.zst
	check_equal 'nothing is left of it' $'a.tar.zst\nfill' "$(ls -A "$scratch/disk")"
	check_equal 'nor of the archive' '' "$(ls -A "$TMPDIR"; ls a.tar.zst 2>/dev/null)"
}

# It is told to end while it reads a pipe that nobody writes to.
look_at_signals()
{
	local name status

	mkfifo stuck
	for name in INT TERM HUP; do
		start bash -c 'exec env --default-signal=INT dcpitar -x - --to stopped <>stuck'
		wait_for 10 compgen -G '.dcpitar*/db/data.mdb' || not_ok 'it began to extract'
		stop "$started" $name 2>/dev/null
		status=$?
		check_equal "told to end by SIG$name, it does" $((128 + $(kill -l $name))) $status
		check_equal '... and leaves nothing' '' "$(ls -Ad .dcpitar* stopped 2>/dev/null)"
	done
	start bash -c 'exec env --ignore-signal=HUP dcpitar -x - --to stopped <>stuck'
	wait_for 10 compgen -G '.dcpitar*/db/data.mdb' || not_ok 'it began to extract'
	kill -s HUP "$started"
	sleep 0.3
	check 'under nohup it goes on' kill -0 "$started"
	stop "$started" 2>/dev/null
}

# A program that was sampled here and is gone: named, and explained, out of the archive.
look_at_this_machine()
{
	may_sample_or_skip 'a profile of this machine goes elsewhere' || return
	build_of_its_own "$build/workloads/shares" "$scratch/away"
	start "$scratch/away" 600
	dcpid --foreground --db "$scratch/live" --seconds 3 2>"$scratch/live.log" || {
		not_ok 'this machine is sampled' "$(cat "$scratch/live.log")"
		return
	}
	stop "$started" 2>/dev/null
	dcpicalc --db "$scratch/live" --image away share_of_60 >"$scratch/before"
	check 'a procedure of a program that is there is explained' grep -qw share_of_60 "$scratch/before"
	check 'a profile of this machine is packed' dcpitar --db "$scratch/live" live.tar.zst
	rm "$scratch/away"
	dcpitar -x live.tar.zst --to there >/dev/null
	check 'a procedure whose program is gone is named' grep -qw share_of_60 <(dcpiprof --db there --image away)
	check_equal 'and explained as before' "$(cat "$scratch/before")" \
		"$(dcpicalc --db there --image away share_of_60)"
	head -c $(($(stat -c %s live.tar.zst) / 2)) live.tar.zst >hostile.tar.zst
	refused 'an archive that ends too early' 'damaged, or ends too early' hostile.tar.zst
	figure "dcpitar: $(stat -c %s live.tar.zst) bytes, of a database of $(stat -c %s live/data.mdb)"
}

# A program that only calls has no samples, but is in all stacks: it is named when it is gone.
look_at_callers()
{
	printf '%s\n' 'int spin(volatile int *n) { for (*n = 0; *n < 1000000; ++*n) ; return *n; }' >spin.c
	printf '%s\n' 'int spin(volatile int *); int only_calls(void) { int n, sum = 0; for (int i = 0; i < 500; i++) sum += spin(&n);' \
		'return sum; }' 'int main(void) { return only_calls() == 1; }' >outer.c
	gcc -O0 -fno-omit-frame-pointer -shared -fPIC -Wl,--build-id -o "$scratch/libspin.so" spin.c &&
		gcc -O0 -fno-omit-frame-pointer -Wl,--build-id -o "$scratch/outer" outer.c \
			"$scratch/libspin.so" || return
	perf record -q -g -e cpu-clock -F 500 -o outer.data -- "$scratch/outer" >/dev/null 2>&1 || {
		skip 'callers without samples are named elsewhere' 'perf record is refused here'
		return
	}
	dcpimport --db outer.db outer.data >/dev/null
	check 'a profile with call stacks is packed' dcpitar --db outer.db outer.tar.zst
	rm "$scratch/outer" "$scratch/libspin.so"
	dcpitar -x outer.tar.zst --to outer.there >/dev/null
	check_equal 'callers without samples are named elsewhere' 'main only_calls spin' \
		"$(dcpiprof --db outer.there --inclusive --json | jq -r '.rows[].procedure' | grep -xE 'main|only_calls|spin' | sort | paste -sd ' ')"
}

check 'the database is made' make_figure_database "$db" || exit 1
look_at_small_database
look_at_hostile_archives
look_at_refusals
look_at_signals
look_at_this_machine
look_at_callers
[ $failures = 0 ]
