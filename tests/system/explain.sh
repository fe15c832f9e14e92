#!/bin/bash
# explain.sh [SEED] - dcpicalc and its sisters on procedures of programs and libraries that nobody here wrote
#
# Samples are made up by sample_files.c: of each file the largest procedure and two others. EXPLAIN_FILES=500 takes so
# many files of this machine; CI takes 40. BUILD=build-asan takes programs with sanitizers, with no limit of memory.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seed=${1:-1997}
db=$scratch/db
export LIMITS='30 524288' DCPI_CPUS=$top/config/cpus
if grep -q __asan_init "$build/bin/dcpicalc"; then
	LIMITS='300 unlimited'
fi

mapfile -t files < <(machine_files "${EXPLAIN_FILES:-40}")
if ! "$build/tests/system/sample_files" "$seed" 2 "$db" "${files[@]}" >"$scratch/procedures" 2>"$scratch/err"; then
	not_ok 'samples are written' "$(tail -n 20 "$scratch/err")"
	exit 1
fi
trouble=$(xargs -d '\n' -P "$(nproc)" -n 1 bash "$top/tests/system/explain_round.sh" "$build" "$db" "$scratch" \
	<"$scratch/procedures")
check_equal "each procedure is shown in each form within 30 s of CPU time and 512 MiB" '' "$trouble"
check 'of nearly all files' test $((10 * $(cut -d ' ' -f 4- "$scratch/procedures" | sort -u | wc -l))) -ge $((9 * ${#files[@]}))
# whole TOOL - all images at once, as text and as JSON
whole()
{
	(
		read -r seconds kib <<<"$LIMITS"
		ulimit -t $((4 * seconds)) -d "$kib"
		"$build/bin/$1" --db "$db" --epoch sampled >"$scratch/text" &&
			"$build/bin/$1" --db "$db" --epoch sampled --json >"$scratch/json"
	) && grep -q '^Analysed: ' "$scratch/text" && ! grep -qE '(^|[ (-])(nan|inf)(cy|CPI|%|[ )]|$)' "$scratch/text" &&
		json_holds ".schema == \"$1/1\"" "$scratch/json"
}
check 'dcpitopstalls shows all of them together' whole dcpitopstalls
check 'and so does dcpiwhatcg' whole dcpiwhatcg
figure "$(wc -l <"$scratch/procedures") procedures of ${#files[@]} files, the largest of $(sort -rnk 3 "$scratch/procedures" |
	awk 'NR == 1 { print $3 " instructions, in " $4 }')"
[ $failures = 0 ]
