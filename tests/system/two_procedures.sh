#!/bin/bash
# dcpistats on a program of two procedures: of eight runs by dcpilabel, five of which walk through memory with a stride
# that meets in one set of the cache, the procedure that walks is marked, and the other is not; of eight steady runs
# nothing is. dcpidiff finds the same of two sides of runs. No other rows tell what noise is here: what is usual of runs does.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

RUNS=8
LENGTH=${LENGTH:-400} # milliseconds of each procedure, with the good stride
db=$scratch/db

# The program as dcpilabel runs it eight times: `bad` in five of them if $2 is not `steady`.
cat >"$scratch/run" <<'END'
#!/bin/bash
echo x >>"$1.runs"
run=$(wc -l <"$1.runs")
case $2/$run in
mixed/[236]) ;;
mixed/*) exec "$3" "$4" bad ;;
esac
exec "$3" "$4" good
END
chmod +x "$scratch/run"

label()
{
	dcpilabel --db "$db" --runs "$RUNS" --quiet --no-stats "$1" -- \
		"$scratch/run" "$scratch/$1" "$2" "$build/workloads/strides" "$LENGTH"
}

look()
{
	local kind

	for kind in mixed steady; do
		dcpistats --db "$db" --label "$kind.*" --image strides --p 0.05 --json >"$scratch/$kind.json" || return
	done
	check_equal 'the two procedures are what was tested' 'count walk' \
		"$(jq -r '[.rows[].procedure] | sort | join(" ")' "$scratch/mixed.json")"
	check_equal 'the one that walks is marked, alone' walk \
		"$(jq -r '[.rows[] | select(.marked) | .procedure] | join(" ")' "$scratch/mixed.json")"
	check 'p is less than 0.05' json_holds '.rows[0].procedure == "walk" and .rows[0].p < 0.05' "$scratch/mixed.json"
	check 'of steady runs nothing is, at 0.01' json_holds '[.rows[].p | numbers] | min > 0.01' "$scratch/steady.json"
	check 'noise is between bounds' json_holds '.noise_least_percent < .noise_percent and .noise_percent < .noise_most_percent' \
		"$scratch/mixed.json"
	dcpistats --db "$db" --label 'mixed.*' --image strides >"$scratch/mixed.txt"
	check 'and its line says what it is from' grep -Eq \
		'^Noise: +sampling, and [0-9.]+% from set to set \([0-9.]+% to [0-9.]+%\): by these 2 procedures and ' "$scratch/mixed.txt"
	figure "$(jq -r '"mixed: " + ([.rows[] | "\(.procedure) \(.min) to \(.max), p \(.p)"] | join("; "))' "$scratch/mixed.json")"
	figure "$(jq -r '"steady: " + ([.rows[] | "\(.procedure) \(.min) to \(.max), p \(.p)"] | join("; "))' "$scratch/steady.json")"
}

# Sides of the same runs: every other steady one and the others, and all of them with the five that walk badly.
look_at_sides()
{
	dcpidiff --db "$db" --image strides --before 'steady.[1357]' --after 'steady.[2468]' --json >"$scratch/same.json" &&
		dcpidiff --db "$db" --image strides --before 'steady.*' --after 'mixed.[14578]' --json >"$scratch/other.json" ||
		return
	# p < 0.05 is true of one in twenty comparisons of nothing: a test asks for less
	check 'steady runs have not changed' json_holds '.before.runs == 4 and .after.runs == 4 and
		([.rows[].p] | min) > 0.001' "$scratch/same.json"
	check 'with a bad stride the share of the one that walks has' json_holds '
		.after.runs == 5 and (.rows[] | select(.procedure == "walk") | .changed and .difference > 10)' "$scratch/other.json"
	dcpidiff --db "$db" --before 'steady.*' --after 'mixed.[14578]' --json --instructions walk strides >"$scratch/code.json"
	check 'and so have instructions of it, all of whose runs are known' json_holds '.changed >= 1 and .noise.tested >= 1 and
		(.rows[0] | .kind == "procedure" and .changed)' "$scratch/code.json"
	figure "$(jq -r '"sides: \(.rows[0].procedure) \(.rows[0].least) to \(.rows[0].most) points, p \(.rows[0].p)"' "$scratch/other.json")"
}

may_sample_or_skip 'eight runs are compared' || exit 0
printf 'events = ( { name = "cpu-clock"; rate = 2000; } );\n' >"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 1
}
check 'eight runs, five with a bad stride' label mixed mixed
check 'eight steady runs' label steady steady
dcpictl --db "$db" flush
look
look_at_sides
stop "$started"

[ $failures = 0 ]
