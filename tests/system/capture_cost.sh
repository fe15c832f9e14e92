#!/bin/bash
# What it costs to capture an image has not grown: dcpi-capture answers four requests under callgrind, and the
# instructions that it takes are compared with those in tests/capture_cost/expected (no clock is involved)
#
# capture_cost.sh --renew (make capture-cost-figures) writes the figures of this compiler there instead: to be done,
# with a word about why, when a change is meant to cost or to save something.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

here=$top/tests/capture_cost
expected=$here/expected
compiler="$(uname -m) gcc-$(gcc -dumpversion | cut -d . -f 1)"

command -v valgrind >/dev/null || {
	skip 'instructions of dcpi-capture' 'valgrind is not there'
	exit 0
}
[ "${1:-}" = --renew ] || grep -q "^$compiler " "$expected" || {
	skip 'instructions of dcpi-capture' "no figures of $compiler; make capture-cost-figures writes them"
	exit 0
}

# make_image NAME FUNCTIONS - a program of so many functions, of which nobody is in order of address in its symbol table
make_image()
{
	cat >"$scratch/$1.s" <<-END
		.altmacro
		.macro function number
		.globl function_\\number
		.type function_\\number, %function
		function_\\number: .cfi_startproc
		nop
		nop
		ret
		.cfi_endproc
		.size function_\\number, . - function_\\number
		.endm
		.text
		.set n, 0
		.rept $2
		function %n
		.set n, n + 1
		.endr
		.globl _start
		.type _start, %function
		_start: ret
		.size _start, . - _start
		.section .note.GNU-stack, "", %progbits
	END
	gcc -nostdlib -no-pie -Wl,--build-id -o "$scratch/$1" "$scratch/$1.s"
}

# count IMAGE PLACES - what dcpi-capture executes for its names, and for code of so many of its functions; its answer
count()
{
	"$build/tests/capture_cost/request" "$scratch/$1" "$2" >"$scratch/request" || return
	valgrind --quiet --tool=callgrind --callgrind-out-file="$scratch/callgrind" \
		"$build/tests/capture_cost/unlocked" <"$scratch/request" >"$scratch/answer" || return
	"$build/lib/dcpi/dcpi-capture" <"$scratch/request" | cmp - "$scratch/answer"
}

{ make_image small 3 && make_image large 5000; } || {
	not_ok 'images are made'
	exit 1
}
for image in small large; do
	for places in 0 50; do
		check "dcpi-capture answers about the $image image, $places places" count $image $places
		awk -v key="$compiler $image $places" '$1 == "totals:" { printf "%s %.0f\n", key, $2 / 1000 }' "$scratch/callgrind"
	done
done >"$scratch/all"
grep -v "^$compiler " "$scratch/all"
failures=$(grep -c '^not ok' "$scratch/all")
grep "^$compiler " "$scratch/all" >"$scratch/figures"

if [ "${1:-}" = --renew ]; then
	[ "$failures" = 0 ] || exit 1
	{
		grep '^#' "$expected"
		{
			grep -v -e '^#' -e "^$compiler " "$expected"
			cat "$scratch/figures"
		} | sort -s -k 1,2
	} >"$scratch/expected" && cp "$scratch/expected" "$expected"
	exit
fi

while read -r _ _ image places now; do
	was=$(awk -v key="$compiler $image $places" '$1 " " $2 " " $3 " " $4 == key { print $5 }' "$expected")
	sentence="$image image, $places places: it costs what it did"
	if [ -z "$was" ]; then
		not_ok "$sentence" "there is no figure of it; now $now (make capture-cost-figures)"
	elif [ $((now * 100)) -gt $((was * 105)) ]; then
		not_ok "$sentence" "it took $was thousands of instructions, and takes $now now"
	else
		ok "$sentence"
	fi
done <"$scratch/figures"
[ "$failures" = 0 ]
