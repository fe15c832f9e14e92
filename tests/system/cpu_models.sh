#!/bin/bash
# cpu_models.sh - the models of CPUs are those that LLVM's make, and best cases agree with llvm-mca's
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

same='the models are what scripts/cpu-models makes'
agree='best cases of loops of real programs differ from llvm-mca by at most 10 %, median'
for tool in llvm-mca-14 llvm-mc-14 objdump /usr/bin/python3; do
	command -v $tool >/dev/null || {
		skip "$same" "$tool is not installed"
		skip "$agree" "$tool is not installed"
		exit 0
	}
done

compare()
{
	local model

	"$top/scripts/cpu-models" "$scratch" || return
	for model in "$scratch"/*.conf; do
		diff -u "$top/config/cpus/${model##*/}" "$model" || return
	done
}
check "$same" compare

"$top/scripts/compare-mca" "$build/bench/best_case" >"$scratch/table" 2>&1
status=$?
# shellcheck disable=SC2016 # a page has such quotes
loops=$(sed -n 's/^| `amd-zen3` | \([0-9]*\) .*/\1/p' "$scratch/table" | head -n 1)
if [ "$status" = 0 ] && [ "${loops:-0}" -ge 200 ]; then
	ok "$agree"
	figure "$loops loops: $(sed -n '3,4p' "$scratch/table" | tr '\n' ' ')"
elif [ "$status" = 0 ]; then
	skip "$agree" "only ${loops:-0} loops in the programs that are installed"
else
	not_ok "$agree" "$(head -n 30 "$scratch/table")"
fi
[ $failures = 0 ]
