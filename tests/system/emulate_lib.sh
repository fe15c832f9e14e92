# shellcheck shell=bash
# emulate_lib.sh - what the tests of dcpiemu share; sourced after lib.sh

# Globals of lib.sh:
# shellcheck disable=SC2154

db=$scratch/db
report=$scratch/report # of the last emulation, JSON
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
unset OMP_NUM_THREADS QEMU_CPU

# emulator_or_skip SENTENCE [ARCHITECTURE]
emulator_or_skip()
{
	command -v "qemu-${2:-x86_64}" >/dev/null || {
		skip "$1" 'qemu-user is not installed'
		return 1
	}
}

# emulate MACHINE THREADS [OPTION...] -- COMMAND... - into $db; report in $report, output in $scratch/out and err; the
# status is the command's
emulate()
{
	local machine=$1 threads=$2

	shift 2
	dcpiemu run --machine "$machine" --threads "$threads" --db "$db" --quiet --json --output "$report" "$@" \
		>"$scratch/out" 2>"$scratch/err" </dev/null
}

# Virtual seconds of the part that a workload timed.
timed()
{
	sed -n 's/^\([0-9.]*\) s.*/\1/p' "$scratch/err"
}

# same SENTENCE MACHINE THREADS COMMAND... - what it prints and how it ends are as without emulation; what it leaves as
# $scratch/made, too
same()
{
	local sentence=$1 machine=$2 threads=$3 expected unlike

	shift 3
	rm -rf "$db" "$scratch"/made*
	OMP_NUM_THREADS=$threads run_alone "$@"
	expected=$?
	[ ! -e "$scratch/made" ] || mv "$scratch/made" "$scratch/made.natively"
	emulate "$machine" "$threads" -- "$@"
	unlike=$(unlike_alone $expected $?)
	if [ "$unlike" ]; then
		not_ok "$sentence" "$unlike"
	elif [ -e "$scratch/made.natively" ] && ! cmp "$scratch/made.natively" "$scratch/made"; then
		not_ok "$sentence" 'it made another file'
	else
		ok "$sentence"
	fi
}

# share KIND NAME [OPTION...] - percent of the samples of cycles whose KIND, "procedure" or "image", matches NAME
share()
{
	dcpiprof --db "$db" "${@:3}" --json | jq --arg kind "$1" --arg name "$2" '
		([.rows[].counts.cycles] | add) as $all |
		if ($all // 0) == 0 then 0 else
			([.rows[] | select(.[$kind] // "" | test($name)) | .counts.cycles] | add // 0) * 100 / $all end'
}

# profiled SENTENCE PERCENT KIND NAME - at least so much
profiled()
{
	check_at_least "$1" "$2" "$(share "$3" "$4")"
}
