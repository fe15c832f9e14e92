#!/bin/bash
# round.sh DIRECTORY SUBJECT KIND N - run SUBJECT with call N of KIND failing (fail_nth.c); say what is wrong with that
#
# SUBJECT is `dcpid` (start, flush, epoch, status, quit) or what a file DIRECTORY/SUBJECT.command says, whose output
# without a fault is DIRECTORY/SUBJECT.expected. A fault may make a program fail, with a sentence; it may not crash it,
# hang it, or make it say or keep something wrong. The name of the call that failed is left in DIRECTORY/met.
set -u
directory=$1 subject=$2 kind=$3 number=$4
here=$directory/$subject.$kind.$number
mkdir "$here" || exit

complain()
{
	printf '%s, %s %s' "$subject" "$kind" "$number"
	[ ! -s "$here/report" ] || printf ' (%s)' "$(head -n 1 "$here/report")"
	printf ': %s\n' "$1"
	tail -n 3 "$here/err"
	complained=yes
}

# with_fault COMMAND... - ends with its status; 124 when it hangs
with_fault()
{
	timeout -s KILL 60 env "LD_PRELOAD=$FAIL_NTH" "FAULT_KIND=$kind" "FAULT_NTH=$number" "FAULT_REPORT=$here/report" \
		"$@" 2>"$here/err"
}

judge_status()
{
	case $1 in
	0) return ;;
	# ended by us when it did not quit, and that met it in its last moments
	143) grep -q '^dcpid: [0-9]* samples in ' "$here/err" || complain 'ended by SIGTERM' ;;
	[1234]) grep -q "^$2: ." "$here/err" || complain "status $1 without a sentence" ;;
	*) complain "status $1" ;;
	esac
}

control()
{
	local status

	timeout -s KILL 30 dcpictl --db "$here/db" "$@" >/dev/null 2>>"$here/control"
	status=$?
	[ $status != 137 ] || complain "dcpictl $1 waits for ever"
	return $status
}

# Work at addresses enough that the tally has to grow, until it has, or could not.
fill_tally()
{
	local end=$((SECONDS + 30))

	while [ $SECONDS -lt $end ] && kill -0 "$1" 2>/dev/null && [ ! -s "$here/report" ] &&
		! dcpictl --db "$here/db" status --json 2>/dev/null | jq -es 'length == 1 and .[0].tally.keys > 800' >/dev/null; do
		perl -e '$x{$_ % 977} .= sprintf("%x", $_) for 1 .. 50000; print join ",", sort values %x' | gzip | wc >/dev/null
		find /usr/lib /usr/bin -newer /proc/1 -name 'a*' >/dev/null 2>&1
	done
}

run_dcpid()
{
	local pid status said written turns=0

	with_fault dcpid --foreground --db "$here/db" --config "$directory/dcpid.conf" &
	pid=$!
	until [ -S "$here/db/control" ] || ! kill -0 $pid 2>/dev/null || [ $((turns++)) -gt 1000 ]; do sleep 0.01; done
	[ "$kind" != tally ] || fill_tally $pid
	control flush
	control epoch
	control status
	control quit || pkill -TERM -P $pid 2>/dev/null
	wait $pid 2>/dev/null
	status=$?
	judge_status $status dcpid
	if [ -s "$here/db/data.mdb" ] && ! dcpictl --db "$here/db" check >"$here/check" 2>&1 &&
		! grep -q 'no profile database here' "$here/check"; then
		complain "the database is not sound: $(head -n 3 "$here/check")"
	fi
	[ $status = 0 ] || return
	said=$(sed -n 's/^dcpid: \([0-9]*\) samples in .*/\1/p' "$here/err")
	written=$(
		{
			dcpiprof --db "$here/db" --epoch all --json
			dcpiprof --db "$here/db" --epoch all --tree --json 2>/dev/null
		} | jq -s '[.[].events[] | .taken // .samples] | add'
	)
	[ "${written:-null}" != null ] || written=0 # of a life too short for any sample
	[ "$said" = "$written" ] || complain "it took ${said:-?} samples, and wrote ${written:-?}"
}

# Symbols that cannot be read change the rows, which say so, and never their sums: by what DIRECTORY/SUBJECT.sums makes
# of it, where there is that, the output is as expected.
same_sums()
{
	local sums=$directory/$subject.sums

	[ -e "$sums" ] && [ "$(bash "$sums" <"$here/out")" = "$(bash "$sums" <"$directory/$subject.expected")" ]
}

# What it printed is right, or it says what was in the way.
run_command()
{
	local command status

	mapfile -t command <"$directory/$subject.command"
	with_fault "${command[@]}" >"$here/out"
	status=$?
	judge_status $status "${command[0]}"
	[ $status != 0 ] || [ -s "$here/err" ] || cmp -s "$here/out" "$directory/$subject.expected" || same_sums ||
		grep -q '^Unknown: .* dcpid had no memory to remember' "$here/out" ||
		complain 'another output, and no word why'
}

complained=
if [ "$subject" = dcpid ]; then
	run_dcpid
else
	run_command
fi
head -n 1 "$here/report" 2>/dev/null >>"$directory/met"
[ -n "${KEEP:-}" ] || [ -n "$complained" ] || rm -rf "$here"
