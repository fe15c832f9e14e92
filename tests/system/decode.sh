#!/bin/bash
# Instructions of real programs begin where objdump says: libc, libcrypto and python3, all of their .text; and those of
# riscv64's libc have its texts
#
# libcrypto has tables and strings between its procedures. There both decoders read noise, and what the one calls an
# instruction the other may not: places within 256 bytes of what is no instruction to objdump - "(bad)", or a prefix that
# stands alone - are not compared.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

reach=256

# sections of FILE: the address of its .text
text_address()
{
	objdump -h -j .text "$1" | awk '$2 == ".text" { print $4 }'
}

# theirs FILE: a line for each instruction of objdump's, its address in eight digits, behind it "?" where it is noise
theirs()
{
	objdump -d -z -j .text --insn-width=15 "$1" | awk -F'\t' '
		/^ *[0-9a-f]+:\t/ && NF > 2 {
			sub(/^ */, "", $1)
			sub(/:.*/, "", $1)
			noise = $3 ~ /\(bad\)/ || $3 ~ /^(rex[.A-Z]*|[cdefgs]s|lock|data16|addr32|repn?z) *$/
			printf "%s%s%s\n", substr("00000000", 1, 8 - length($1)), $1, noise ? " ?" : ""
		}'
}

# differences: of $scratch/ours and $scratch/theirs, far from noise
differences()
{
	sort -m "$scratch/ours" "$scratch/theirs" | sed 's/ .*//' | uniq -u >"$scratch/different"
	[ -s "$scratch/different" ] || return 0
	awk -v reach=$reach '
		function value(hex,    i, n) {
			for (i = 1; i <= 8; i++)
				n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		FNR == NR { if ($2 == "?") noise[count++] = value($1); next }
		{
			at = value($1)
			while (next_noise < count && noise[next_noise] < at - reach)
				next_noise++
			if (next_noise == count || noise[next_noise] > at + reach)
				print $1
		}' "$scratch/theirs" "$scratch/different"
}

# compare NAME FILE MOST
compare()
{
	local name=$1 file=$2 most=$3 address found

	if [ ! -e "$file" ] || ! readelf -h "$file" 2>/dev/null | grep -q X86-64; then
		skip "$name begins its instructions where objdump says" "no $file of x86-64 here"
		return
	fi
	address=$(text_address "$file")
	objcopy -O binary --only-section=.text "$file" "$scratch/text"
	"$build/tests/system/decode_list" "$address" <"$scratch/text" >"$scratch/ours"
	theirs "$file" >"$scratch/theirs"
	found=$(differences)
	figure "decode: $name has $(wc -l <"$scratch/ours") instructions, $(wc -w <<<"$found") begin elsewhere"
	if [ "$(wc -l <"$scratch/theirs")" -gt 1000 ] && [ "$(wc -w <<<"$found")" -le "$most" ]; then
		ok "$name begins its instructions where objdump says"
	else
		not_ok "$name begins its instructions where objdump says" "$(head -20 <<<"$found")"
	fi
}

# Without the i of immediates, which objdump writes from binutils 2.44 on, and none before.
without_immediate()
{
	sed -E 's/([ ,])0x/\1/g; s/ (add|sll|and|srl|sra|or|xor|csr[wsc])i(w?) / \1\2 /'
}

# texts NAME FILE: each instruction of a riscv64 FILE has objdump's text
texts()
{
	local name=$1 file=$2 found

	if [ ! -e "$file" ] || ! command -v riscv64-linux-gnu-objdump >/dev/null; then
		skip "$name has objdump's texts" "no $file or no objdump for riscv64 here"
		return
	fi
	decoded_or_skip "$name has objdump's texts" riscv64 || return
	riscv64-linux-gnu-objcopy -O binary --only-section=.text "$file" "$scratch/text"
	"$build/tests/system/decode_list" "$(text_address "$file")" riscv64 <"$scratch/text" |
		sed -E 's/ +/ /g; s/\(bad\)/unimp/' | without_immediate >"$scratch/ours"
	riscv64-linux-gnu-objdump -d -z -j .text "$file" | awk -F'\t' '
		/^ *[0-9a-f]+:\t/ && NF > 2 {
			sub(/^ */, "", $1)
			sub(/:.*/, "", $1)
			sub(/ <.*|[ \t]*#.*/, "", $4)
			printf "%s%s %s%s%s\n", substr("00000000", 1, 8 - length($1)), $1, $3, $4 == "" ? "" : " ", $4
		}' | without_immediate >"$scratch/theirs"
	found=$(diff "$scratch/ours" "$scratch/theirs")
	figure "decode: $name has $(wc -l <"$scratch/theirs") instructions, $(grep -c '^>' <<<"$found") with another text"
	if [ "$(wc -l <"$scratch/theirs")" -gt 1000 ] && [ -z "$found" ]; then
		ok "$name has objdump's texts"
	else
		not_ok "$name has objdump's texts" "$(head -20 <<<"$found")"
	fi
}

texts "libc of riscv64" /usr/riscv64-linux-gnu/lib/libc.so.6
compare libc "$(ldconfig -p | awk '$1 == "libc.so.6" && /x86-64/ { print $NF; exit }')" 0
compare libcrypto "$(ldconfig -p | awk '$1 ~ /^libcrypto\.so/ && /x86-64/ { print $NF; exit }')" 5
compare python3 "$(readlink -f /usr/bin/python3)" 0
[ $failures = 0 ]
