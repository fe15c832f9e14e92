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
check 'of at least eight in ten files' test $((10 * $(cut -d ' ' -f 4- "$scratch/procedures" | sort -u | wc -l))) -ge $((8 * ${#files[@]}))
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
# damage FROM TO SEED - a copy with up to 100 bytes changed, of headers, tables or anything
damage()
{
	# shellcheck disable=SC2016 # perl's own
	perl -e 'my ($from, $to, $seed) = @ARGV; srand $seed; local $/; open my $in, "<:raw", $from or die; my $file = <$in>;
		my ($size, $tables) = (length $file, unpack "Q", substr $file, 40, 8);
		for (1 .. (1, 1, 3, 10, 100)[rand 5]) {
			my $at = (int rand $size, 64 + int rand 1436, $tables + int rand $size - $tables)[rand 3];
			substr($file, $at, 1) = chr((0, 255, int rand 256, ord(substr $file, $at, 1) ^ 1 << int rand 8)[rand 4]);
		}
		open my $out, ">:raw", $to or die; print $out $file' "$@"
}

# Whatever stands where a program was: it is shown, or there is a sentence why not.
damaged_copies()
{
	local round address tool status

	cp "$build/workloads/branches" "$scratch/program" || return
	read -r address _ < <("$build/tests/system/sample_files" "$seed" 0 "$scratch/damaged" "$scratch/program") || return
	for ((round = 0; round < ${EXPLAIN_DAMAGED:-60}; round++)); do
		damage "$build/workloads/branches" "$scratch/copy" $((seed + round)) &&
			cat "$scratch/copy" >"$scratch/program" || return # the same inode
		for tool in dcpicalc dcpilist; do
			(
				ulimit -t "${LIMITS% *}"
				exec "$build/bin/$tool" --db "$scratch/damaged" --epoch sampled "$address" program >"$scratch/text"
			) 2>"$scratch/err"
			status=$?
			[ $status -le 4 ] && { [ $status = 0 ] || grep -q "^$tool: ." "$scratch/err"; } && continue
			echo "$tool, seed $((seed + round)): status $status: $(tail -n 3 "$scratch/err")"
		done
	done
}
check_equal 'damaged copies of a program are shown, or refused with a sentence' '' "$(damaged_copies 2>&1)"
figure "$(wc -l <"$scratch/procedures") procedures of ${#files[@]} files, the largest of $(sort -rnk 3 "$scratch/procedures" |
	awk 'NR == 1 { print $3 " instructions, in " $4 }')"
[ $failures = 0 ]
