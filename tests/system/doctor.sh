#!/bin/bash
# doctor.sh - `dcpictl doctor` on this machine: with and without a dcpid, as root and as nobody
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

db=$scratch/db
chmod 755 "$scratch" # nobody is to go through it

# examine DIR - findings as JSON in $scratch/findings, for people in $scratch/text; sets $status
examine()
{
	dcpictl --db "$1" doctor >"$scratch/text"
	status=$?
	dcpictl --db "$1" doctor --json >"$scratch/findings"
}

# found FILTER - what jq makes of the findings
found()
{
	jq -r "$1" "$scratch/findings"
}

# Both forms keep to what the manual page says, whatever this machine is like.
check_form()
{
	local verdict

	check_equal "$1: JSON has its schema" dcpictl-doctor/1 "$(found .schema)"
	# shellcheck disable=SC2016 # jq's variables
	check_equal "$1: findings are in order, and complete" true "$(found '
		["problem", "warning", "note", "ok"] as $order |
		([.findings[].severity as $severity | $order | index($severity)] | . == sort) and
		all(.findings[]; (.text | length > 0) and (.check | length > 0) and has("mend")) and
		.problems == ([.findings[] | select(.severity == "problem")] | length) and
		.warnings == ([.findings[] | select(.severity == "warning")] | length)')"
	check_equal "$1: each problem and each warning can be mended" '' \
		"$(found '.findings[] | select((.severity == "problem" or .severity == "warning") and .mend == null) | .text')"
	check_equal "$1: lines are findings, what mends them, and a verdict" '' \
		"$(grep -vE '^(problem  |warning  |note     |ok       |         -> |verdict  |$)' "$scratch/text")"
	verdict=$(tail -n 1 "$scratch/text")
	if [ $status = 0 ]; then
		check "$1: with status 0 nothing is in the way" grep -qE '^verdict  (nothing is in the way|all is well)' <<<"$verdict"
	else
		check_equal "$1: else the status is 1" 1 "$status"
		check "$1: and something is in the way" grep -q '^verdict  something is in the way: [1-9]' <<<"$verdict"
	fi
}

test_without_daemon()
{
	examine "$scratch/none"
	check_form 'without a dcpid'
	check_equal 'without a dcpid the status is 1' 1 "$status"
	check_equal 'without a dcpid it is to be started' "dcpid --foreground --db $scratch/none" \
		"$(found '.findings[] | select(.check == "service").mend')"
	check_equal 'a pipe has no colours' 0 "$(grep -c $'\033' "$scratch/text")"
}

# Nothing in it is younger than a day: then the latest epoch is looked at.
test_old_database()
{
	"$build/tests/system/make_database" "$scratch/old" <<-'END'
		event cpu-clock cycles ns 4000000 yes -
		epoch 1700000000 old
		image user aabbccdd /nowhere/gone
		context worker - -
		count cpu-clock 0 0 0x10 30
		slice 1700000000 1700000600
	END
	examine "$scratch/old"
	check_form 'an old database'
	check_equal 'its images are looked at' '30 /nowhere/gone: 30 samples (100.0 %) have no name: the file is not here any more' \
		"$(found '.findings[] | select(.image == "/nowhere/gone") | "\(.samples) \(.text)"')"
	check_equal 'and its latest epoch is meant' \
		"0.0 % of the 30 samples of the latest epoch have a procedure's name" \
		"$(found '.findings[] | select(.check == "symbols" and .severity == "ok").text')"
}

# A file that is cut short faults whoever reads it: one finding among the others.
test_damaged_database()
{
	cp -r "$scratch/old" "$scratch/cut"
	truncate -s 12288 "$scratch/cut/data.mdb"
	examine "$scratch/cut"
	check_form 'a damaged database'
	check_equal 'damage is a problem' problem "$(found '.findings[] | select(.check == "database").severity')"
	check_equal 'and other findings are there' true "$(found '[.findings[] | select(.severity == "ok")] | length > 0')"
}

# The share of samples without a name must be what dcpiprof has of that image.
test_stripped_image()
{
	local image=$scratch/no_names expected

	build_of_its_own "$build/workloads/shares" "$image" && strip "$image"
	"$image" 2
	dcpictl --db "$db" flush
	examine "$db"
	check_form 'beside a dcpid'
	check_equal 'dcpid runs' ok "$(found '.findings[] | select(.check == "service").severity')"
	expected=$(dcpiprof --db "$db" --image "$image" --json | jq '[.rows[].counts | add] | add')
	check_equal 'a stripped image is a warning' warning "$(found ".findings[] | select(.image == \"$image\").severity")"
	check_equal 'it costs what dcpiprof shows of it' "$expected" \
		"$(found ".findings[] | select(.image == \"$image\").samples")"
	check_equal 'the kernel, which has its names, is not complained about' '' \
		"$(found '.findings[] | select(.image == "[kernel]").text')"
}

test_nobody()
{
	cp "$build/bin/dcpictl" "$scratch"
	runuser -u nobody -- "$scratch/dcpictl" --db "$db" doctor --json >"$scratch/findings"
	check_equal 'nobody is not let in' 1 $?
	check_equal 'and told so' true "$(found '[.findings[] | select(.check == "access" and .severity == "problem")] | length >= 1')"
	check_equal 'nobody sees no sample' '' "$(found '.findings[] | select(.check == "symbols").text')"
}

test_without_daemon
test_old_database
test_damaged_database
check_fails 'other commands have no JSON' 2 '--json goes with status and doctor' dcpictl flush --json
may_sample_or_skip 'a dcpid that runs is examined' || exit 0
start_dcpid "$db" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 1
}
test_stripped_image
if [ "$(id -u)" = 0 ]; then
	test_nobody
else
	skip 'another user is refused' 'not root'
fi

[ $failures = 0 ]
