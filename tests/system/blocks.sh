#!/bin/bash
# What the parts of dcpiemu are told of instructions - whether they load and store, in how many steps, how far from each
# other - is what the emulator does, access for access, in real programs of each architecture.
# shellcheck source-path=SCRIPTDIR disable=SC2016 # what perl is to expand
. "$(dirname "$0")/lib.sh"

plugin=$build/tests/system/blocks_plugin.so
found=$scratch/found

# compare NAME ARCHITECTURE MACHINE COMMAND... - MACHINE: ELF's number
compare()
{
	local name=$1 emulator=qemu-$2 machine=$3 accesses saved updates

	shift 3
	if ! command -v "$emulator" >/dev/null; then
		skip "$name does what blocks say" "$emulator is not installed"
		return
	fi
	rm -f "$found"
	"$emulator" -plugin "$plugin,out=$found,machine=$machine" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	read -r _ _ _ accesses _ saved _ updates _ <"$found"
	figure "blocks: $name: $accesses accesses, $saved without a callback, $updates updates"
	if [ "$accesses" -gt 10000 ] && [ "$saved" -gt 1000 ] &&
		grep -q ' elsewhere 0 outside 0 missing 0 unexpected 0 number 0 size 0 ' "$found"; then
		ok "$name does what blocks say"
	else
		not_ok "$name does what blocks say" "$(cat "$found")" "$(tail -n 5 "$scratch/err")"
	fi
}

# An own program for another architecture; it computes, copies and prints.
cat >"$scratch/guest.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row { int key; float weight; double sum; char name[20]; };

static int
compare(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

int
main(void)
{
	struct row *rows = calloc(500, sizeof(*rows));

	for (int i = 0; i < 500; i++) {
		rows[i] = (struct row){.key = i * 7919 % 500, .weight = (float)i / 3, .sum = i * 0.25};
		snprintf(rows[i].name, sizeof(rows[i].name), "%d %g", rows[i].key, rows[i].sum);
	}
	qsort(rows, 500, sizeof(*rows), compare);
	for (int i = 1; i < 500; i++)
		rows[i].sum += rows[i - 1].sum * rows[i].weight;
	printf("%g %s\n", rows[499].sum, rows[250].name);
	return 0;
}
END

# compare_guest ARCHITECTURE MACHINE
compare_guest()
{
	if ! command -v "$1-linux-gnu-gcc" >/dev/null; then
		skip "a program of $1 does what blocks say" "no compiler for $1 here"
		return
	fi
	decoded_or_skip "a program of $1 does what blocks say" "$1" || return
	"$1-linux-gnu-gcc" -O2 -static -o "$scratch/guest.$1" "$scratch/guest.c" &&
		compare "a program of $1" "$1" "$2" "$scratch/guest.$1"
}

if [ "$(uname -m)" = x86_64 ]; then
	compare python3 x86_64 62 /usr/bin/python3 -c 'print(sorted({str(i): i * 0.5 for i in range(200)}.items())[7])'
	head -c 60000 /bin/bash >"$scratch/file"
	compare gzip x86_64 62 /bin/gzip -9 -c "$scratch/file"
	compare perl x86_64 62 /usr/bin/perl -e '
		for my $i (1 .. 400) { $words{sprintf("%d %g", $i * 7919 % 401, sin($i) * $i ** 1.5)} = log($i) }
		my $text = join(",", map { "$_:$words{$_}" } sort keys %words);
		print scalar(() = $text =~ /\d+\.(\d+)/g), "\n"'
	if gcc -nostdlib -static -o "$scratch/accesses" "$top/tests/system/accesses.S"; then
		compare 'each kind of access of x86-64' x86_64 62 "$scratch/accesses"
	else
		not_ok 'each kind of access of x86-64 can be assembled'
	fi
fi
compare_guest aarch64 183
compare_guest riscv64 243
[ $failures = 0 ]
