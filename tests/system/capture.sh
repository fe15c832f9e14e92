#!/bin/bash
# Profiles outlive their binaries: procedures of programs that were deleted, replaced or seen in a mount namespace only
# are named and explained from what dcpid captured; hostile files cost nothing but a line in the log.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2317 # functions that others call
. "$(dirname "$0")/lib.sh"

db=$scratch/db
bin=$scratch/bin
mkdir "$bin"

made=0

# make_program NAME FUNCTION [OPTION] - burns CPU in FUNCTION, which has a switch, until it is killed. Each has code of
# its own: a build-id says nothing of names.
make_program()
{
	made=$((made + 1))
	cat >"$scratch/program.c" <<-END
		volatile unsigned result;
		__attribute__((noinline)) void $2(unsigned n)
		{
			unsigned sum = 1;
			for (unsigned i = 0; i < n; i++) {
				switch (sum % 9) {
				case 0: sum += 100 + $made; break;
				case 1: sum ^= i; break;
				case 2: sum = sum * 5 + 1; break;
				case 3: sum -= 7; break;
				case 4: sum >>= 1; break;
				case 5: sum = ~sum; break;
				default: sum += i; break;
				}
			}
			result = sum;
		}
		int main(void)
		{
			for (;;)
				$2(1000000);
		}
	END
	gcc -O2 "${3:--Wl,--build-id}" -o "$1" "$scratch/program.c"
}

flush()
{
	dcpictl --db "$db" flush >/dev/null
}

# named FUNCTION - does a report name it, after another flush?
named()
{
	flush && dcpiprof --db "$db" | grep -qE "[0-9]% +$1 "
}

# explained [--image IMAGE] FUNCTION - does dcpicalc list its instructions, with samples on them?
explained()
{
	dcpicalc --db "$db" "$@" >"$scratch/listing" 2>&1 && grep -qE '^[0-9a-f]+ +[a-z]+ .* [1-9][0-9]* ' "$scratch/listing"
}

# as_nobody COMMAND... - in the place of this shell, when it is started
as_nobody()
{
	exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# executes FILE [PID] - has the process, or the one that was started last, got there? Then the file may go.
executes()
{
	test "/proc/${2:-$started}/exe" -ef "$1"
}

captured()
{
	dcpictl --db "$db" status --json | jq "$1"
}

config=$scratch/dcpid.conf
echo 'flush_interval = 1; overhead_limit = 5.0; events = ({ name = "cpu-clock"; rate = 500; });' >"$config"
start_dcpid "$db" --config "$config" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 1
}
daemon=$started

# ---- a temporary build that is deleted, without a build-id and with one ----

make_program "$bin/deleted" deleted_way
make_program "$bin/nameless" without_build_id -Wl,--build-id=none
start "$bin/deleted"
deleted=$started
start "$bin/nameless"
nameless=$started
wait_for 20 executes "$bin/deleted" "$deleted"
wait_for 20 executes "$bin/nameless"
rm "$bin/deleted" "$bin/nameless"
check 'a program that was deleted while it ran is named' wait_for 60 named deleted_way
check 'also one without a build-id' wait_for 60 named without_build_id
stop "$deleted" KILL 2>/dev/null
stop "$nameless" KILL 2>/dev/null
flush
check 'it is named when it is over, too' named deleted_way
check 'and explained, instruction by instruction' wait_for 20 explained deleted_way
check 'its indirect jump is followed: the table was captured' \
	bash -c "! dcpicalc --db '$db' deleted_way | grep -qi 'not resolved\|could not be followed'"

# Of a large one text is taken where samples were, after its names.
build_of_its_own "$build/workloads/shares_static" "$bin/large"
start "$bin/large" 100
large=$started
wait_for 20 executes "$bin/large"
rm "$bin/large"
check 'a large program that was deleted while it ran is explained' wait_for 60 bash -c \
	"dcpictl --db '$db' flush && dcpicalc --db '$db' --image large share_of_60"
stop "$large" KILL 2>/dev/null
check 'also when it is over' explained --image large share_of_60

# It runs 2 s and is gone at once, before anybody flushes. Where dcpid gets too little CPU in 2 s, it runs for longer: what
# is promised is the next drain, 5 s later at most.
for seconds in 2 4 8 16; do
	make_program "$bin/brief" brief_way
	start timeout $seconds "$bin/brief"
	wait "$started"
	rm "$bin/brief"
	! wait_for 10 named brief_way || break
	[ $seconds = 16 ] || retry 'a program that ran briefly' "after $seconds s it was gone before it was seen"
done
figure "captured of a program that ran for $seconds s and was deleted"
check 'a program that ran briefly and was deleted before a flush is named' named brief_way
check 'and explained' wait_for 20 explained brief_way

# ---- replaced by a newer build while it runs ----

make_program "$bin/upgraded" old_way
make_program "$bin/newer" new_way
start "$bin/upgraded"
old=$started
wait_for 20 executes "$bin/upgraded"
mv "$bin/newer" "$bin/upgraded"
start "$bin/upgraded"
new=$started
check 'after an upgrade in place the old build is named' wait_for 60 named old_way
check 'and the new one' wait_for 60 named new_way
stop "$old" KILL 2>/dev/null
stop "$new" KILL 2>/dev/null
check 'the old build is explained' wait_for 20 explained old_way

# ---- a library that was replaced under a program: only the mapping leads to it ----

# make_library NAME FUNCTION - burns CPU in FUNCTION and returns
make_library()
{
	made=$((made + 1))
	printf 'volatile unsigned result;\nvoid %s(void) { for (unsigned i = 0; i < 100000; i++) result += %u; }\nvoid work(void) { %s(); }\n' \
		"$2" "$made" "$2" >"$scratch/library.c"
	gcc -O1 -shared -fPIC -Wl,--build-id -Wl,-soname,libworks.so -o "$1" "$scratch/library.c"
}

make_library "$bin/libworks.so" old_library_way
make_library "$bin/newer.so" new_library_way
printf 'void work(void);\nint main(void) { for (;;) work(); }\n' >"$scratch/user.c"
gcc -O1 -o "$bin/user" "$scratch/user.c" "$bin/libworks.so" "-Wl,-rpath,$bin"
read -r mapping < <(ls /proc/$$/map_files)
if stat -L "/proc/$$/map_files/$mapping" >/dev/null 2>&1; then
	start "$bin/user"
	user=$started
	wait_for 20 grep -q libworks.so "/proc/$user/maps"
	mv "$bin/newer.so" "$bin/libworks.so"
	check 'a library that was replaced under its program is named' wait_for 60 named old_library_way
	stop "$user" KILL 2>/dev/null
	check 'and explained' wait_for 20 explained old_library_way
else
	skip 'a library that was replaced under its program is named' 'not allowed to open the files of mappings'
fi

# ---- where only the program itself saw it ----

make_program "$scratch/contained" contained_way
mkdir "$scratch/inside"
if unshare --mount true 2>/dev/null; then
	start unshare --mount bash -c "mount -t tmpfs tmpfs '$scratch/inside' && cp '$scratch/contained' '$scratch/inside/' &&
		exec '$scratch/inside/contained'"
	contained=$started
	check 'a program in a mount namespace of its own is named' wait_for 60 named contained_way
	stop "$contained" KILL 2>/dev/null
	check 'and explained when the namespace is gone' wait_for 20 explained contained_way
else
	skip 'a program in a mount namespace of its own is named' 'not allowed to make one'
fi

# ---- what the user of a process cannot read by path ----

# To execute needs no right to read: of the two programs of nobody, deleted like the ones before, one may be read.
if (as_nobody true) 2>/dev/null; then
	chmod 711 "$scratch" "$bin"
	make_program "$bin/readable" readable_way
	make_program "$bin/unreadable" unreadable_way
	chmod 755 "$bin/readable"
	chmod 711 "$bin/unreadable"
	start as_nobody "$bin/unreadable"
	unreadable=$started
	start as_nobody "$bin/readable"
	readable=$started
	wait_for 20 executes "$bin/unreadable" "$unreadable"
	wait_for 20 executes "$bin/readable" "$readable"
	rm "$bin/readable" "$bin/unreadable"
	check 'a program of another user that may read it is named' wait_for 60 named readable_way
	sleep 3
	check 'one that may be executed and not read is sampled' \
		bash -c "dcpictl --db '$db' flush && dcpiprof --db '$db' -i | grep -q unreadable"
	check 'and not captured' bash -c "! dcpiprof --db '$db' | grep -q unreadable_way"
	stop "$readable" KILL 2>/dev/null
	stop "$unreadable" KILL 2>/dev/null
else
	skip 'a program of another user that may read it is named' 'not allowed to become nobody'
fi

# ---- two files with one build-id: root's, and one that somebody made ----

# A folder that only root may write, as every one on the way there.
roots=/var/lib/dcpi-capture-test.$$

# named_by_database FUNCTION - as named(), where root's programs cannot be seen
named_by_database()
{
	flush && unshare --mount bash -c "mount -t tmpfs tmpfs '$roots' && dcpiprof --db '$db'" | grep -qE "[0-9]% +$1 "
}

# image_is PATH NAME - is PATH shown for the image that is called so, wherever it lies?
image_is()
{
	[ "$(dcpiprof --db "$db" -i --json | jq -r '.rows[].image' | grep "/$2\$" | sort -u)" = "$1" ]
}

# make_twins NAME FUNCTION - root's program of FUNCTION, and a program of nobody, with forged_FUNCTION, of its build-id
make_twins()
{
	local id

	id=0x$(printf '%02x%030x' $made $$)
	make_program "$roots/$1" "$2" "-Wl,--build-id=$id"
	make_program "$bin/$1" "forged_$2" "-Wl,--build-id=$id"
	chown 65534:65534 "$bin/$1"
}

if (as_nobody true) 2>/dev/null && unshare --mount true 2>/dev/null && mkdir -m 755 "$roots"; then
	make_twins forged-first first_way
	make_twins forged-last last_way
	start as_nobody "$bin/forged-first"
	forged=$started
	check "somebody's program with the build-id of root's is named" wait_for 60 named forged_first_way
	start "$roots/forged-first"
	genuine=$started
	check "when root's runs, the names are that one's" wait_for 60 named_by_database first_way
	check "and somebody's are gone" bash -c "! dcpiprof --db '$db' | grep -q forged_first_way"
	check "the path is root's, too" wait_for 20 image_is "$roots/forged-first" forged-first
	stop "$genuine" KILL 2>/dev/null
	start "$roots/forged-last"
	genuine=$started
	check "root's program is named" wait_for 60 named_by_database last_way
	start as_nobody "$bin/forged-last"
	forged_last=$started
	wait_for 20 executes "$bin/forged-last"
	sleep 6
	check "it keeps its names when somebody's of its build-id runs" named_by_database last_way
	check "the first one, too" named_by_database first_way
	check "and somebody's names are nowhere" bash -c "! dcpiprof --db '$db' | grep -q forged_.*_way"
	check 'the paths stay' image_is "$roots/forged-last" forged-last
	check 'the first path, too' image_is "$roots/forged-first" forged-first
	for pid in "$forged" "$forged_last" "$genuine"; do
		stop "$pid" KILL 2>/dev/null
	done
else
	skip "somebody's program with the build-id of root's is named" 'not allowed to become nobody, or to mount'
fi
rm -rf "$roots"

# ---- files that are not what they seem ----

# patch FILE OFFSET BYTES - as printf(1) writes them
patch()
{
	# shellcheck disable=SC2059
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# number FILE OFFSET SIZE - a little-endian number in the file
number()
{
	od -An -tu"$3" -j"$2" -N"$3" "$1" | tr -d ' '
}

hostile=()
for kind in sections table endless loop strings truncated; do
	file=$bin/hostile-$kind
	make_program "$file" "hostile_$kind"
	headers=$(number "$file" 40 8)
	count=$(number "$file" 60 2)
	symtab=$((headers + 64 * (count - 3)))
	case $kind in
	sections) patch "$file" 60 '\377\377' ;;                                    # 65535 of them
	table) patch "$file" 40 '\377\377\377\377\377\377\377\177' ;;               # beyond the end of the file
	endless) patch "$file" $((symtab + 32)) '\377\377\377\377\377\377\377\17' ;; # a symbol table of 2^60 bytes
	loop) patch "$file" $((symtab + 40)) "\\x$(printf %02x $((count - 3)))" ;;   # whose names are in itself
	strings) patch "$file" 62 '\377\377' ;;                                      # names of sections nowhere
	truncated) truncate -s $((headers + 200)) "$file" ;;
	esac
	start "$file"
	hostile+=("$started")
done
make_program "$bin/honest" honest_way
start "$bin/honest"
honest=$started
wait_for 20 executes "$bin/honest"
rm "$bin/honest"
check 'beside programs with hostile files an honest one is named' wait_for 60 named honest_way
seen()
{
	flush && [ "$(dcpiprof --db "$db" -i | grep -c hostile-)" = ${#hostile[@]} ]
}
check 'programs with hostile files run and are sampled' wait_for 60 seen
sleep 3
flush
for pid in "${hostile[@]}" "$honest"; do
	stop "$pid" KILL 2>/dev/null
done
check 'dcpid goes on' kill -0 "$daemon"
check_equal 'each such file is complained of once at most' '' \
	"$(grep 'not captured' "$db.log" | sort | uniq -d)"
check 'what it says names the file' grep -q 'hostile-.*not captured' "$db.log"
check 'nothing was captured that cannot be read' dcpictl --db "$db" check

# ---- it is kept ----

check 'status says what was captured' \
	json_holds '.capture.taken >= 4 and .capture.bytes > 0 and .capture.bytes < .capture.limit and (.capture.full | not)' \
	<(dcpictl --db "$db" status --json)
figure "captured: $(captured '.capture | "\(.taken) runs, \(.bytes) bytes"'), dcpid $(captured .overhead.dcpid_percent) % of the machine"
check 'the database is compacted' dcpictl --db "$db" compact
check 'and still explains' explained old_way
stop "$daemon"
check 'dcpid ends well' [ $? = 0 ]
check 'a salvaged database explains, too' bash -c \
	"dcpictl --db '$db' salvage --to '$scratch/salvaged' && dcpicalc --db '$scratch/salvaged' old_way | grep -q old_way"

# ---- gone with its container, from where packages put things ----

if unshare --mount true 2>/dev/null; then
	echo 'flush_interval = 60; overhead_limit = 5.0; events = ({ name = "cpu-clock"; rate = 500; });' >"$config"
	start_dcpid "$scratch/containers" --config "$config"
	daemon=$started
	# Files are known by inode: without a build-id, also where the kernel tells those instead.
	make_program "$scratch/job" job_way -Wl,--build-id=none
	make_program "$scratch/chrooted" chrooted_way -Wl,--build-id=none
	start unshare --mount bash -c "mount -t tmpfs tmpfs /usr/local/bin && cp '$scratch/job' /usr/local/bin/ &&
		exec timeout 8 /usr/local/bin/job"
	job=$started
	mkdir -p "$scratch/root/usr/bin" "$scratch/root/lib64" "$scratch/root/lib"
	gcc -O2 -static -Wl,--build-id=none -o "$scratch/root/usr/bin/chrooted" "$scratch/program.c"
	start timeout 8 chroot "$scratch/root" /usr/bin/chrooted
	wait "$started" "$job"
	rm -r "$scratch/root"
	check 'a job of a container that lived 8 s below /usr, and is gone before a flush, is named' \
		bash -c "dcpictl --db '$scratch/containers' flush && dcpiprof --db '$scratch/containers' | grep -qE '% +job_way '"
	check 'so is one whose root was a folder of the same file system' \
		bash -c "dcpiprof --db '$scratch/containers' | grep -qE '% +chrooted_way '"
	stop "$daemon"
else
	skip 'a job of a container that lived 8 s below /usr, and is gone before a flush, is named' 'not allowed to make one'
fi

# ---- and not where nobody wants it ----

echo 'capture_limit_mib = 0; flush_interval = 1; events = ({ name = "cpu-clock"; rate = 500; });' >"$config"
start_dcpid "$scratch/none" --config "$config"
daemon=$started
make_program "$bin/unwanted" unwanted_way
start "$bin/unwanted"
unwanted=$started
wait_for 20 executes "$bin/unwanted"
rm "$bin/unwanted"
sleep 6
dcpictl --db "$scratch/none" flush
check_equal 'with capture_limit_mib = 0 nothing is captured' null \
	"$(dcpictl --db "$scratch/none" status --json | jq .capture)"
check 'and what was deleted has no names' \
	bash -c "dcpiprof --db '$scratch/none' | grep -q 'file not found: unwanted'"
stop "$unwanted" KILL 2>/dev/null
stop "$daemon"
exit 0
