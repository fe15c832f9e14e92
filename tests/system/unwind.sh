#!/bin/bash
# unwind.sh - stacks of programs as Debian ships them, without frame pointers: the frames are those that gdb finds
#
# gdb stops each program at random moments under load; each moment - registers, 64 KiB of stack, mappings - is unwound by
# the tables of its images. UNWIND_MOMENTS=400 takes so many of each program; UNWIND_SEED=2 others.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

moments=${UNWIND_MOMENTS:-100}
replay=$build/tests/system/unwind_replay

# Signal handlers, recursion, a callback from C, threads: what the programs do is up to their own interpreters.
cat >"$scratch/load.bash" <<'END'
fib() { if (($1 < 2)); then result=$1; else local a; fib $(($1 - 1)); a=$result; fib $(($1 - 2)); result=$((a + result)); fi; }
trap 'ticks=$((ticks + 1))' USR1
declare -A seen
while :; do
	fib 10
	text=$(<"$0")
	for word in $text; do seen[$word]=${seen[$word]}x; case $word in *fib*) kill -USR1 $$ ;; esac; done
	[[ $text =~ (fib[^;]*)+ ]] && text=${text//[a-f]/Q}
	seen=()
done
END
cat >"$scratch/load.py" <<'END'
import ctypes, json, random, re, signal, threading, zlib
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Key:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
libc = ctypes.CDLL(None)
pointer = ctypes.POINTER(ctypes.c_int)
compare = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(lambda a, b: a[0] - b[0])
def work():
    while True:
        zlib.compress(random.randbytes(1 << 16), 9)
        fib(8)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
while True:
    numbers = (ctypes.c_int * 200)(*[i * 7919 % 1000 for i in range(200)])
    libc.qsort(numbers, 200, 4, compare)
    fib(15)
    s = json.dumps([{"a": i, "b": [str(i)] * 3} for i in range(300)])
    json.loads(s)
    re.sub(r"(\w+)\W+(\d+)", lambda m: m.group(2) + m.group(1), s)
    sorted(Key(random.random()) for _ in range(500))
    eval("+".join(["1"] * 200))
END
cat >"$scratch/load.pl" <<'END'
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
while (1) {
	fib(12);
	my %h = map { $_ => $_ * 2 } 1 .. 500;
	my @s = sort { $h{$a} <=> $h{$b} || $a cmp $b } keys %h;
	my $t = join ",", @s;
	$t =~ s/(\d)(\d)(?=(.)?)/$2$1/g;
	my $e = join "+", 1 .. 100;
	my $f = eval "sub { $e }" or die;
	$f->();
	my @f = map { sprintf "%s-%05d", $_, $h{$_} } @s;
}
END
cat >"$scratch/load.sql" <<'END'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200000) INSERT INTO t SELECT i, 'row ' || (i*7919 % 10007), i*0.5 FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), b FROM t GROUP BY b ORDER BY 1 DESC, 2 LIMIT 5;
SELECT sum(x.c) FROM t x JOIN t y ON x.b = y.b AND x.a < y.a;
SELECT count(*) FROM t WHERE b LIKE '%9%7%' OR upper(b) GLOB '*1*2*';
SELECT json_group_array(json_object('a',a,'b',b)) FROM (SELECT * FROM t LIMIT 20000);
DELETE FROM t WHERE a % 3 = 0;
VACUUM;
END

# count NAME - a number of the line "NAME moments 100 equal 98 cut 2 different 0 ..." in $total
count()
{
	sed -n 's/.* '"$1"' \([0-9]*\).*/\1/p' <<<"$total"
}

# judge NAME REFERENCE - unwind the moments in $scratch/NAME
judge()
{
	local name=$1 total

	"$replay" -r 5 "$scratch/$name" >"$scratch/$name.replay" 2>&1
	total=$(tail -n 1 "$scratch/$name.replay")
	figure "$name: ${total#* }"
	check_equal "frames of $name are those of $2 at $moments moments, as far as 64 KiB of stack reach" \
		"$moments moments, 0 different" "$(($(count equal) + $(count cut))) moments, $(count different) different"
	check_at_most "64 KiB are too few for at most a twentieth of them" $((moments / 20)) "$(count cut)"
	check_equal "no stack of $name ends early for another reason" '' \
		"$(grep -oE '(no table|bad frame|depth limit): [0-9]+' <<<"$total")"
	grep -v '^'"$scratch/$name moments" "$scratch/$name.replay" | head -n 30 | sed 's/^/#   /'
	rm "$scratch/$name"
}

# compare NAME PROGRAM ARGUMENTS - ARGUMENTS are words of a shell
compare()
{
	local name=$1 program=$2 arguments=$3

	if [ "$(gdb -batch -nx -ex 'python print(2 + 2)' 2>&1)" != 4 ]; then
		skip "frames of $name are those of gdb" 'there is no gdb with Python here'
		return
	fi
	if [ ! -x "$program" ]; then
		skip "frames of $name are those of gdb" "there is no ${program##*/} here"
		return
	fi
	if ! MOMENTS=$moments SEED=${UNWIND_SEED:-1} OUTPUT=$scratch/$name ARGUMENTS=$arguments timeout 600 \
		gdb -batch -nx -x "$top/tests/system/unwind_moments.py" "$program" >"$scratch/$name.gdb" 2>&1; then
		not_ok "gdb stops $name" "$(tail -n 5 "$scratch/$name.gdb")"
		return
	fi
	judge "$name" gdb
}

cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
compare bash /bin/bash "$scratch/load.bash"
compare python3 "$(readlink -f /usr/bin/python3)" "$scratch/load.py"
compare perl /usr/bin/perl "$scratch/load.pl"
compare sqlite3 /usr/bin/sqlite3 "':memory:' '.read $scratch/load.sql'"
gcc -E -D_GNU_SOURCE -DDCPI_VERSION='"0"' -I"$top/libsample" -I"$top" "$top/libsample/stream/perf_data.c" -o "$scratch/load.i"
compare cc1 "${cc1:-cc1}" "-fpreprocessed $scratch/load.i -quiet -O2 -g -o /dev/null"

# compare_self NAME EMULATOR COMPILER OPTION... - a program that interrupts itself, with the frames that libgcc finds
compare_self()
{
	local name=$1 emulator=$2 compiler=$3

	shift 3
	if ! command -v "$compiler" >/dev/null || ! command -v "${emulator:-true}" >/dev/null; then
		skip "frames of $name are those of libgcc" "there is no $compiler or no $emulator here"
		return
	fi
	check "$name can be built" "$compiler" "$@" -O2 -D_GNU_SOURCE -static -o "$scratch/$name.program" \
		"$top/tests/system/unwind_self.c"
	check "$name runs" timeout 100 ${emulator:+"$emulator"} "$scratch/$name.program" "$scratch/$name" "$moments"
	judge "$name" libgcc
}

# gdb knows this machine's programs only. Here libgcc and gdb agree; on arm64 libgcc's frames are those of signed return
# addresses, too.
compare_self self '' gcc
compare_self self-arm64 qemu-aarch64 aarch64-linux-gnu-gcc -mbranch-protection=standard

# What dcpi-capture is to make within its time: the largest of these programs has half a million rows.
"$replay" -t "${cc1:-/bin/bash}" /bin/bash >"$scratch/tables" 2>&1
while read -r line; do figure "${line##*/}"; done <"$scratch/tables"
check_at_most 'a table takes at most 8 bytes a row in memory' 8 \
	"$(sed -n 's/.*(\([0-9.]*\) a row).*/\1/p' "$scratch/tables" | sort -n | tail -n 1)"
check_at_most 'and less than 2 s to make' 2000 "$(sed -n 's/.*built in \([0-9.]*\) ms.*/\1/p' "$scratch/tables" | sort -n | tail -n 1)"
[ $failures = 0 ]
