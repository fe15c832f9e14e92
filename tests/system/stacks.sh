#!/bin/bash
# stacks.sh - who called it: dcpid's call stacks of a program with a known call tree, and of programs as Debian ships them
# shellcheck source-path=SCRIPTDIR disable=SC2016 # programs in bash, Perl and SQL
. "$(dirname "$0")/lib.sh"
# shellcheck source=call_tree_ways.sh
. "$top/tests/system/call_tree_ways.sh"

may_sample_or_skip 'call stacks are sampled' || exit 0
workloads=$build/workloads
list=$build/tests/system/stack_list
db=$scratch/db
cat >"$scratch/dcpid.conf" <<'END'
stacks = { rate = 199; };
overhead_limit = 10.0;
flush_interval = 2;
END
chmod 600 "$scratch/dcpid.conf"

python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)

# run_programs - each for some hundred samples; their names are those of copies
run_programs()
{
	"$scratch/bin/call_tree" 5.5 "$workloads/libburn_a.so"
	timeout 20 "$scratch/bin/stacked_bash" -c 'f() { local i; for ((i = 0; i < 4000; i++)); do r=$((r + ${#1} * i)); done; }
		g() { f "$1"; h=$(f x); }; for ((j = 0; j < 12; j++)); do g "$j"; done'
	timeout 20 "$scratch/bin/stacked_perl" -e 'sub f { my $n = shift; return $n < 2 ? $n : f($n - 1) + f($n - 2) } f(29)'
	timeout 20 "$python" -c 'open("/proc/self/comm", "w").write("stacked_python")
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
f(32)'
	"$scratch/bin/stacked_maker" calls 1.5
	[ -z "$go" ] || { "$scratch/bin/stacked_go_exe" && "$scratch/bin/stacked_go_pie" && "$scratch/bin/stacked_go_all"; }
	[ -z "$node" ] || timeout 20 "$scratch/stacked_node" -e 'function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
		for (let i = 0; i < 40; i++) {
			fib(32)
			JSON.parse(JSON.stringify(Array.from({ length: 9999 }, (_, k) => "k" + k * 7919 % 1000).sort()))
		}'
	[ ! -x "$scratch/bin/bare" ] || "$scratch/bin/bare"
	everyday
}

# Programs that may be there, each for some seconds, by their own names.
everyday()
{
	timeout 20 "$scratch/bin/stacked_sqlite" :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
		SELECT count(DISTINCT i * 7919 % 65537), max(printf('%x', i)) FROM n"
	"${CC:-gcc}" -O2 -c -o "$scratch/large.o" "$scratch/large.c"
	[ -z "$git" ] || for _ in {1..40}; do "$scratch/bin/stacked_git" hash-object "$scratch"/bin/*; done
	[ -z "$redis" ] || redis-benchmark -s "$scratch/redis" -n 40000 -c 20 -q -t set,lpush,lrange_100,zadd
	[ -z "$postgres" ] || as_postgres "$postgres/pgbench" -h "$scratch/pg" -T 2 -c 4 postgres
}

as_postgres()
{
	setpriv --reuid postgres --regid postgres --clear-groups "$@"
}

# begin_servers - those that are installed, which are all of them in CI
begin_servers()
{
	git=$(command -v git)
	redis=$(command -v redis-server)
	postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | tail -n 1)
	[ "${CI:-}" != true ] ||
		check 'git, redis-server and postgres are installed' test -n "$git" -a -n "$redis" -a -n "$postgres"
	if [ -n "$git" ]; then
		cp "$git" "$scratch/bin/stacked_git"
		note_entry "$scratch/bin/stacked_git" git
	fi
	if [ -n "$redis" ]; then
		note_entry "$(readlink -f "$redis")"
		start redis-server --port 0 --unixsocket "$scratch/redis" --save '' --dir "$scratch" >/dev/null
		wait_for 10 test -S "$scratch/redis"
	fi
	[ -n "$postgres" ] || return 0
	note_entry "$postgres/postgres"
	chmod 755 "$scratch"
	install -d -o postgres "$scratch/pg"
	as_postgres "$postgres/initdb" -D "$scratch/pg/data" >/dev/null &&
		as_postgres "$postgres/pg_ctl" -D "$scratch/pg/data" -o "-k $scratch/pg -c listen_addresses=" -w start >/dev/null &&
		as_postgres "$postgres/pgbench" -h "$scratch/pg" -i -q postgres >/dev/null 2>&1
}

end_servers()
{
	[ -z "$postgres" ] || as_postgres "$postgres/pg_ctl" -D "$scratch/pg/data" -m immediate stop >/dev/null
}

# try_new_build NUMBER - what a programmer does: change a program, build it, run it for a moment
try_new_build()
{
	cat >"$scratch/new.c" <<END
#include <math.h>
#include <time.h>
volatile double sum = $1;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 10000; i++) sum += sin(sum + i); }
__attribute__((noinline)) void outer(void) { inner(); sum += $1; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) outer(); return 0; }
END
	"${CC:-gcc}" -O2 -fomit-frame-pointer -o "$scratch/bin/new_build_$1" "$scratch/new.c" -lm &&
		note_entry "$scratch/bin/new_build_$1" && "$scratch/bin/new_build_$1" && rm "$scratch/bin/new_build_$1"
}

# note_entry FILE [NAME...] - a program begins at its entry: take down how stack_list shows the 64 bytes of the file from
# there on where nothing has a name, with the file's own name and others
note_entry()
{
	local entry offset address size name i found=1

	entry=$(($(readelf -h "$1" | sed -n 's/.*Entry point address: *//p')))
	while read -r offset address size; do
		((address <= entry && entry < address + size)) || continue
		found=0
		for name in "${1##*/}" "${@:2}"; do
			for ((i = 0; i < 64; i++)); do
				printf '%s`%#x\n' "$name" $((entry - address + offset + i))
			done
		done
	done < <(readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }') >>"$scratch/entries"
	return $found
}

# build_bare - as chromium: frame pointers, and no description of any frame; what keeps them must be more than a few functions
build_bare()
{
	awk 'BEGIN {
		print "#include <time.h>\nvolatile unsigned long sum;"
		for (i = 0; i < 100; i++)
			printf "__attribute__((noinline)) unsigned long inner%d(unsigned long n) { for (unsigned long i = 0; i < 99; i++) sum += n * i; return sum + %d; }\n", i, i
		print "__attribute__((noinline)) unsigned long outer(void) {\nunsigned long all = 0;"
		for (i = 0; i < 100; i++)
			printf "all += inner%d(all);\n", i
		print "return all; }\nint main(void) { while (clock() < 2 * CLOCKS_PER_SEC) for (int i = 0; i < 1000; i++) sum += outer(); return 0; }"
	}' >"$scratch/bare.c"
	"${CC:-gcc}" -O0 -falign-functions=16 -fno-asynchronous-unwind-tables -fno-unwind-tables -o "$scratch/bin/bare" "$scratch/bare.c" &&
		objcopy -R .eh_frame -R .eh_frame_hdr "$scratch/bin/bare" && note_entry "$scratch/bin/bare"
}

mkdir "$scratch/bin"
cp "$workloads/call_tree" "$scratch/bin/"
cp "$workloads/code_maker" "$scratch/bin/stacked_maker"
node=$(command -v node)
[ -z "$node" ] || ln -s "$(readlink -f "$node")" "$scratch/stacked_node"
cp /bin/bash "$scratch/bin/stacked_bash"
cp "$(command -v perl)" "$scratch/bin/stacked_perl"
cp "$(command -v sqlite3)" "$scratch/bin/stacked_sqlite"
# A copy may be shown by the name of what it is a copy of.
note_entry "$scratch/bin/stacked_bash" bash
note_entry "$scratch/bin/stacked_perl" perl
note_entry "$scratch/bin/stacked_sqlite" sqlite3
note_entry "$(readlink -f "$python")"
note_entry "$("${CC:-gcc}" -print-prog-name=cc1)"
linker=$(readelf -lW /bin/bash | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
check 'the entry of the dynamic linker is known' note_entry "$(readlink -f "$linker")"
awk 'BEGIN {
	print "#include <stdio.h>\n#include <string.h>"
	for (i = 0; i < 150; i++)
		printf "int f%d(int a, char *s)\n{\n\tfor (int i = 0; i < a; i++)\n\t\ts[i] = (char)(s[i] * %d + i);\n\treturn (int)strlen(s) + snprintf(s, 9, \"%%d\", a);\n}\n", i, i % 97
}' >"$scratch/large.c"
# Without symbols, as Debian's packages; the second one may be loaded anywhere, the third has symbols and DWARF.
go=$(command -v go)
if [ -n "$go" ]; then
	mkdir "$scratch/go"
	cat >"$scratch/go/main.go" <<'END'
package main

import (
	"sort"
	"strconv"
	"time"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func inner() int { return fib(20) + 1 }

//go:noinline
func outer() int { return inner() + 1 }

//go:noinline
func garbage() int {
	texts := []string{}
	for i := 0; i < 3000; i++ {
		texts = append(texts, strconv.Itoa(i*7919%1000))
	}
	sort.Strings(texts)
	return len(texts)
}

func main() {
	done := make(chan bool)
	end := time.Now().Add(1500 * time.Millisecond)
	go func() {
		for time.Now().Before(end) {
			garbage()
		}
		done <- true
	}()
	for time.Now().Before(end) {
		outer()
	}
	<-done
}
END
	while read -r name mode flags; do
		check "a program in Go is built ($name)" env GOCACHE="$scratch/go/cache" GOFLAGS=-buildvcs=false GO111MODULE=off \
			go build -buildmode="$mode" -ldflags="$flags" -o "$scratch/bin/stacked_go_$name" "$scratch/go/main.go"
	done <<-'END'
		exe exe -s -w
		pie pie -s -w
		all exe
	END
fi
bare=
if [ "$(uname -m)" = x86_64 ]; then
	bare=yes
	check 'a program without descriptions of its frames is built' build_bare
fi
begin_servers
start_dcpid "$db" --config "$scratch/dcpid.conf" || { not_ok 'dcpid samples stacks' "$(cat "$db.log")"; exit; }
dcpid=$started
status=$(dcpictl --db "$db" status)
check 'the status has the event of stacks with its rate and its price' grep -qE 'cpu-clock.stacks +199 samples/s per CPU, [0-9.]+ us each|cycles.stacks' <<<"$status"

comms="stacked_bash stacked_perl stacked_python stacked_sqlite cc1${bare:+ bare}${git:+ stacked_git}${redis:+ redis-server}${postgres:+ postgres}"

run()
{
	run_programs >"$scratch/programs" 2>&1 || not_ok 'the programs run' "$(cat "$scratch/programs")"
	dcpictl --db "$db" flush >/dev/null
}

has_tables()
{
	dcpictl --db "$db" status --json | jq -e '.unwind.waiting == 0' >/dev/null
}

# Tables are made when code is sampled first, that of a caller after that of what it calls.
run
run
wait_for 20 has_tables # of all that runs, large programs beside the tests' own, too
dcpictl --db "$db" epoch --label=measured >/dev/null
run
run
for i in 1 2 3 4; do
	wait_for 20 has_tables # what others run keeps the tables' maker busy, too
	check "program $i is built and runs for half a second" try_new_build "$i"
done
sleep 3 # for which a stack may wait for a table
# those that wait at the end of an epoch, or of dcpid, are of that epoch, and none is lost
dcpictl --db "$db" epoch --label=cut >/dev/null
check 'a program is built and runs at the end of an epoch' try_new_build 5
dcpictl --db "$db" epoch --label=last >/dev/null
check 'a program is built and runs at the end of dcpid' try_new_build 6
status=$(dcpictl --db "$db" status)
figure "$(grep -E 'stacks' <<<"$status")"
check 'the status has the tables' grep -qE '^ +unwind tables +of [0-9]+ of [0-9]+ programs and libraries' <<<"$status"
check 'no stack was lost' grep -qE '[.]stacks .* 0 lost' <<<"$status"
stop "$dcpid"
end_servers

# stacks_of COMM - those with a frame in a program: while another one is executed, there is the kernel alone
stacks_of()
{
	[ -e "$scratch/stacks-$1" ] || {
		"$list" "$db" measured "$1" >"$scratch/all-$1"
		grep -vP "$kernel_alone" "$scratch/all-$1" >"$scratch/stacks-$1"
	}
	cat "$scratch/stacks-$1"
}
kernel_alone='\t!unknown(;\[kernel\][^;]*)+$'

# count_stacks EPOCH COMM
count_stacks()
{
	"$list" "$db" "$1" "$2" | awk '{ all += $1 } END { print all + 0 }'
}

# at_entry COMM - the samples of the command whose outermost frame is at an entry: that of a program, of the dynamic linker
# before it, or of a thread
at_entry()
{
	stacks_of "$1" | awk -F'\t' 'NR == FNR { entries[$1]; next }
		{ split($2, frames, ";") }
		frames[1] in entries || frames[1] ~ /`(_start|(__)?clone3?)$/ || frames[1] ~ /^ld-linux[^`]*`_dl_start_user$/ { part += $1 }
		END { print part + 0 }' "$scratch/entries" -
}

# at_exit COMM - the samples of the kernel alone while a process ends: it has no stack any more
at_exit()
{
	dcpiprof --db "$db" --epoch measured --comm "$1" --tree --least 0 --json | jq 'reduce .rows[] as $row ({sum: 0};
		if $row.level == 0 then .kernel = ($row.image == "[kernel]") else . end |
		if .kernel and $row.procedure == "do_exit" then .sum += $row.samples else . end) | .sum'
}

# with_made_code COMM PATTERN - the samples with a frame in code made at run time whose stack begins so
with_made_code()
{
	stacks_of "$1" | pattern="^$2" awk -F'\t' '$2 ~ /;\[(anon|jit)/ && $2 ~ ENVIRON["pattern"] { part += $1 } END { print part + 0 }'
}

stacks_of call_tree >/dev/null
check_call_tree "$scratch/stacks-call_tree"

stacks=0 exits=0
for comm in $comms; do
	count=$(stacks_of "$comm" | awk '{ all += $1 } END { print all + 0 }')
	check_at_least "$comm has samples" 30 "$count"
	whole=$(at_entry "$comm") ended=$(at_exit "$comm")
	stacks=$((stacks + count)) exits=$((exits + ended))
	check_at_least "$comm: 99 % of the stacks reach the entry of the program or of a thread" \
		$((99 * (count - ended) / 100)) "$whole"
	figure "$comm: $count stacks, $whole whole, $ended while it exits:$(stacks_of "$comm" |
		awk -F'\t' '$2 ~ /^(!|\[)/ { split($2, f, ";"); n[f[1]] += $1 } END { for (i in n) printf " %s %d", i, n[i] }')"
	[ "$whole" -ge $((99 * (count - ended) / 100)) ] ||
		stacks_of "$comm" | grep -vP '\t[^;]*`(_start|(__)?clone)' | cut -c1-300 | sed 's/^/# /'
done
check_at_most 'at most 3 % of the stacks are of processes that exit' $((3 * stacks / 100)) "$exits"
# Code made at run time, which keeps frame pointers; its own caller has none.
made='(\[anon\]|\[jit[^;]*)'
count=$(with_made_code stacked_maker '')
figure "code made at run time: of $count stacks with a frame in it, $(with_made_code stacked_maker '.*`_start') reach _start"
check_at_least 'a program that makes code at run time has samples in it' 200 "$count"
check_at_least 'and 99 % of the stacks are those that its source says, from the entry on' $((99 * count / 100)) \
	"$(with_made_code stacked_maker "[^;]*\`_start;(libc[^;]*;)+[^;]*\`main;$made;$made(;|\$)")"
# go_stacks COMM PATTERN - the samples whose stack begins with the pattern
go_stacks()
{
	stacks_of "$1" | awk -F'\t' -v pattern="^$2" '$2 ~ pattern { n += $1 } END { print n + 0 }'
}

if [ -n "$go" ]; then
	for comm in stacked_go_exe stacked_go_pie stacked_go_all; do
		count=$(go_stacks "$comm" '') name=$comm'`'
		begin="$name(_rt0_[^;]*|runtime[.](goexit|mstart|rt0_go|systemstack|mcall|morestack)([.]abi0)?)"
		figure "$comm: $count stacks, $(go_stacks "$comm" "$begin(;|\$)") whole, $(go_stacks "$comm" "${name}runtime[.]systemstack") of" \
			"the scheduler's stack"
		check_at_least "$comm has samples" 100 "$count"
		check_at_least "$comm: 99 % of the stacks reach where a goroutine or a thread begins" $((99 * count / 100)) \
			"$(go_stacks "$comm" "$begin(;|\$)")"
		check_at_most "$comm: of which a fifth on another stack" $((count / 5)) \
			"$(go_stacks "$comm" "${name}runtime[.](systemstack|mcall|morestack)")"
		check_at_least "$comm: a quarter are of the calls that its source says" $((count / 4)) \
			"$(go_stacks "$comm" "${name}runtime[.]goexit[^;]*;${name}runtime[.]main;${name}main[.]main;${name}main[.]outer;${name}main[.]inner;${name}main[.]fib;")"
	done
else
	skip 'stacks of programs in Go' 'golang-go is not installed'
fi
if [ -n "$node" ]; then
	# What calls that code in node, V8's builtins, has frame pointers and no descriptions.
	count=$(with_made_code stacked_node '')
	figure "node: of $count stacks with a frame in code made at run time, $(with_made_code stacked_node '.*`(_start|(__)?clone3?)') reach" \
		"_start or clone"
	check_at_least 'node has samples in code made at run time' 100 "$count"
	check_at_least 'and 99 % of these stacks reach the entry' $((99 * count / 100)) \
		"$(with_made_code stacked_node '[^;]*`(_start|(__)?clone3?);')"
else
	skip 'stacks through code that node made reach the entry' 'there is no node'
fi
builds=0
for i in 1 2 3 4; do
	count=$(stacks_of "new_build_$i" | awk '{ all += $1 } END { print all + 0 }')
	whole=$(at_entry "new_build_$i")
	figure "new build $i: $count stacks, $whole whole:$(stacks_of "new_build_$i" |
		awk -F'\t' '$2 ~ /^!/ { split($2, f, ";"); n[f[1] " " f[2]] += $1 } END { for (i in n) printf " %s %d", i, n[i] }')"
	[ "$count" -lt 60 ] || [ $((10 * whole)) -lt $((9 * count)) ] || builds=$((builds + 1))
done
check_at_least 'programs that were built a moment ago and ran for half a second: 90 % of the stacks of three of four, too' 3 "$builds"
alone=$(cat "$scratch"/all-* | grep -P "$kernel_alone" | awk '{ all += $1 } END { print all + 0 }')
all=$(cat "$scratch"/all-* | awk '{ all += $1 } END { print all + 0 }')
figure "$alone of $all stacks are of the kernel alone, at an address of the program that was replaced"
check_at_most 'one in a hundred stacks is of the kernel alone' $((all / 100)) "$alone"
# half a second of 199 samples each, of which the builds' own share may take some
check_at_least 'what waited at the end of an epoch belongs to it' 60 "$(count_stacks cut new_build_5)"
check_equal 'and not to the next' 0 "$(count_stacks last new_build_5)"
check_at_least 'what waited when dcpid left is there' 60 "$(count_stacks last new_build_6)"
check 'the database is whole' dcpictl --db "$db" check
