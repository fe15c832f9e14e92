#!/bin/bash
# dcpiemu with what people run all day: the same output and status as without it, and a profile that names what ran.
# shellcheck disable=SC2016 # what other shells are to expand
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'everyday programs run as without emulation' || exit 0
new=e5-2690v4
plain=in-order-2

make_inputs()
{
	everyday_inputs 300000 3000
	cat >"$scratch/small.c" <<-'C'
	#include <stdio.h>
	int main(int argc, char **argv)
	{
		for (int i = 0; i < argc; i++)
			printf("%d %s\n", i, argv[i]);
		return argc;
	}
	C
}

interpreters()
{
	same 'python3 -c' $new 1 /usr/bin/python3 -c 'import re, json
words = {}
for i in range(3000): words[str(i * 7 % 100)] = words.get(str(i), 0) + len(re.sub("[1-3]", "", str(i)))
print(json.dumps(words, sort_keys=True)); raise SystemExit(3)'
	profiled 'its interpreter is named' 10 procedure '^_PyEval_EvalFrameDefault'
	same 'sqlite3 on a script, with an error' $plain 1 sqlite3 :memory: ".read $scratch/script.sql"
	profiled 'its library is' 40 image '/libsqlite3'
	[ "$(uname -m)" != x86_64 ] || # the number of brk(2) there
		same 'a heap that grows by 16 MiB' $plain 1 perl -e '$end = syscall(12, 0); print syscall(12, $end + (16 << 20)) - $end, "\n"'
}

compressors()
{
	same 'gzip -9' $plain 1 gzip -9c "$scratch/text"
	profiled 'most of it is gzip itself' 80 image '/gzip$'
	same 'xz with two threads' $new 2 xz -1 -T2 --block-size=150000 -c "$scratch/text"
	profiled 'most of it is the library' 80 image '/liblzma'
	check 'two threads had cycles' json_holds '[.programs[].threads[] | select(.busy_cycles > 1000000)] | length >= 2' "$report"
}

children()
{
	local sum

	same 'gcc compiles a file' $new 1 /usr/bin/gcc -O2 -c -o "$scratch/made" "$scratch/small.c"
	profiled 'the compiler that it executes is profiled' 30 image '/cc1$'
	check_at_least 'so is the assembler' 0.01 "$(share image '/[a-z0-9_-]*as$')"
	same 'a shell script with pipes' $plain 1 sh -c 'sort "$0" | uniq -c | sort -rn | head -n 5; false | cat; exit 4' \
		"$scratch/text"
	sum=$(share image '/sort$')
	check_at_least 'its children are profiled' 10 "$sum"
	printf '#!/bin/sh\necho "$# $1"; exec cat "$0"\n' >"$scratch/script"
	chmod +x "$scratch/script"
	same 'a script by its first line' $plain 1 "$scratch/script" one two
}

# other_architecture COMPILER ARCHITECTURE
other_architecture()
{
	local machine

	if ! "$1" -O2 -static -pthread -D_GNU_SOURCE -o "$scratch/critical_$2" \
		"$top/tests/workloads/emulated/critical.c" 2>/dev/null; then
		skip "a static $2 program" "there is no $1"
		return
	fi
	emulator_or_skip "a static $2 program" "$2" || return
	if ! decoded_or_skip "a static $2 program" "$2"; then
		[ -z "$undecoded" ] || check_equal "a static $2 program is refused in one sentence" \
			"dcpiemu: $scratch/critical_$2: $undecoded" \
			"$(dcpiemu run --machine $plain --db "$db" -- "$scratch/critical_$2" inside 2 300 2>&1)"
		return
	fi
	for machine in $plain $new; do
		rm -rf "$db"
		check_equal "a static $2 program on $machine" '600 360706' \
			"$(dcpiemu run --machine "$machine" --threads 2 --db "$db" --quiet -- "$scratch/critical_$2" inside 2 300)"
		profiled 'its procedure is named' 50 procedure '^miss$'
	done
}

make_inputs
interpreters
compressors
children
other_architecture aarch64-linux-gnu-gcc aarch64
other_architecture riscv64-linux-gnu-gcc riscv64
