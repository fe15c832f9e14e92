#!/bin/bash
# dcpix: its counts against what the code says and what valgrind counts, and that programs do not notice it.
# shellcheck disable=SC2016 # what other shells are to expand
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

db=$scratch/db
program=$build/workloads/executions
turns=100000
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
once=$((3 * turns + 3)) # instructions of loop(), see tests/workloads/executions.c

if ! command -v qemu-x86_64 >/dev/null; then
	skip 'what a program executes is counted' 'qemu-user is not installed'
	exit 0
fi

# count ARGUMENT... - dcpix into a database of its own, its report as JSON in $scratch/report
count()
{
	rm -rf "$db"
	dcpix --db "$db" --json --output "$scratch/report" -- "$@"
}

# executions PROCEDURE - how many instructions of it, in the database
executions()
{
	dcpiprof --db "$db" --json | jq --arg name "$1" '[.rows[] | select(.procedure == $name) | .counts.executions] | add'
}

reported()
{
	jq "$1" "$scratch/report"
}

# counted SENTENCE TIMES STATUS PROGRAM ARGUMENT... - loop() was executed so many times, and the status is that
counted()
{
	local status

	count "${@:4}" >"$scratch/out" 2>"$scratch/err"
	status=$?
	check_equal "$1" "$(($2 * once)) $3" "$(executions loop) $status"
}

# The branch of loop() lies behind 3 + 4 + 3 bytes; it goes back to the 4, or on behind its own 2. Text of the program is
# where its file offsets are.
edges_of_branch()
{
	local loop

	loop=$((0x$(nm "$program" | awk '$3 == "loop" { print $1 }')))
	"$build/tests/system/show_edges" "$db" executions executions | awk -v branch="$(printf %x $((loop + 10)))" \
		-v back="$(printf %x $((loop + 3)))" -v on="$(printf %x $((loop + 12)))" '
		$1 == branch && $2 == back { taken = $3 }
		$1 == branch && $2 == on { passed = $3 }
		END { print "back", taken, "on", passed }'
}

libraries()
{
	local dir=$build/workloads name

	counted 'libraries, one after the other in the same place, are counted' 2 3 "$dir/same_place" $turns \
		"$(nm "$dir/libexecutions_a.so" | awk '$3 == "loop" { print $1 }')" "$dir"/libexecutions_{a,b}.so
	for name in a b; do
		check_equal "each on its own: $name" $once "$(dcpiprof --db "$db" --json | jq --arg image "libexecutions_$name.so" \
			'[.rows[] | select(.procedure == "loop" and (.image | endswith($image))) | .counts.executions] | add')"
	done
}

by_hand()
{
	counted 'a loop is counted exactly' 1 3 "$program" one $turns
	dcpicalc --db "$db" --event executions --json loop >"$scratch/calc"
	check 'what was counted lies where it is' json_holds \
		'[.blocks[].instructions[] | .samples.executions == .executions] | length > 3 and all' "$scratch/calc"
	check_equal 'so are the edges of its branch' "back $((turns - 1)) on 1" "$(edges_of_branch)"
	counted 'threads are counted exactly' 8 3 "$program" threads $turns
	counted 'children of fork are counted exactly' 4 3 "$program" fork $turns
	check_equal 'each of them is a process' 4 "$(reported .processes)"
	counted 'a program that is executed is counted, too' 2 3 "$program" exec $turns
	check_equal 'and is the same process' 1 "$(reported .processes)"
	counted 'a program that a signal ends keeps its counts' 1 139 "$program" segv $turns
	counted 'one that is killed, too' 1 137 "$program" kill $turns
	counted 'code without a file has no place' 1 3 "$program" anonymous $turns
	check_equal 'and is said to have none' $once "$(reported .without_file)"
	counted 'a static program is counted' 1 3 "$program"_static one $turns
	counted 'one that can be anywhere, too' 1 3 "$program"_static_pie one $turns
	counted 'a program that another one executes after vfork is counted' 2 3 "$program" vfork $turns
	counted 'so are handlers of signals' 3 3 "$program" signals $turns
	count "$program" rewritten $turns >"$scratch/out" 2>&1
	check_equal 'a program that changes its code is counted where that is as in the file' $((2 * once - 2)) "$(executions loop)"
	check_equal 'and the rest has no place' 2 "$(reported .without_file)"
	libraries
	check_equal 'the database is sound' 0 "$(dcpictl check --db "$db" >/dev/null 2>&1; echo $?)"
}

arm64()
{
	local source=$top/tests/workloads/executions.c

	if ! aarch64-linux-gnu-gcc -O2 -static -pthread -o "$scratch/static" "$source" 2>/dev/null; then
		skip 'arm64 programs are counted' 'there is no compiler for arm64'
		return
	fi
	aarch64-linux-gnu-gcc -O2 -pthread -o "$scratch/dynamic" "$source"
	counted 'a static arm64 program is counted' 1 3 "$scratch/static" one $turns
	# In pairs, in order: `subs` beside `add`, and `b.ne`, which needs its flags, a cycle later.
	dcpicalc --db "$db" --event executions --cpu "$top/config/cpus/arm-cortex-a53.conf" --json loop >"$scratch/calc"
	# shellcheck disable=SC2016 # jq's
	check 'dcpicalc lists it with what a Cortex-A53 makes of it' json_holds '.model.name == "arm-cortex-a53" and
		.graph.complete and ([.blocks[].instructions[].text | split(" ")[0]] ==
			["mov", "add", "subs", "b.ne", "nop", "ret"]) and
		[.blocks[].instructions[].executions] == [1, '"$turns, $turns, $turns"', 1, 1] and
		[.blocks[].best_cycles] == [1, 2, 1] and
		all(.blocks[]; .frequency.confidence == "exact")' "$scratch/calc"
	counted 'its threads are' 8 3 "$scratch/static" threads $turns
	counted 'and the program that it executes' 2 3 "$scratch/static" exec $turns
	counted 'a dynamic arm64 program finds its libraries' 4 3 "$scratch/dynamic" fork $turns
}

# What a run of so many turns more executes more, by both; with arguments as long, which move the stack.
by_valgrind()
{
	local ours=() theirs=() n

	for n in 10000 30000; do
		count "$program"_static one $n >"$scratch/out" 2>&1
		ours+=("$(reported .instructions)")
		theirs+=("$(valgrind --tool=lackey --basic-counts=yes "$program"_static one $n 2>&1 |
			sed -n 's/.*guest instrs: *//p' | head -n 1 | tr -d ,)")
	done
	check_equal 'valgrind counts the same difference between two runs' $((theirs[1] - theirs[0])) $((ours[1] - ours[0]))
	head -c 100000 "$build/bin/dcpid" >"$scratch/data"
	count gzip -9c "$scratch/data" >"$scratch/data.gz" 2>&1
	ours=("$(reported .instructions)")
	theirs=("$(valgrind --tool=lackey --basic-counts=yes gzip -9c "$scratch/data" 2>&1 >/dev/null |
		sed -n 's/.*guest instrs: *//p' | head -n 1 | tr -d ,)")
	figure "gzip -9: ${ours[0]} instructions by dcpix, ${theirs[0]} by valgrind"
	check 'and nearly the same for gzip, whose libraries ask the processor what it is' \
		awk -v a="${ours[0]}" -v b="${theirs[0]}" 'BEGIN { exit !(a > 0.995 * b && a < 1.005 * b) }'
}

# by_instruction IMAGE COMMAND... - each instruction of the image's own text against valgrind's callgrind; but for what
# repeats itself, which is counted once each time here, and as often as it repeats there
by_instruction()
{
	local image size ours addresses

	image=$(readlink -f "$1")
	read -ra size < <(objdump -h -j .text "$image" | awk '$2 == ".text" { print $3, $4, $6 }')
	objdump -d -j .text "$image" | sed -n 's/^ *\([0-9a-f]*\):.*\trep[a-z]* .*/\1/p' >"$scratch/repeating"
	count "${@:2}" >"$scratch/out" 2>&1
	"$build/tests/system/show_counts" "$db" executions "${image##*/}" >"$scratch/ours"
	valgrind --tool=callgrind --skip-plt=no --dump-instr=yes --compress-pos=no --compress-strings=no \
		--callgrind-out-file="$scratch/callgrind" "${@:2}" >"$scratch/out" 2>&1
	awk -v image="$image" '/^ob=/ { is_ours = substr($0, 4) == image }
		/^calls=/ { getline; next }
		is_ours && /^0x/ { counts[substr($1, 3)] += $3 }
		END { for (address in counts) print address, counts[address] }' "$scratch/callgrind" >"$scratch/theirs"
	for addresses in ours theirs; do
		# file offsets here, addresses there
		perl -e 'my ($size, $address, $offset) = map { hex } @ARGV[0 .. 2];
			my $start = $ARGV[3] eq "ours" ? $offset : $address;
			my %left_out;
			open my $list, "<", $ARGV[4]; /(\w+)/ and $left_out{hex $1} = 1 while <$list>;
			while (<STDIN>) {
				my ($at, $count) = /(\w+) (\d+)/;
				my $place = hex($at) - $start + $address;
				printf "%x %d\n", $place, $count
					if $place >= $address && $place < $address + $size && !$left_out{$place};
			}' "${size[@]}" "$addresses" "$scratch/repeating" <"$scratch/$addresses" | sort >"$scratch/$addresses.text"
	done
	ours=$(wc -l <"$scratch/ours.text")
	figure "${image##*/}: $ours instructions were executed, $(awk '{ n += $2 } END { print n }' "$scratch/ours.text") times"
	check "callgrind counts the same for each instruction of ${image##*/}" \
		diff "$scratch/ours.text" "$scratch/theirs.text"
	check 'and they are many' [ "$ours" -ge 500 ]
}

by_callgrind()
{
	local library

	head -c 100000 "$build/bin/dcpid" >"$scratch/data"
	for library in "$(command -v bzip2)" $(ldd "$(command -v bzip2)" | awk '/libbz2/ { print $3 }'); do
		by_instruction "$library" bzip2 -9c "$scratch/data"
	done
	by_instruction "$(ldd "$(command -v sqlite3)" | awk '/libsqlite3/ { print $3 }')" sqlite3 :memory: \
		'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
		insert into t select i % 37, printf("%d", i * i) from n; create index s on t(a);
		select a, count(*), max(b) from t group by a order by 3 limit 5;'
}

# same SENTENCE COMMAND... - output, errors and status are those of the command alone
same()
{
	local alone counted

	alone=$("${@:2}" 2>&1 <"$scratch/data"; echo "status $?")
	counted=$(dcpix --db "$db" --output "$scratch/report" -- "${@:2}" 2>&1 <"$scratch/data"; echo "status $?")
	check_equal "$1" "$alone" "$counted"
}

unnoticed()
{
	printf '#!/bin/sh -e\necho "$0 $*"; cat | wc -c; false; echo not here\n' >"$scratch/script"
	chmod +x "$scratch/script"
	seq 20000 >"$scratch/data"
	rm -rf "$db"
	same 'gzip writes what it writes by itself' sh -c 'gzip -9 | md5sum'
	same 'python writes what it writes by itself' python3 -c \
		'import threading, subprocess; print(sum(range(1000))); print(subprocess.run(["echo", "x"]).returncode)'
	same 'a script with an interpreter runs, with its arguments' "$scratch/script" a 'b c'
	same 'standard input and status pass through' sh -c 'read line; echo "$line"; exit 7'
	if command -v sqlite3 >/dev/null; then
		same 'sqlite3 answers what it answers by itself' sqlite3 :memory: \
			'create table t(a); insert into t values (1), (2); select sum(a) from t;'
	fi
	check_equal 'nothing is left behind' '' "$(ls "$TMPDIR")"
}

signals()
{
	local status

	dcpix --db "$db" --output "$scratch/report" -- sh -c 'trap "echo got it; exit 5" TERM; echo ready; while :; do sleep 0.1; done' \
		>"$scratch/out" 2>&1 &
	started=$!
	wait_for 20 grep -q ready "$scratch/out"
	kill -TERM $started
	wait $started
	status=$?
	check_equal 'a signal reaches the program' 'ready got it 5' "$(xargs <"$scratch/out") $status"
}

refusals()
{
	check_fails 'a program that is not there' 1 'cannot run it: No such file' dcpix --db "$db" -- no-such-program
	check_fails 'no program' 2 'which program?' dcpix --db "$db"
	printf 'no program\n' >"$scratch/text"
	chmod +x "$scratch/text"
	check_fails 'a file that is no program' 1 'no 64-bit ELF program' dcpix --db "$db" -- "$scratch/text"
	if [ "$(id -u)" = 0 ]; then
		cp /bin/true "$scratch/privileged"
		chown nobody "$scratch/privileged"
		chmod u+s "$scratch/privileged"
		check_fails 'a program that becomes another user' 1 'it gets privileges' dcpix --db "$db" -- "$scratch/privileged"
	fi
	check_fails 'a database that cannot be made' 1 'cannot write the profile database' dcpix --db /proc/none -- true
	check_fails 'an emulator that is not there' 1 'apt install qemu-user' env DCPI_QEMU=/nowhere PATH="$build/bin" dcpix --db "$db" -- /bin/true
}

# While a dcpid collects into it.
beside()
{
	rm -rf "$db"
	may_sample_or_skip 'dcpix writes while dcpid does' || return
	start_dcpid "$db"
	check_equal 'dcpix writes while dcpid does' $'done\n3' \
		"$(dcpix --db "$db" --label counted --output "$scratch/report" -- "$program"_static one $turns; echo $?)"
	dcpictl --db "$db" flush >/dev/null
	check_equal 'its counts are there' $once \
		"$(dcpiprof --db "$db" --epoch counted --json | jq '.rows[] | select(.procedure == "loop").counts.executions')"
	check_equal 'the latest epoch is the one of samples' 1 "$(dcpiprof --db "$db" --json | jq '.epochs[0]')"
	stop "$started" || true
	check 'the database is sound with both' dcpictl check --db "$db"
}

by_hand
arm64
by_valgrind
by_callgrind
unnoticed
signals
refusals
beside
exit 0
