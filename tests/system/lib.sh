# shellcheck shell=bash
# lib.sh - what system tests share; a test sources it first
#
# A test says `ok - sentence`, `not ok - sentence` or `skip - sentence: reason` for each thing it looked at; its exit
# status is 0 unless it could not go on. "# FIGURE ..." lines are printed by the runner also when all is well, "# RETRY ..." lines counted.
# Everything started with `start` is ended when the test ends, and $scratch is removed.
set -u

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$top/build}
export PATH=$build/bin:/usr/lib/dcpi/qemu:$PATH # emulators of dcpi-qemu, where there are
export LC_ALL=C.UTF-8 TZ=UTC
unset DCPI_DB
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dcpi-test.XXXXXX") || exit
started_pids=()
failures=0

ok()
{
	printf 'ok - %s\n' "$1"
}

# not_ok SENTENCE [DETAIL...]
not_ok()
{
	printf 'not ok - %s\n' "$1"
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
	failures=$((failures + 1))
}

skip()
{
	printf 'skip - %s: %s\n' "$1" "$2"
}

# retry NAME REASON - what is said next is of another try; the runner counts it and prints it, also when all is well
retry()
{
	printf '# RETRY %s: %s\n' "$1" "$2"
}

figure()
{
	printf '# FIGURE %s\n' "$*"
}

# decoded_or_skip SENTENCE ARCHITECTURE - skipped where this build does not decode it; $undecoded is then why, else empty
decoded_or_skip()
{
	[ "$2" = riscv64 ] || return 0
	if undecoded=$("$build/tests/system/decode_list" 0 riscv64 </dev/null 2>&1); then
		undecoded=''
	elif [[ $undecoded = *'decoded by capstone 5'* ]]; then
		skip "$1" "$undecoded"
		return 1
	else
		not_ok "$1" "decode_list: $undecoded"
		undecoded=''
		return 1
	fi
}

# check SENTENCE COMMAND... - ok when the command succeeds; else its output is the detail
check()
{
	local sentence=$1 output

	shift
	if output=$("$@" 2>&1); then
		ok "$sentence"
	else
		not_ok "$sentence" "status $? of: $*" "$output"
	fi
}

# check_fails SENTENCE STATUS TEXT COMMAND... - ok when it ends with STATUS and says TEXT
check_fails()
{
	local sentence=$1 expected=$2 text=$3 output status

	shift 3
	output=$("$@" 2>&1)
	status=$?
	if [ $status != "$expected" ]; then
		not_ok "$sentence" "status $status, expected $expected, of: $*" "$output"
	elif [[ $output != *"$text"* ]]; then
		not_ok "$sentence" "does not say '$text':" "$output"
	else
		ok "$sentence"
	fi
}

# check_equal SENTENCE EXPECTED ACTUAL - compared whole
check_equal()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3"))"
	fi
}

# check_at_most SENTENCE LIMIT VALUE - numbers, also with a fraction
check_at_most()
{
	if awk -v value="$3" -v limit="$2" 'BEGIN { exit !(value != "" && value + 0 <= limit + 0) }'; then
		ok "$1"
	else
		not_ok "$1" "$3 is more than $2"
	fi
}

# check_at_least SENTENCE LIMIT VALUE
check_at_least()
{
	if awk -v value="$3" -v limit="$2" 'BEGIN { exit !(value != "" && value + 0 >= limit + 0) }'; then
		ok "$1"
	else
		not_ok "$1" "$3 is less than $2"
	fi
}

# run_alone COMMAND... - its output goes to $scratch/alone.out, its errors to $scratch/alone.err; the status is the command's
run_alone()
{
	"$@" >"$scratch/alone.out" 2>"$scratch/alone.err" </dev/null
}

# unlike_alone EXPECTED STATUS - how the run that ended with STATUS, and whose output is in $scratch/out and $scratch/err, differs
# from what run_alone() left, which ended with EXPECTED; nothing is printed where it does not
unlike_alone()
{
	[ "$1" = "$2" ] || printf 'status %s, alone %s\n' "$2" "$1"
	diff "$scratch/alone.out" "$scratch/out" | head -n 10
	diff "$scratch/alone.err" "$scratch/err" | head -n 10
}

# everyday_inputs BYTES ROWS - for programs that people run all day: $scratch/text, and $scratch/script.sql, which has an error
everyday_inputs()
{
	cat "$top"/libsample/*/*.c | head -c "$1" >"$scratch/text"
	cat >"$scratch/script.sql" <<-SQL
	create table t(a integer primary key, b text, c integer);
	with recursive n(i) as (select 1 union all select i + 1 from n where i < $2)
		insert into t select i, 'row ' || (i * 7919 % 3001), i % 97 from n;
	create index u on t(b);
	select count(*), sum(length(x.b)) from t x join t y on x.b = y.b where x.c < 50;
	select nothing from nowhere;
	SQL
}

# json_holds FILTER [FILE] - is it true of the one object there? jq -e says yes of none at all.
json_holds()
{
	jq -es "length == 1 and (.[0] | ($1))" "${@:2}"
}

# wait_for SECONDS COMMAND... - until it succeeds; fails when it does not in that time
wait_for()
{
	local deadline=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt "$deadline" ] || return 1
		sleep 0.1
	done
}

# start COMMAND... - in the background; sets $started to its pid
start()
{
	"$@" &
	started=$!
	started_pids+=("$started")
}

# stop PID [SIGNAL] - end what `start` started; returns its exit status
stop()
{
	kill -s "${2:-TERM}" "$1" 2>/dev/null
	wait "$1"
}

# Start dcpid on database $1 with further options, its log in $1.log; sets $started; fails unless it samples in 10 s.
start_dcpid()
{
	local db=$1

	shift
	start dcpid --foreground --db "$db" "$@" 2>>"$db.log"
	wait_for 10 dcpictl --db "$db" status
}

# has_white_ground SVG - the first thing that it draws is a white rectangle: letters are black, in dark viewers, too
has_white_ground()
{
	grep -Eom 1 '<(rect|polygon|path|g|text)( [^>]*)?fill="[^"]*"[^>]*>' "$1" |
		grep -E '^<(rect|polygon)' | grep -qE 'fill="(white|#ffffff)"'
}

# samples_written DB EPOCH - how many the database has, of all events and of call stacks
samples_written()
{
	{
		dcpiprof --db "$1" --epoch "$2" --json
		dcpiprof --db "$1" --epoch "$2" --tree --json 2>/dev/null
	} | jq -s 'if length == 0 then empty else [.[].events[] | .taken // .samples] | add end'
}

# mount_or_skip SIZE DIRECTORY SENTENCE - a disk of that size in a new directory; if that is not allowed, the reason of
# skipping SENTENCE
mount_or_skip()
{
	mkdir "$2"
	mount -t tmpfs -o "size=$1,mode=755" tmpfs "$2" 2>/dev/null || {
		skip "$3" 'not allowed to mount a small one'
		return 1
	}
}

# compare_cpu_time DB COMM SECONDS - "SAMPLES EXPECTED DEVIATION": those of the first event, a clock, of processes called
# COMM, those that SECONDS of CPU time should have, and the difference in standard deviations. A dcpid runs on DB; what it
# changes its period to meanwhile begins an epoch.
compare_cpu_time()
{
	local epoch

	for ((epoch = $(dcpictl --db "$1" status --json | jq .epoch.id); epoch > 0; epoch--)); do
		dcpiprof --db "$1" --epoch $epoch --comm "$2" --json 2>/dev/null |
			jq -r '.events[0] | [.selected, .period] | @tsv'
	done | awk -v seconds="$3" '
		{ samples += $1; sampled += $1 * $2 / 1e9 }
		END {
			if (!samples) { print 0, 0, 1e9; exit }
			expected = samples * seconds / sampled
			printf "%d %.0f %.1f\n", samples, expected, (samples - expected) / sqrt(expected)
		}'
}

# May this user sample all processes here? If not, say so as the reason of skipping SENTENCE.
may_sample_or_skip()
{
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 0 ] || {
		skip "$1" 'not root, and perf_event_paranoid is not negative'
		return 1
	}
	perf stat -a -e cpu-clock true >/dev/null 2>&1 || {
		skip "$1" 'perf events of all processes are refused here'
		return 1
	}
}

# build_of_its_own FROM TO - the same code with another build-id. Copies of one build are one image, under the path that is
# seen first: where a report is asked for the copy, and anybody may run the original meanwhile, a copy is not enough.
build_of_its_own()
{
	objcopy -O binary --only-section=.note.gnu.build-id "$1" "$2.note" &&
		{ head -c 16 "$2.note" && head -c 20 /dev/urandom; } >"$2.new" &&
		objcopy --update-section .note.gnu.build-id="$2.new" "$1" "$2" &&
		rm "$2.note" "$2.new"
}

# run_deleted_program NUMBER - run a program, a build of its own, for 0.3 s, and delete it after 0.1 s
run_deleted_program()
{
	build_of_its_own "$build/workloads/shares_static" "$scratch/doomed.$1"
	"$scratch/doomed.$1" 0.3 >/dev/null &
	sleep 0.1
	rm "$scratch/doomed.$1"
	wait $!
}

# machine_files COUNT - so many ELF files of /usr/bin and the libraries, evenly chosen by name, each once; libc always
machine_files()
{
	local libraries

	libraries=/usr/lib/$(uname -m)-linux-gnu
	{
		find /usr/bin "$libraries" -maxdepth 1 -type f -size +8k ! -name '*.a' ! -name '*.o' 2>/dev/null |
			sort | while read -r file; do
				[ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] && printf '%s\n' "$file"
			done |
			awk -v count="$1" '{ line[NR] = $0 }
				END { for (i = 0; i < count && i < NR; i++) print line[int(i * NR / (count < NR ? count : NR)) + 1] }'
		readlink -f "$libraries/libc.so.6"
	} | sort -u
}

# alone COMMAND - in a shell of its own: what it starts is ended with it
alone()
{
	started_pids=()
	trap end_started EXIT
	$1
}

# side_by_side COMMAND... - run tests that mostly wait at the same time; what each says is printed whole, in this order
side_by_side()
{
	local command pids=() i=0

	for command; do
		start alone "$command" >"$scratch/said.$i" 2>&1
		pids+=("$started")
		i=$((i + 1))
	done
	for i in "${!pids[@]}"; do
		wait "${pids[i]}" || not_ok "$(cut -d ' ' -f 1 <<<"${*:i + 1:1}") comes to its end"
		cat "$scratch/said.$i"
	done
}

end_started()
{
	local pid

	for pid in "${started_pids[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for pid in "${started_pids[@]}"; do
		wait_for 10 eval "! kill -0 $pid" || kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

end_everything()
{
	end_started
	# What a test mounted below it and could not unmount any more.
	awk -v below="$scratch/" 'index($2, below) == 1 { print $2 }' /proc/mounts | xargs -r umount
	rm -rf "$scratch"
}
trap end_everything EXIT
trap 'exit 1' INT TERM
