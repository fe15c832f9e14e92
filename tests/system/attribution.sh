#!/bin/bash
# attribution.sh - a sample finds its image, its procedure and its process, however the code came to be where it was
#
# Real processes, one for each way that code and processes come and go, all at once; each says by its command name which
# one it is. Checked is what share of a command's samples is where it must be: processor time is what each of them was
# told to use, so a busy machine makes the test longer, and no share smaller.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'every kind of code is attributed' || exit 0
workloads=$build/workloads
work=0.4 # seconds of processor time, for each
early_work=0.8

# variant NAME [PROGRAM] - a build of its own of a program, whose command name is NAME: the same code, another build-id
variant()
{
	build_of_its_own "$workloads/${2:-lives}" "$scratch/bin/$1"
}

build_id()
{
	readelf -n "$1" 2>/dev/null | awk '/Build ID:/ { print $3 }'
}

# profile_of COMM - the rows of a command, as JSON in a file, whose name it prints
profile_of()
{
	local file=$scratch/rows-${1//[^a-z0-9_]/_}

	[ -e "$file" ] || dcpiprof --db "$scratch/db" --comm "$1" --json >"$file" 2>/dev/null
	printf '%s' "$file"
}

# check_share SENTENCE COMM PERCENT CONDITION - at least PERCENT of the samples of COMM are in rows that meet CONDITION;
# unless that names the kernel, its samples do not count: a busy machine's interrupts meet whoever runs
check_share()
{
	local file part all whose='.image != "[kernel]"'

	[[ $4 != *'[kernel]'* ]] || whose=true
	file=$(profile_of "$2")
	read -r part all < <(jq -r --arg bin "$scratch/bin" "def n: .counts[\"cpu-clock\"] // 0;
		[.rows[] | select($whose)] | [(map(select($4) | n) | add // 0), (map(n) | add // 0)] | @tsv" "$file" 2>&1)
	if [ "${all:-0}" -ge 30 ] 2>/dev/null && [ $((100 * part)) -ge $(($3 * all)) ]; then
		ok "$1"
	else
		not_ok "$1" "$part of $all samples of '$2' where $4; the rows are:" "$(jq -c '.rows[:5][]' "$file" 2>&1)"
	fi
}

# in_mount_namespace NAME ARGUMENT... - run a program from a file system that nobody else has
in_mount_namespace()
{
	# shellcheck disable=SC2016 # the inner shell expands its arguments
	exec unshare --mount --propagation private sh -c \
		'mount -t tmpfs none "$1" && cp "$2/$3" "$1" && cd "$1" && shift 2 && PATH=. exec "$@"' \
		sh "$scratch/mnt" "$scratch/bin" "$@"
}

# A second dcpid, which sees nothing but itself.
dcpid_in_namespace()
{
	unshare --pid --fork --mount-proc dcpid --foreground --db "$scratch/inner" --config "$scratch/dcpid.conf" --seconds 3 \
		2>"$scratch/inner.log"
}

# A cgroup of version 2 that we may make; prints its directory.
make_cgroup()
{
	local root

	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] && mkdir "$root/dcpi-test-$$-$1" 2>/dev/null && printf '%s' "$root/dcpi-test-$$-$1"
}

# in_cgroup DIRECTORY COMMAND...
in_cgroup()
{
	# shellcheck disable=SC2016 # the inner shell expands its arguments
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$@"
}

works_already()
{
	grep -q early "/proc/$1/comm" 2>/dev/null
}

maps_huge_page()
{
	grep -q ' r-xp 00000000 00:00 0 *$' "/proc/$1/maps" 2>/dev/null
}

lost_its_main_thread()
{
	grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# begin_early CONDITION COMMAND... - start it and stop it again as soon as CONDITION holds for its pid
begin_early()
{
	local condition=$1

	shift
	start "$@"
	early+=("$started")
	wait_for 10 "$condition" "$started" || not_ok "$* is ready"
	kill -STOP "$started"
}

mkdir "$scratch/bin" "$scratch/mnt"
for name in brief crowder exec_first exec_second forker reuser reused renamer threads orphan unlinked replaced replacement \
	in_mount in_memory in_cgroup in_old_cgroup in_pids early early_gone early_mount early_orphan; do
	variant $name
done
for name in jit_mmap jit_mprotect memfd fexecve huge vdso early_huge; do
	variant $name places
done
variant swapper2 library_swapper
variant kernel kernel_work
cp "$workloads"/libburn_?.so "$scratch/bin"
cd "$scratch/bin" || exit
trap 'end_everything; rmdir "$old_cgroup" "$new_cgroup" 2>/dev/null' EXIT

# ---- what is there before dcpid ----
old_cgroup=$(make_cgroup old)
new_cgroup=
early=()
begin_early works_already "$scratch/bin/early" work $early_work
begin_early works_already "$scratch/bin/early_gone" work $early_work
begin_early works_already in_mount_namespace early_mount work $early_work
begin_early lost_its_main_thread "$scratch/bin/early_orphan" orphan $early_work
begin_early maps_huge_page "$scratch/bin/early_huge" huge $early_work
rm "$scratch/bin/early_gone"

cat >"$scratch/dcpid.conf" <<END
events = ( { name = "cpu-clock"; rate = 250; } );
END
start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
dcpid=$started
kill -CONT "${early[@]}"

# ---- and what comes then ----
waiting=("${early[@]}")
go()
{
	start "$@"
	waiting+=("$started")
}

go ./exec_first exec $work "$scratch/bin/exec_second" work $work
go ./forker fork $work
go ./reuser reuse $work "$scratch/bin/reused" work 0.01 >"$scratch/reused.times"
go ./renamer rename $work renamed
go ./threads threads $work
go ./orphan orphan $work
go ./swapper2 $work "$scratch/bin/libburn_a.so" burn_a "$scratch/bin/libburn_b.so" burn_b >"$scratch/swapped.times"
go ./jit_mmap mmap $work
go ./jit_mprotect mprotect $work
go ./memfd memfd $work
go ./fexecve fexecve $work "$scratch/bin/in_memory" rename $work from_memory
go ./huge huge $work
go ./vdso vdso $work
go in_mount_namespace in_mount work $work
go unshare --pid --fork --mount-proc ./in_pids work $work
go dcpid_in_namespace

go ./unlinked work $work
unlinked_build=$(build_id unlinked)
rm unlinked
go ./replaced work $work
old_build=$(build_id replaced)
new_build=$(build_id replacement)
mv replacement replaced
go ./replaced work $work
if [ -n "$old_cgroup" ] && new_cgroup=$(make_cgroup new); then
	go in_cgroup "$new_cgroup" ./in_cgroup work $work
	go in_cgroup "$old_cgroup" ./in_old_cgroup work $work
fi
go ./crowder crowd 0 "$scratch/bin/brief" work 0.001
for pid in "${waiting[@]}"; do
	wait "$pid" || not_ok 'every workload ends well' "status $?"
done
./kernel 2
stop "$dcpid" || not_ok 'dcpid ends well' "$(cat "$scratch/db.log")"

figure "$(jq -r '[.events[0].samples, ([.unknown[]] | add // 0), .lost, .sideband_lost] |
	"\(.[0]) samples, \(.[1]) unknown, \(.[2]) lost, \(.[3]) records about processes lost"' <(dcpiprof --db "$scratch/db" --json))"
check_at_most 'at most 0.5 % of the samples stay unknown, at 250 samples/s' 0.5 "$(dcpiprof --db "$scratch/db" --json |
	jq '100 * ([.unknown[]] | add // 0) / .events[0].samples')"

own=".image == \$bin + \"/"
check_share 'a process that was there before is known' early 90 "$own"'early" and .procedure == "at_work"'
check_share 'so is one whose file was deleted before' early_gone 90 "$own"'early_gone"'
check_share 'and one in another mount namespace' early_mount 90 '.image | endswith("/mnt/early_mount")'
check_share 'and one whose main thread had ended' early_orphan 90 "$own"'early_orphan" and .procedure == "in_thread"'
check_share 'and one whose text was on huge pages' early_huge 90 "$own"'early_huge" and .procedure == "huge_spin"'

check_share 'before exec a process is in its first program' exec_first 80 "$own"'exec_first" and .procedure == "before_exec"'
check_share 'behind exec it is in its second' exec_second 80 "$own"'exec_second" and .procedure == "at_work"'
check_share 'a child without exec works in its parent'\''s image' forker 90 \
	"$own"'forker" and (.procedure == "in_child" or .procedure == "in_parent")'
check_share 'half of it is the child'\''s' forker 35 '.procedure == "in_child"'
check_share 'a process with the pid of one that ended is not taken for it' reuser 60 \
	"$own"'reuser" and .procedure == "under_reused_pid"'
check_share 'and that one keeps what it did' reused 40 "$own"'reused" and .procedure == "at_work"'
check_share 'a process has the name that it gave itself' renamed 90 "$own"'renamer" and .procedure == "under_another_name"'
check_share 'thousands of threads are their process' threads 60 "$own"'threads" and .procedure == "in_thread"'
check_share 'threads that outlive the main one are known' orphan 90 "$own"'orphan" and .procedure == "in_thread"'
check_share 'thousands of processes that live a millisecond are known' brief 30 "$own"'brief" and .procedure == "at_work"'
check_share 'outside the kernel they are in nothing but their own files' brief 99 \
	'.image | endswith("/brief") or startswith("[") or test("/(ld-linux|libc)[^/]*$")'

# each works half of the time: of 100 samples one has less than 30 in one of 60,000 runs
check_share 'a library is not taken for the one that lay there before' swapper2 30 "$own"'libburn_a.so" and .procedure == "burn_a"'
check_share 'nor that for it' swapper2 30 "$own"'libburn_b.so" and .procedure == "burn_b"'
check_share 'code in memory that was executable at once is memory' jit_mmap 90 '.image == "[anon]"'
check_share 'so is code in memory that became executable' jit_mprotect 90 '.image == "[anon]"'
check_share 'code in a memfd has its name' memfd 90 '.image == "memfd:made-here"'
check_share 'a program in a memfd is a program' from_memory 80 '.image == "/memfd:program"'
check_share 'text that was moved to huge pages is the file'\''s' huge 90 "$own"'huge" and .procedure == "huge_spin"'
check_share 'the vdso is known with its procedures' vdso 50 '.image == "[vdso]" and (.procedure | test("gettime"))'
check_share 'the kernel is known with its procedures' kernel 70 '.image == "[kernel]" and (.procedure | startswith("[") | not)'
check_share 'a file of another mount namespace is known' in_mount 90 '.image | endswith("/mnt/in_mount")'
check_share 'a process of another pid namespace is known outside' in_pids 90 "$own"'in_pids" and .procedure == "at_work"'

check_share 'a file deleted while it runs is known' unlinked 90 "$own"'unlinked" and .build_id == "'"$unlinked_build"'"'
check_share 'a file that was replaced keeps its samples' replaced 35 "$own"'replaced" and .build_id == "'"$old_build"'"'
check_share 'and the one that replaced it has its own' replaced 35 "$own"'replaced" and .build_id == "'"$new_build"'" and
	.procedure == "at_work"'

# $1: name of the cgroup, $2: the only command in it
check_cgroup()
{
	check_equal "the samples of a cgroup are those of its processes ($1)" "$2" "$(dcpiprof --db "$scratch/db" --cgroup \
		"/dcpi-test-$$-$1" --json --comm '*' | jq -r '.rows[] | select(.procedure == "at_work") | .image | sub(".*/"; "")')"
}

if [ -n "$new_cgroup" ]; then
	check_cgroup new in_cgroup
	check_cgroup old in_old_cgroup
else
	skip 'samples are selected by cgroup' 'no cgroup of version 2 can be made here'
fi
same=$(sed 's/ .*//' "$scratch/reused.times")
check 'pids were really used again' test "$same" -ge 10
same=$(sed 's/ .*//' "$scratch/swapped.times")
check 'libraries really lay at the same place' test "$same" -ge 25

check 'a dcpid in a pid namespace counts the others as unknown by that cause' json_holds \
	'.unknown["other-pid-namespace"] >= 0.9 * ([.unknown[]] | add) and .unknown["other-pid-namespace"] > 50' \
	<(dcpiprof --db "$scratch/inner" --json)
swapper=$(dcpiprof --db "$scratch/inner" --comm swapper --json 2>/dev/null | jq '[.rows[].counts["cpu-clock"]] | add')
check_at_most 'and takes their kernel work for nobody'\''s' 5 "${swapper:-0}"
check 'the database is whole' dcpictl --db "$scratch/db" check
