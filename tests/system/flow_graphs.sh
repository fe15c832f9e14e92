#!/bin/bash
# flow_graphs.sh - the flow graph of every procedure of programs and libraries that nobody here wrote
#
# FLOW_GRAPH_FILES=500 takes so many files of this machine; CI takes 60.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# total NAME - a number out of the last line
total()
{
	sed -n '$s/.*\<'"$1"' \([0-9.]*\).*/\1/p' "$scratch/output"
}

mapfile -t files < <(machine_files "${FLOW_GRAPH_FILES:-60}")
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
