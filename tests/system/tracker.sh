#!/bin/bash
# tracker.sh - the library that records objects' lives: what it records is what a program did, and no program notices it
# shellcheck disable=SC2016 # what other shells are to expand
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tracker=$build/lib/dcpi/libdcpi-objects.so
objects=$build/workloads/tracker/objects
shows=$build/tests/system/show_objects
logs=$scratch/logs
export DCPI_OBJECTS_READ=1 # but where the process itself keeps what lives
mkdir "$logs" && chmod 1777 "$logs" && chmod 755 "$scratch"

# tracked COMMAND... - with the library, while a reader follows; its output goes to $scratch/out, its errors to $scratch/err,
# what the reader prints to $scratch/shown; the status is the command's
tracked()
{
	local reader status

	rm -f "$logs"/* "$scratch/end"
	mkfifo "$scratch/end"
	"$shows" --follow "$logs" <"$scratch/end" >"$scratch/shown" 2>&1 &
	reader=$!
	exec 9>"$scratch/end"
	DCPI_OBJECTS=$logs LD_PRELOAD=${preload:-$tracker} "$@" >"$scratch/out" 2>"$scratch/err" 9>&-
	status=$?
	exec 9>&-
	wait $reader || { echo "the reader failed:"; cat "$scratch/shown"; } >>"$scratch/err"
	return $status
}

# as tracked, read when it has ended
tracked_first()
{
	local status

	rm -f "$logs"/*
	DCPI_OBJECTS=$logs LD_PRELOAD=${preload:-$tracker} "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	"$shows" "$logs" >"$scratch/shown" 2>&1 || echo 'the reader failed' >>"$scratch/err"
	return $status
}

# shown_objects - of the last file that has some
shown_objects()
{
	awk '/^objects\./ { fresh = 1; next } fresh { text = ""; fresh = 0 } { text = text $0 "\n" } END { printf "%s", text }' \
		"$scratch/shown" | sort
}

# count_of NAME - of all files
count_of()
{
	awk -v name="$1" '/^objects\./ { for (i = 2; i < NF; i++) if ($i == name) sum += $(i + 1) } END { print sum + 0 }' "$scratch/shown"
}

# check_lives SENTENCE HOW COMMAND... - what lives at its end, as the log says, is what the program says
check_lives()
{
	local sentence=$1 how=$2 status

	shift 2
	"$how" "$@"
	status=$?
	if [ $status != 0 ] || [ -s "$scratch/err" ]; then
		not_ok "$sentence" "status $status" "$(cat "$scratch/err")" "$(head -n 5 "$scratch/shown")"
	elif [ ! -s "$scratch/out" ] || [ "$(count_of lost)" != 0 ] || ! cmp -s <(sort "$scratch/out") <(shown_objects); then
		not_ok "$sentence" "$(grep '^objects' "$scratch/shown")" "$(diff <(sort "$scratch/out") <(shown_objects) | head -n 20)"
	else
		ok "$sentence ($(wc -l <"$scratch/out") live, $(count_of born) began, $(count_of short) were short-lived)"
	fi
}

# same SENTENCE COMMAND... - output, errors and status are those without the tracker
same()
{
	local sentence=$1 expected unlike

	shift
	run_alone "$@"
	expected=$?
	tracked "$@" </dev/null
	unlike=$(unlike_alone $expected $?)
	if [ "$unlike" ]; then
		not_ok "$sentence" "$unlike"
	elif grep -v '^objects\..*: ok ' "$scratch/shown" | grep -q '^objects' || [ "$(count_of lost)" != 0 ]; then
		not_ok "$sentence" 'the log:' "$(grep '^objects' "$scratch/shown" | grep -v 'lost 0')"
	elif [ "$(count_of born)" = 0 ]; then
		not_ok "$sentence" 'nothing was recorded'
	else
		ok "$sentence: the same, $(($(count_of born) + $(count_of short))) objects"
	fi
}

# ---- what is recorded ----

allocators()
{
	local how library name

	for how in tracked tracked_first; do
		check_lives "$how: each function of the heap" $how "$objects" functions 20000
		check_lives "$how: mappings, in parts, moved, and of shared memory and the break" $how "$objects" mappings
		check_lives "$how: call chains are those of the calls, of each of two in one function" $how "$objects" chain 50
		check_lives "$how: threads that end each other's objects, and thousands that soon end" $how "$objects" threads 2000
		check_lives "$how: a handler that allocates, and one that interrupts the tracker" $how "$objects" signals 500
		check_lives "$how: each operator of C++, and exceptions through them" $how "$build/workloads/tracker/operators"
	done
	for name in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4; do
		library=$(ldconfig -p | sed -n "s|.*$name .*=> ||p" | head -n 1)
		if [ -z "$library" ]; then
			skip "with $name" 'it is not installed'
			continue
		fi
		preload="$tracker $library" check_lives "with $name behind it: the heap" tracked "$objects" functions 20000
		preload="$tracker $library" check_lives "with $name behind it: threads" tracked "$objects" threads 300
		preload="$tracker $library" check_lives "with $name behind it: C++" tracked "$build/workloads/tracker/operators"
		gcc -O2 -fno-builtin -std=gnu11 -D_GNU_SOURCE -pthread -o "$scratch/linked" "$top/tests/workloads/tracker/objects.c" "$library" &&
			check_lives "a program that is linked with $name" tracked "$scratch/linked" functions 5000
		preload="$library $tracker" tracked "$objects" functions 5000
		check_equal "behind $name it sees no heap, and harms none" '0 heap' "$? $(sed -n '1s/.* //p' "$scratch/out")"
	done
}

# What is not in the list of a mode: the last object of each thread, which a destructor made in its last round.
destructors()
{
	tracked "$objects" destructors 400
	check_equal 'objects that destructors of threads make and end' "0 $(sort "$scratch/out" | md5sum)" \
		"$? $(shown_objects | grep -v ' 100001 heap$' | md5sum)"
}

processes()
{
	local raw child pid

	for raw in 0 1; do
		tracked "$objects" fork $raw
		check_equal "a child ($raw: of fork(), or of clone(2)) has a file of its own" "0 2" "$? $(grep -c '^objects' "$scratch/shown")"
		child=$(sed -n 's/^child //p' "$scratch/out")
		check_equal '... with its own objects' "$(sed '1d; /^parent$/,$d' "$scratch/out" | sort)" \
			"$(sed -n "/^objects\.$child\.0/,\$p" "$scratch/shown" | sed '1d; /^objects/,$d' | sort)"
		check_equal "... and the parent has the parent's" "$(sed '1,/^parent$/d' "$scratch/out" | sort)" \
			"$(sed "/^objects\.$child\.0/,\$d; /^objects/d" "$scratch/shown" | sort)"
	done
	check_lives 'vfork() and an exec, twenty times' tracked "$objects" vfork
	check_lives 'an exec of itself, five times' tracked "$objects" exec 5
	check_equal 'each program of a process has a file' '0 1 2 3 4 5' \
		"$(sed -n 's/^objects\.[0-9]*\.\([0-9]*\):.*/\1/p' "$scratch/shown" | paste -sd' ')"
	check_equal 'files are complete, and only their owner may read them' '-rw-------' \
		"$(stat -c %A "$logs"/objects.* | sort -u)"
	for pid in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		rm -f "$logs"/*
		timeout -s KILL "0.0$((RANDOM % 90 + 10))" env DCPI_OBJECTS="$logs" LD_PRELOAD="$tracker" "$objects" endless 1000 \
			>"$scratch/out"
		"$shows" "$logs" >"$scratch/shown" 2>&1 || break
		grep -q full "$scratch/out" || continue
		awk '/^objects.*: ok/ { ok++ } / heap$/ { n++ } END { exit !(ok == 1 && n >= 999 && n <= 1001) }' "$scratch/shown" || break
	done 2>/dev/null
	check_equal 'of a program that SIGKILL ends among its calls, what lived is known, twenty times' 20 "$pid"
}

# ---- what the process keeps ----

# of_process OPTION... - how many objects of 5000 bytes the process has, which are a thousand
of_process()
{
	"$shows" "$@" "$logs" 2>&1 | awk '
		/^objects.*: ok / { ok++ }
		/ 5000 heap$/ { n++ }
		END {
			if (ok == 1 && n >= 999 && n <= 1001)
				print "a thousand"
			else
				printf "%d files, %d objects\n", ok, n
		}'
}

# It makes millions of objects before anybody reads its log, which has room for half a million events.
kept()
{
	local process reader round

	rm -f "$logs"/*
	DCPI_OBJECTS_READ='' DCPI_OBJECTS=$logs LD_PRELOAD=$tracker "$objects" endless 1000 >/dev/null 2>"$scratch/err" &
	process=$!
	sleep 3
	check_equal 'a thread of the process reads its log' dcpi-objects \
		"$(grep -h '^dcpi' /proc/$process/task/*/comm)"
	"$shows" --running "$logs" >"$scratch/shown"
	figure "a program that does nothing but make and end objects, $(count_of short) short-lived ones among them: $(count_of lost) events had no room"
	for round in second third fourth; do
		check_equal "who reads a log that was full, the $round time, knows what lives" 'a thousand' "$(of_process --running)"
	done
	mkfifo "$scratch/never"
	"$shows" --follow "$logs" <>"$scratch/never" >/dev/null 2>&1 &
	reader=$!
	sleep 0.5
	check_equal 'one reads a log at a time' 1 "$("$shows" --running "$logs" | grep -c 'Device or resource busy')"
	sleep 1
	kill -KILL $reader
	wait $reader 2>/dev/null
	sleep 1
	check_equal 'when a reader is killed, what lives is still known' 'a thousand' "$(of_process --running)"
	check_equal 'what lives takes little room' 1 "$(find "$logs" -name 'live.*' -size -1100k | wc -l)"
	kill -KILL $process
	wait $process 2>/dev/null
	check_equal '... and when the process is killed' 'a thousand' "$(of_process)"
	check_equal '... more than once' 'a thousand' "$(of_process)"
	check_equal 'the process has said nothing' '' "$(cat "$scratch/err")"
}

# ---- no program notices ----

harm()
{
	local size round disk=$scratch/disk

	for round in 1 2 3; do
		tracked "$objects" garbage 40
		check_equal 'a program that overwrites its log goes on, and so does the reader' "0 '' 1" \
			"$? '$(head -n 5 "$scratch/err")' $(grep -c '^objects' "$scratch/shown")"
		tracked_first "$objects" garbage $round
		check_equal '... also when it is read afterwards' "0 ''" "$? '$(head -n 5 "$scratch/err")'"
	done
	mkdir "$disk"
	for size in 4k 8k 64k 80k 128k 400k 4m; do
		if ! mount -t tmpfs -o size=$size,mode=1777 tmpfs "$disk" 2>/dev/null; then
			skip 'a full disk costs events only' 'no tmpfs can be mounted'
			break
		fi
		LD_PRELOAD=$tracker DCPI_OBJECTS=$disk "$objects" functions 20000 >"$scratch/out" 2>"$scratch/err"
		check_equal "a disk of $size, which is full, costs events only" "0 505" "$? $(wc -l <"$scratch/out")"
		check "... and what is there can be read" "$shows" "$disk"
		umount "$disk"
	done
	mount -t tmpfs -o size=13m,mode=1777 tmpfs "$disk" 2>/dev/null &&
		check_equal 'a disk that has no room for what lives costs only that' '0 1' \
			"$(DCPI_OBJECTS_READ='' LD_PRELOAD=$tracker DCPI_OBJECTS=$disk "$objects" steady 4000 >"$scratch/out" 2>&1
				echo $?) $("$shows" "$disk" | grep -c ': ok .* lost [1-9]')"
	umount "$disk"
	check_equal 'without a directory nothing is recorded' '0 505' \
		"$(LD_PRELOAD=$tracker DCPI_OBJECTS=$scratch/nowhere "$objects" functions 20000 >"$scratch/out"; echo $?) $(wc -l <"$scratch/out")"
	check_equal 'nor without a variable' '0 505' \
		"$(LD_PRELOAD=$tracker "$objects" functions 20000 >"$scratch/out"; echo $?) $(wc -l <"$scratch/out")"
	rm -f "$logs"/*
	check_equal 'a static program is not tracked, and runs' '0 505 0' \
		"$(LD_PRELOAD=$tracker DCPI_OBJECTS=$logs "${objects}_static" functions 20000 >"$scratch/out"
			echo $?) $(wc -l <"$scratch/out") $(find "$logs" -name 'objects*' | wc -l)"
	if [ "$(id -u)" = 0 ] && install -m 4755 -o root "$objects" "$scratch/setuid" &&
		[ "$(setpriv --reuid nobody --regid nogroup --clear-groups sh -c '"$0" exec 0 >/dev/null; echo $?' "$scratch/setuid")" = 0 ]; then
		rm -f "$logs"/*
		check_equal 'a setuid program is not tracked, and runs' '0 505 0' \
			"$(DCPI_OBJECTS=$logs setpriv --reuid nobody --regid nogroup --clear-groups env LD_PRELOAD="$tracker" \
				"$scratch/setuid" functions 20000 >"$scratch/out" 2>/dev/null
				echo $?) $(wc -l <"$scratch/out") $(find "$logs" -name 'objects*.0' -user root | wc -l)"
	else
		skip 'a setuid program is not tracked, and runs' 'not root, or no setuid programs there'
	fi
}

libraries()
{
	same 'a library of C++ that a program of C opens where no C++ is' "$build/workloads/tracker/opener" \
		"$build/workloads/tracker/liboperators.so"
	preload="$tracker $build/workloads/clock_shim.so" same 'a program with another library that is preloaded' \
		sort --parallel=2 "$scratch/text"
	preload="$build/workloads/clock_shim.so $tracker" same '... in front of it' sort --parallel=2 "$scratch/text"
	check_equal 'the library needs the C library and the unwinder only' 'libc.so.6 libgcc_s.so.1' \
		"$(readelf -d "$tracker" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort | paste -sd' ')"
	check_equal 'and shows functions of libc and C++ only' '' \
		"$(nm -D --defined-only "$tracker" | awk '{ print $3 }' | grep -vE '^(_Z(n|d)[wal].*)$' | while read -r name; do
			nm -D --defined-only "$(ldconfig -p | sed -n 's/.*libc\.so\.6 .*=> //p' | head -n 1)" | grep -q " $name@" || echo "$name"
		done)"
}

programs()
{
	everyday_inputs 600000 30000
	git -C "$scratch" init -q repository
	cp -r "$top/libsample/base" "$scratch/repository/"
	git -C "$scratch/repository" add -A
	git -C "$scratch/repository" -c user.name=test -c user.email=test@example.org commit -qm 'one'
	same 'python3, with modules and threads' /usr/bin/python3 -c 'import json, re, threading, subprocess
def run(n): words[n] = json.dumps({str(i): [i] * (i % 50) for i in range(3000)}, sort_keys=True)
words = {}
threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(hash(tuple(len(w) for w in words.values())), subprocess.check_output(["sort", "-r"], input=b"a\nb\n"))
raise SystemExit(3)'
	same 'gcc, with its children' gcc -O2 -std=gnu11 -D_GNU_SOURCE -I"$top/libsample" -S -o - "$top/libsample/base/bytes.c"
	same 'git log with a patch' git -C "$scratch/repository" log -p --stat
	same 'git grep with threads' git -C "$scratch/repository" grep -n return
	same 'sqlite3, with an error' sqlite3 :memory: ".read $scratch/script.sql"
	same 'sort with two threads' sort --parallel=2 -S 1M "$scratch/text"
	same 'xz with two threads' xz -1 -T2 --block-size=150000 -c "$scratch/text"
	same 'perl' perl -e 'my %h; $h{$_ % 500} .= "x$_" for 1 .. 50000; print map { "$_$h{$_}\n" } sort keys %h; exit 7'
	same 'bash, with subshells and pipes' bash -c 'for i in {1..300}; do a[i]=${i/1/2}; done; echo "${a[@]}" | tr " " "\n" |
		sort -n | head -n 5; (exit 3) || echo $?; for i in {1..20}; do echo $(echo $i); done; exec sh -c "exit 4"'
	same 'a program that the shell limits in memory' bash -c 'ulimit -v 1000000; exec sort "$0"' "$scratch/text"
}

# ---- elsewhere ----

# emulated ARCHITECTURE COMPILER ROOT - a program and the library of another architecture, or of this, under qemu-user
emulated()
{
	local emulator=qemu-$1 root=$3

	if ! command -v "$emulator" >/dev/null || ! command -v "$2" >/dev/null; then
		skip "on an emulated $1" "there is no $emulator, or no $2"
		return
	fi
	if ! "$2" -shared -O2 -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -fno-builtin -fexceptions -fno-omit-frame-pointer \
		-I"$top/libsample" -I"$top" -o "$scratch/tracker_$1.so" "$top"/tracker/*.c \
		"$top"/libsample/memory/{live_objects,object_event,object_log,object_map}.c ||
		! "$2" -O2 -fno-builtin -fasynchronous-unwind-tables -std=gnu11 -D_GNU_SOURCE -pthread \
			-o "$scratch/objects_$1" "$top/tests/workloads/tracker/objects.c"; then
		not_ok "the tracker compiles for $1"
		return
	fi
	rm -f "$logs"/*
	for mode in 'functions 3000' 'threads 100' 'chain 3' 'fork 0'; do
		rm -f "$logs"/*
		# shellcheck disable=SC2086 # words of a mode
		"$emulator" -L "$root" -E LD_PRELOAD="$scratch/tracker_$1.so" -E DCPI_OBJECTS="$logs" -E DCPI_OBJECTS_READ=1 "$scratch/objects_$1" $mode \
			>"$scratch/out" 2>"$scratch/err"
		"$shows" "$logs" >"$scratch/shown" 2>&1
		check_equal "on an emulated $1: ${mode% *}" "$(grep -v '^child\|^parent' "$scratch/out" | sort)" \
			"$(grep -v '^objects' "$scratch/shown" | sort)$(cat "$scratch/err")"
	done
}

allocators
destructors
processes
kept
harm
programs
libraries
emulated x86_64 x86_64-linux-gnu-gcc /
emulated aarch64 aarch64-linux-gnu-gcc /usr/aarch64-linux-gnu
emulated riscv64 riscv64-linux-gnu-gcc /usr/riscv64-linux-gnu
exit 0
