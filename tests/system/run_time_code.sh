#!/bin/bash
# run_time_code.sh - code that processes made at run time has the names that they told, by map or by jitdump, as each of
# them sees its files; what told nothing stays without; memory that is used again; maps that are none
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
may_sample_or_skip 'code made at run time has its names' || exit 0
maker=$build/workloads/code_maker
db=$scratch/db
maps=()
ending=() # what is sampled until it has ended

# make_as NAME [ARGUMENT...] - run code_maker under that name, in the background
make_as()
{
	cp "$maker" "$scratch/$1"
	start "$scratch/$1" "${@:2}"
	maps+=("/tmp/perf-$started.map")
}

# named NAME PROCEDURE - samples of it in the code that NAME made; nothing when there are none
named()
{
	dcpiprof --db "$db" --epoch all --json | jq -r --arg image "[jit:$1]" --arg name "$2" \
		'[.rows[] | select(.image == $image and .procedure == $name) | .counts[]] | add // empty'
}

# Do its loops have the shares that they were written with, 60, 30 and 10 %?
check_shares()
{
	local name=$1 sentence=$2 counts

	wait_for 40 eval "[ -n \"\$(named $name 'cold loop')\" ]"
	counts="$(named "$name" 'hot loop') $(named "$name" 'warm loop') $(named "$name" 'cold loop')"
	if awk '{ sum = $1 + $2 + $3
		exit !(NF == 3 && sum > 200 && $1 > 0.48 * sum && $1 < 0.72 * sum && $2 > 0.2 * sum && $2 < 0.4 * sum) }' \
		<<<"$counts"; then
		ok "$sentence"
	else
		not_ok "$sentence" "samples of hot, warm, cold: $counts" "$(dcpiprof --db "$db" --epoch all --image '[jit*' 2>&1 | head -20)"
	fi
}

box_is_allowed()
{
	[ "$(id -u)" = 0 ] && unshare --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null
}

# A container in small: another /tmp, in which the process is number 1.
make_in_a_box()
{
	# shellcheck disable=SC2016 # the inner shell's
	start unshare --mount --pid --fork sh -c '
		exec 9<"$0" && mount -t tmpfs none /tmp && cat <&9 >/tmp/boxed && chmod +x /tmp/boxed && exec /tmp/boxed map 1.5
	' "$maker"
	ending+=("$started")
}

# Not what a map should be.
make_with()
{
	cp "$maker" "$scratch/$1"
	# shellcheck disable=SC2016 # the inner shell's
	start sh -c "$2; exec \"\$0\" none 1" "$scratch/$1"
	maps+=("/tmp/perf-$started.map")
	ending+=("$started")
}

mkdir "$scratch/dumps"
start_dcpid "$db" || { not_ok 'dcpid starts' "$(cat "$db.log")"; exit 1; }
daemon=$started

make_as reuse reuse 26
reuse_began=$SECONDS
make_as by_map map 1.5
make_as by_dump dump 1.5 "$scratch/dumps"
wait "$started"
make_as silent none 1.5
wait "$started"
if box_is_allowed; then
	make_in_a_box
fi
# shellcheck disable=SC2016 # the inner shell's
{
	make_with garbage 'head -c 3000000 /dev/urandom >/tmp/perf-$$.map'
	make_with a_link 'ln -s /etc/passwd /tmp/perf-$$.map'
	make_with anybodys 'echo 1000 ffffffffff planted >/tmp/perf-$$.map; chmod 666 /tmp/perf-$$.map'
}
while [ $((SECONDS - reuse_began)) -lt 11 ]; do sleep 0.2; done
wait "${ending[@]}"
check 'a flush' dcpictl --db "$db" flush

check_shares by_map 'loops in a map have their names and shares when the process has ended'
check_shares by_dump 'loops in a jitdump have their names and shares'
if box_is_allowed; then
	check_shares boxed 'a map is found where its process sees it, under the number that it has there'
else
	skip 'a map is found where its process sees it' 'namespaces are not permitted here'
fi
check_equal 'code of a process that told nothing is memory without a file' '' \
	"$(dcpiprof --db "$db" --epoch all -i --json | jq -r '.rows[].image | select(. == "[jit:silent]")')"
for hostile in a_link anybodys; do
	check_equal "a map that is not the process's own is not read ($hostile)" '' "$(named $hostile planted)"
done
check 'dcpid goes on after a map of random bytes' dcpictl --db "$db" status

case $(uname -m) in
x86_64) instruction='dec ' ;;
*) instruction=sub ;;
esac
if dcpicalc --db "$db" --epoch all 'hot loop' '[jit:by_dump]' >"$scratch/calc" 2>&1 &&
	grep -q "^[0-9a-f]* *$instruction" "$scratch/calc"; then
	ok 'dcpicalc explains code of a jitdump, by its addresses'
else
	not_ok 'dcpicalc explains code of a jitdump, by its addresses' "$(head -30 "$scratch/calc")"
fi
check_fails 'dcpicalc says what it lacks of code in a map' 1 'the names of its code only' \
	dcpicalc --db "$db" --epoch all 'hot loop' '[jit:by_map]'

# Its other loops began 13 s of its CPU time after it did; they are known to be others once the map was read again.
grep_after()
{
	grep -q after "${maps[0]}"
}
wait_for 60 grep_after
sleep 0.5
dcpictl --db "$db" flush >/dev/null
wait_for 60 eval "! kill -0 ${started_pids[1]}"
dcpictl --db "$db" flush >/dev/null
has_names_after()
{
	[ -n "$(named reuse 'hot after')" ]
}
wait_for 40 has_names_after
before=$(named reuse 'hot loop') after=$(named reuse 'hot after')
if [ "${before:-0}" -gt 500 ] && [ "${after:-0}" -gt 500 ]; then
	ok 'loops that lie where others were before have names of their own'
else
	not_ok 'loops that lie where others were before have names of their own' "samples before: $before, after: $after"
fi

if command -v node >/dev/null; then
	echo 'function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
		for (const end = Date.now() + 1500; Date.now() < end;) fib(25)' >"$scratch/fib.js"
	for how in --perf-basic-prof --perf-prof; do
		rm -rf "$scratch/run"
		mkdir "$scratch/run"
		label=node$how
		(cd "$scratch/run" && exec dcpictl --db "$db" label "$label" -- node "$how" "$scratch/fib.js") 2>/dev/null
		dcpictl --db "$db" flush >/dev/null
		is_named="dcpiprof --db $db --epoch all --label $label | grep '[*]fib .*fib.js.*[[]jit:'"
		if wait_for 40 eval "$is_named"; then
			ok "node $how: its function has its name"
		else
			not_ok "node $how: its function has its name" "$(dcpiprof --db "$db" --epoch all --label "$label" | head -12)"
		fi
	done
else
	skip 'functions of node have their names' 'there is no node'
fi

stop "$daemon"
check_equal 'dcpid ends well' 0 $?
check_equal 'the log says once that a map of random bytes makes no sense' 1 \
	"$(grep -c '\[jit:garbage\] of process [0-9]*: .* make no sense' "$db.log")"
check_equal 'of maps and dumps that are sound it says nothing' '' \
	"$(grep -v 'jit:garbage' "$db.log" | grep 'make no sense\|more of its code')"
check 'the database is sound' dcpictl --db "$db" check
grep -ls "$scratch/fib.js" /tmp/perf-*.map | xargs -r rm -f
rm -f "${maps[@]}"
