#!/bin/bash
# cpu_models.sh - the models of CPUs are those that LLVM's make, best cases agree with llvm-mca's, and are bounds
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

same='the models are what scripts/cpu-models makes'
marked='each figure of a model that is not LLVM'\''s says where it is from'
bounds='best cases of loops are no more than what this CPU takes'
agree='best cases of loops of real programs differ from llvm-mca by at most 10 %, median'
for tool in llvm-mca-19 llvm-mc-19 objdump /usr/bin/python3; do
	command -v $tool >/dev/null || {
		skip "$same" "$tool is not installed"
		skip "$agree" "$tool is not installed"
		skip "$bounds" "$tool is not installed"
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

# Figures without a mark, marks that the head does not explain, and files in which there are no figures.
unmarked()
{
	awk 'FNR == 1 { none = 0 }
		/^# No CPU/ { none = 1 }
		/^#   [a-z]+: / { known[FILENAME, substr($2, 1, length($2) - 1)] = 1 }
		none || !/^\t?[a-z0-9_]+ = [0-9a-z]+;/ || /^(issue_width|folded_)/ { next }
		{ figures[FILENAME]++ }
		NF < 5 || $4 != "#" || !known[FILENAME, $5] { print FILENAME ": " $0; bad = 1 }
		END { for (file in figures) if (figures[file] < 12) { print file ": no figures"; bad = 1 }
			exit bad || length(figures) < 6 }' "$top"/config/cpus/*.conf
}
check "$marked" unmarked

BUILD=$build "$top/scripts/compare-silicon" >"$scratch/silicon" 2>&1
status=$?
if [ "$status" = 2 ]; then
	skip "$bounds" "$(tail -n 1 "$scratch/silicon")"
elif [ "$status" = 0 ]; then
	ok "$bounds"
	figure "$(sed -n '1,4p' "$scratch/silicon" | tr '\n' ' ')"
else
	not_ok "$bounds" "$(head -n 30 "$scratch/silicon")"
fi

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
