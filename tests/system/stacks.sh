#!/bin/bash
# stacks.sh - who called it: dcpid's call stacks of a program with a known call tree, and of programs as Debian ships them
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'call stacks are sampled' || exit 0
workloads=$build/workloads
list=$build/tests/system/stack_list
db=$scratch/db
cat >"$scratch/dcpid.conf" <<'END'
stacks = { rate = 199; };
overhead_limit = 10.0;
flush_interval = 2;
END
chmod 600 "$scratch/dcpid.conf"

python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)

# run_programs - each for some hundred samples; their names are those of copies
run_programs()
{
	"$scratch/bin/call_tree" 3.5 "$workloads/libburn_a.so"
	timeout 20 "$scratch/bin/stacked_bash" -c 'f() { local i; for ((i = 0; i < 4000; i++)); do r=$((r + ${#1} * i)); done; }
		g() { f "$1"; h=$(f x); }; for ((j = 0; j < 12; j++)); do g "$j"; done'
	timeout 20 "$scratch/bin/stacked_perl" -e 'sub f { my $n = shift; return $n < 2 ? $n : f($n - 1) + f($n - 2) } f(29)'
	timeout 20 $python -c 'open("/proc/self/comm", "w").write("stacked_python")
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
f(32)'
}

mkdir "$scratch/bin"
cp "$workloads/call_tree" "$scratch/bin/"
cp /bin/bash "$scratch/bin/stacked_bash"
cp "$(command -v perl)" "$scratch/bin/stacked_perl"
start_dcpid "$db" --config "$scratch/dcpid.conf" || { not_ok 'dcpid samples stacks' "$(cat "$db.log")"; exit; }
status=$(dcpictl --db "$db" status)
check 'the status has the event of stacks with its rate and its price' grep -qE 'cpu-clock.stacks +199 samples/s per CPU, [0-9.]+ us each|cycles.stacks' <<<"$status"

# Tables are made when code is sampled first, and asked for after a flush: until one of the rounds misses none.
for round in 1 2 3 4 5 6; do
	dcpictl --db "$db" flush >/dev/null
	dcpictl --db "$db" epoch --label="measured$round" >/dev/null
	run_programs >"$scratch/programs" 2>&1 || not_ok 'the programs run' "$(cat "$scratch/programs")"
	dcpictl --db "$db" flush >/dev/null
	for comm in call_tree stacked_bash stacked_perl stacked_python; do
		"$list" "$db" "measured$round" $comm
	done >"$scratch/stacks"
	grep -q '!no-tables' "$scratch/stacks" || break
done
check 'no unwind table is missing after five rounds' test "$round" -lt 6
figure "round $round misses no table"
status=$(dcpictl --db "$db" status)
figure "$(grep -E 'stacks' <<<"$status")"
check 'no stack was lost' grep -qE '[.]stacks .* 0 lost' <<<"$status"
stop "$started"

# stacks_of COMM - of the last round
stacks_of()
{
	[ -e "$scratch/stacks-$1" ] || "$list" "$db" "measured$round" "$1" >"$scratch/stacks-$1"
	cat "$scratch/stacks-$1"
}

# share_of COMM PATTERN - percent of the command's samples whose stack matches, of those that end in one of its functions
share_of()
{
	stacks_of "$1" | awk -F'\t' -v pattern="$2" '{ all += $1; if ($2 ~ pattern) part += $1 }
		END { printf "%.2f\n", all ? 100 * part / all : 0 }'
}

main='^call_tree`_start;libc[^;]*;(libc[^;]*;)?call_tree`main;'
recursion=$(printf 'call_tree`in_recursion;%.0s' {1..20})
# WAY PATTERN
while read -r way pattern; do
	share=$(share_of call_tree "$pattern")
	check_at_least "$way: a seventh of the samples has that stack" 11.5 "$share"
	check_at_most "$way: and no more" 17.5 "$share"
done <<END
recursion ${main}${recursion}call_tree\`work_in_recursion
tail-call ${main}call_tree\`in_tail_call;call_tree\`work_in_tail_call
handler ${main}call_tree\`in_handler;.*call_tree\`on_signal;call_tree\`work_in_handler
other-stack call_tree\`on_signal;call_tree\`work_in_other_stack
thread ^libc[^;]*clone3?;(libc[^;]*;)*call_tree\`in_thread;call_tree\`work_in_thread
library ${main}call_tree\`in_library;libburn_a.so\`burn_a
large-frame ${main}call_tree\`in_large_frame;call_tree\`work_in_large_frame
END

for comm in stacked_bash stacked_perl stacked_python; do
	count=$(stacks_of $comm | awk '{ all += $1 } END { print all + 0 }')
	check_at_least "$comm has samples" 30 "$count"
	reached=$(share_of $comm '^([^;]*`(_start|clone3?)|\[kernel\]|ld-linux[^;]*)(;|$)')
	[[ $comm != stacked_bash ]] || reached=$(share_of $comm '^([^;]*`(_start|0x[0-9a-f]*)|\[kernel\])(;|$)')
	check_at_least "$comm: 99 % of the stacks reach the program's entry" 99 "$reached"
	figure "$comm: $count stacks, $reached % whole:$(stacks_of $comm | awk -F'\t' '$2 ~ /^!/ { split($2, f, ";"); n[f[1]] += $1 }
		END { for (i in n) printf " %s %d", i, n[i] }')"
done
check 'the database is whole' dcpictl --db "$db" check
