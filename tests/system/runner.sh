#!/bin/bash
# runner.sh - the runner counts what happened: a test run that says "passed" must not be able to be wrong
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# counts_of COMMAND... - "PASSED FAILED SKIPPED" as the runner adds them up
counts_of()
{
	: >"$scratch/results"
	LOGS=$scratch RESULTS=$scratch/results FAILURES='' "$top/scripts/run-test" made-up 2 "$@" >"$scratch/report" 2>&1
	cut -d ' ' -f 1-3 "$scratch/results"
}

# says TEXT [STATUS] - a program that prints TEXT and ends with STATUS
says()
{
	printf '#!/bin/sh\ncat <<"END"\n%s\nEND\nexit %d\n' "$1" "${2:-0}" >"$scratch/program"
	chmod +x "$scratch/program"
	echo "$scratch/program"
}

export CI=
check_equal 'TAP of CMocka is counted' '2 1 1' \
	"$(counts_of "$(says $'1..4\nok 1 - a\nnot ok 2 - b\nnot ok 3 # SKIP c\nok 4 - d' 1)")"
check_equal 'lines of system tests are counted' '1 1 1' \
	"$(counts_of "$(says $'ok - a\nnot ok - b\nskip - c: no PMU')")"
check_equal 'tests that were announced and did not run are failures' '1 2 0' \
	"$(counts_of "$(says $'1..3\nok 1 - a' 139)")"
check_equal 'a bad exit status without a failed test is a failure' '1 1 0' "$(counts_of "$(says 'ok - a' 1)")"
check_equal 'a program without a result is a failure' '0 1 0' "$(counts_of true)"
check_equal 'a program that hangs is ended and is a failure' '0 1 0' "$(counts_of sleep 60)"
check_equal 'an exit status can be the result' '1 0 0' "$(RESULT=status counts_of true)"
check_equal 'and a bad one is a failure' '0 1 0' "$(RESULT=status counts_of false)"
check_equal 'a skip that CI does not allow is a failure there' '1 1 0' \
	"$(CI=true counts_of "$(says $'ok - a\nskip - c: a reason that nobody allowed')")"
export RETRIES=$scratch/retries
counts_of "$(says $'# RETRY a: the machine was busy\nok - a')" >/dev/null
unset RETRIES
check_equal 'what was tried again is printed, and counted for the closing report' \
	$'       tried again: a: the machine was busy\nmade-up: a: the machine was busy' \
	"$(sed -n 2p "$scratch/report"; cat "$scratch/retries")"
counts_of "$(says $'ok - a\nnot ok - b\n#    wanted: 1\nok - c')" >/dev/null
check_equal 'what failed stands before everything else' $'     made-up: not ok - b\n     made-up: #    wanted: 1' \
	"$(sed -n 2,3p "$scratch/report")"
