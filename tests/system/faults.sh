#!/bin/bash
# faults.sh [SUBJECT [KIND]] - dcpid and the tools with one call that fails, for each call that they make
#
# A call is the first from a place of the program, and of each kind $most places are taken, spread evenly; with
# FAULTS=places all of them, with FAULTS=all each call, of those that come by the hundred thousand every so many. See
# tests/faults/fail_nth.c for the kinds and round.sh for what must hold.
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export DCPI_CPUS=$top/config/cpus

export FAIL_NTH=$build/workloads/fail_nth.so
kinds=(alloc tally lmdb perf mmap open read write sync clock wait)
round=$top/tests/faults/round.sh
never=1000000000
most=25
[ "${FAULTS:-}" = all ] || export FAULT_PLACES=yes

# numbers_up_to N - the calls to fail
numbers_up_to()
{
	local step=$((($1 + most - 1) / most))

	case ${FAULTS:-} in
	all)
		seq 1 $(($1 < 1000 ? $1 : 1000))
		[ "$1" -le 1000 ] || seq 1001 $((($1 - 1000) / 2000 + 1)) "$1"
		;;
	places) seq 1 "$1" ;;
	*) seq 1 $step "$1" ;;
	esac
}

# fail_each SUBJECT KIND
fail_each()
{
	local subject=$1 kind=$2 calls met trouble

	trouble=$(KEEP=yes "$round" "$scratch" "$subject" "$kind" $never)
	calls=$(sed -n 's/ calls$//p' "$scratch/$subject.$kind.$never/report")
	if [ -n "$trouble" ] || [ -z "$calls" ]; then
		not_ok "$subject runs without a fault" "$trouble" "$(cat "$scratch/$subject.$kind.$never/err")"
		return
	fi
	[ "$calls" != 0 ] || return
	: >"$scratch/met"
	trouble=$(numbers_up_to "$calls" | xargs -P "$(nproc)" -I '{}' "$round" "$scratch" "$subject" "$kind" '{}')
	met=$(grep -vcE ' calls$|^spared$' "$scratch/met")
	check_equal "$subject stands each fault of kind $kind" '' "$trouble"
	[ "$met" -gt 0 ] || not_ok "faults of kind $kind meet $subject"
	figure "$subject, $kind: $calls calls counted, $met failed"
}

# Counters that cannot be disabled go on while the last samples are written to a slow disk. What is taken meanwhile, to
# relieve the rings, is written as well.
unstopped_counters()
{
	# shellcheck disable=SC2016 # perl's own
	start perl -e 'for (;;) { my $x = "a" x (4 << 20); undef $x }' # a thousand page faults each time
	check_equal 'dcpid writes what counters took that cannot be stopped' '' \
		"$(KEEP=yes "$round" "$scratch" dcpid unstopped 1)"
	check 'dcpid says that it cannot stop counting' grep -q 'cannot stop counting: No such device' \
		"$scratch/dcpid.unstopped.1/err"
	stop "$started"
}

# subject NAME COMMAND... - a tool, and what it prints without a fault
subject()
{
	local name=$1

	shift
	subjects+=("$name")
	printf '%s\n' "$@" >"$scratch/$name.command"
	"$@" >"$scratch/$name.expected" 2>/dev/null || not_ok "$name runs"
}

# explaining_subjects PROCEDURE - of the program `templates`, which has line numbers
explaining_subjects()
{
	subject dcpicalc dcpicalc --db "$scratch/sample" "$1" templates
	subject dcpicalc-json dcpicalc --json --db "$scratch/sample" "$1" templates
	subject dcpicalc-graph dcpicalc --graph "$scratch/graph.dot" --db "$scratch/sample" "$1" templates
	subject dcpilist dcpilist --db "$scratch/sample" "$1" templates
	subject dcpilist-json dcpilist --json --db "$scratch/sample" "$1" templates
	# A source that cannot be read is said there, and no count changes.
	echo "awk '/^ +[0-9]+ +[0-9]+ +[0-9a-f]+ / { print \$1, \$2, \$3 }'" >"$scratch/dcpilist.sums"
	echo 'jq -c "[.instructions[] | [.address, .samples]]"' >"$scratch/dcpilist-json.sums"
	subject dcpitopstalls dcpitopstalls --db "$scratch/sample" templates
	subject dcpiwhatcg dcpiwhatcg --db "$scratch/sample" templates
	# What could not be analysed is said there.
	echo 'grep ^Samples:' | tee "$scratch/dcpitopstalls.sums" >"$scratch/dcpiwhatcg.sums"
	subject dcpix dcpix --db "$scratch/counted" -- /bin/true
}

# comparing_subjects PROCEDURE
comparing_subjects()
{
	subject dcpicat dcpicat --db "$scratch/sample"
	subject dcpidiff dcpidiff --json --db "$scratch/sample" --set --epoch 1 --set --epoch 1 --image templates
	subject dcpidiff-code dcpidiff --json --db "$scratch/sample" --set --epoch 1 --set --epoch 1 "$1" templates
	subject dcpistats dcpistats --json --all --db "$scratch/sample" --set --epoch 1 --set --epoch 1
	# What cannot be read has no names, or no lines; no sample is lost for it.
	echo 'jq -c "[.sets[0].samples, ([.rows[].counts[0]] | add)]"' >"$scratch/dcpistats.sums"
	echo 'jq -c "[.before.samples, ([.rows[].before.samples // 0] | add)]"' >"$scratch/dcpidiff.sums"
	echo 'jq -c "[.before.samples, .rows[0].before.samples]"' >"$scratch/dcpidiff-code.sums"
}

leaving_subjects()
{
	subject dcpiexport dcpiexport --db "$scratch/sample" --folded -
	subject dcpiexport-pprof dcpiexport --db "$scratch/sample" --pprof "$scratch/exported" --json
	subject dcpitar dcpitar --db "$scratch/sample" --json "$scratch/packed.tar.zst"
	# What cannot be read has no names, no lines and no text.
	echo "awk '{ sum += \$NF } END { print sum + 0 }'" >"$scratch/dcpiexport.sums"
	echo 'jq -c .samples' >"$scratch/dcpiexport-pprof.sums"
	echo 'jq -c "[.epochs, .images]"' >"$scratch/dcpitar.sums"
}

make_subjects()
{
	printf '%s\n' 'flush_interval = 3600; slice = 3600;' \
		'events = ( { name = "cpu-clock"; rate = 1000; }, { name = "page-faults"; period = 7; } );' \
		>"$scratch/dcpid.conf"
	start_dcpid "$scratch/sample" --config "$scratch/dcpid.conf"
	"$build/workloads/templates" 1 >/dev/null
	dcpictl --db "$scratch/sample" quit || not_ok 'a database is made' "$(cat "$scratch/sample.log")"
	subject dcpiprof dcpiprof --db "$scratch/sample"
	subject json dcpiprof --db "$scratch/sample" --json
	# shellcheck disable=SC2016 # awk's own
	echo 'awk '"'"'/^Total/ { print $NF } /^ *[0-9]+ +[0-9.]+%/ { a += $1; b += $4 } END { print a, b }'"'" >"$scratch/dcpiprof.sums"
	echo 'jq -c "[[.events[] | [.samples, .selected, .lost]], [.rows[].counts[\"cpu-clock\"]] | add]"' \
		>"$scratch/json.sums"
	explaining_subjects "$(dcpiprof --db "$scratch/sample" --json --image templates | jq -r '.rows[0].procedure')"
	# What is there already is not added again, so that each run says the same.
	dcpimport --db "$scratch/imported" "$top/tests/recorded/perf_data/remmap-3.2.data" "$scratch/sample" >/dev/null
	subject dcpimport dcpimport --db "$scratch/imported" "$top/tests/recorded/perf_data/remmap-3.2.data" "$scratch/sample"
	comparing_subjects "$(dcpiprof --db "$scratch/sample" --json --image templates | jq -r '.rows[0].procedure')"
	leaving_subjects
	subject check dcpictl --db "$scratch/sample" check
	subject config dcpid --check-config --config "$scratch/dcpid.conf"
}

may_sample_or_skip 'dcpid and the tools stand faults' || exit 0
subjects=(dcpid)
make_subjects
[ $# != 0 ] || unstopped_counters
for subject in "${subjects[@]}"; do
	[ "${1:-$subject}" = "$subject" ] || continue
	for kind in "${kinds[@]}"; do
		[ "${2:-$kind}" = "$kind" ] || continue
		fail_each "$subject" "$kind"
	done
done
