#!/bin/bash
# flow_graphs.sh - the flow graph of every procedure of programs and libraries that nobody here wrote
#
# FLOW_GRAPH_FILES=500 takes so many files of this machine; CI takes 60.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# sample COUNT - so many ELF files of /usr/bin and the libraries, evenly chosen by name, each once; libc always
sample()
{
	local libraries

	libraries=/usr/lib/$(uname -m)-linux-gnu
	{
		find /usr/bin "$libraries" -maxdepth 1 -type f -size +8k ! -name '*.a' ! -name '*.o' 2>/dev/null |
			sort | while read -r file; do
				[ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] && printf '%s\n' "$file"
			done |
			awk -v count="$1" '{ line[NR] = $0 }
				END { for (i = 0; i < count && i < NR; i++) print line[int(i * NR / (count < NR ? count : NR)) + 1] }'
		readlink -f "$libraries/libc.so.6"
	} | sort -u
}

# total NAME - a number out of the last line
total()
{
	sed -n '$s/.*\<'"$1"' \([0-9.]*\).*/\1/p' "$scratch/output"
}

mapfile -t files < <(sample "${FLOW_GRAPH_FILES:-60}")
(
	ulimit -v $((512 * 1024)) # KiB
	"$build/tests/system/flow_graphs" "${files[@]}"
) >"$scratch/output" 2>&1
status=$?
figure "$(tail -n 1 "$scratch/output")"
check_equal 'every graph is sound, and made within 512 MiB' '0, 0 faults' "$status, $(total faults) faults"
[ "$status" = 0 ] || head -n 20 "$scratch/output" | sed 's/^/#   /'
check 'nearly all files could be read' test $(($(total files) * 100)) -ge $((${#files[@]} * 90))
check 'there are enough procedures to speak of' test "$(total procedures)" -ge 2000
check 'indirect jumps of at least 90 % of the procedures that have some are resolved' \
	test $(($(total resolved) * 100)) -ge $(($(total jumping) * 90))
check 'so are those of at least 85 % of the procedures that have more than tail calls' \
	test $(($(total switches_resolved) * 100)) -ge $(($(total switching) * 85))
[ $failures = 0 ]
