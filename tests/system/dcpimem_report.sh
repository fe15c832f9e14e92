#!/bin/bash
# dcpimem: objects of children, threads, C++ and mappings are found; what it keeps is what it printed; programs do what they
# do without it; bad input gets a sentence; types and members are named
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'dcpimem follows objects' || exit 0
lives=$build/workloads/objects/lives

# observe THREADS [OPTION...] -- COMMAND... - the report is in $report, the program's output in $scratch/out and err
observe()
{
	local threads=$1

	shift
	dcpimem run --machine e5-2699v3-2s --threads "$threads" --db "$db" --quiet --json --output "$report" "$@" \
		>"$scratch/out" 2>"$scratch/err" </dev/null
}

# hottest - the object for which threads waited most, without what is behind the function, how many there are, of how many
# threads one is at most
hottest()
{
	jq -r '.objects | max_by(.evidence.transfer_cycles) |
		"\(.object | sub("[+].*"; "")) \(.objects) \(.evidence.threads)"' "$report"
}

# matches SENTENCE PATTERN FILE
matches()
{
	if grep -q -- "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1" "nothing matches: $2" "$(head -n 20 "$3")"
	fi
}

# ---- objects of all kinds: two threads, and who cleared it, use a word of each ----

observe 2 -- "$lives" vector
check_equal 'an array of C++ is named by who made it' 'make_accounts 1 3' "$(hottest)"
check_equal 'its size is what was asked for' 25600 "$(jq '.objects | max_by(.evidence.transfer_cycles).bytes' "$report")"
observe 2 -- "$lives" child
check_equal 'what a parent made, its child uses' 'make_word 1 2' "$(hottest)"
observe 2 -- "$lives" exec
check_equal 'a program that another one executes has objects of its own' 'make_accounts 1 3' "$(hottest)"
observe 2 --each --limit 100 -- "$lives" threads
check_equal 'memory that is used again is another object each time' 40 \
	"$(jq '[.objects[] | select((.object | startswith("make_word")) and .cost > 0.001)] | length' "$report")"
observe 2 --each --limit 100 -- "$lives" mapping
# how often threads meet there varies with what else the host does: now and then, only some times
check_equal 'of a mapping two parts are used, before and after half of it is gone' '524288 mapping,1048576 mapping' \
	"$(jq -r '[.objects[] | select((.object | startswith("main+")) and .evidence.transfers > 0) | "\(.bytes) \(.kind)"] |
		sort | reverse | join(",")' "$report")"

# ---- whose objects are known ----

observe 2 -- sh -c '(echo a); /bin/true; ls / >/dev/null'
check_equal 'children that make no object have the tracker, too' '0 true' \
	"$(jq -r '"\(.untracked) \([.objects[] | select(.kind == "static")] | length > 0)"' "$report")"
observe 2 -- "$build/workloads/shares_static"
check_equal 'a static program has none' 1 "$(jq .untracked "$report")"

# ---- what is kept ----

rm -rf "$db"
observe 4 --label kept -- "$build/workloads/objects/patterns" pad plain 4 20000 1
jq -S .objects "$report" >"$scratch/printed"
check_equal 'objects in the database are those of the report' "$(cat "$scratch/printed")" \
	"$(dcpimem objects --db "$db" --json | jq -S .objects)"
check_equal 'they are those of the epoch that is named' "$(cat "$scratch/printed")" \
	"$(dcpimem objects --db "$db" --epoch kept --json | jq -S .objects)"
dcpimem objects --db "$db" >"$scratch/objects"
matches 'the verdict has a sentence' '^pad make_counters[^:]*: [0-9]* % of the waiting .*a line of its own[.]$' "$scratch/objects"
name=$(sed -n 's/^ *[0-9.]* %  pad  *\([^ ]*\).*/\1/p' "$scratch/objects")
dcpimem object --db "$db" "$name" >"$scratch/object"
matches 'an object has its call chain, with source lines' '^  pad  [a-z.]*[.][ch]:[0-9]*$' "$scratch/object"
matches '... its threads' '^patterns([0-9]*)  *[0-9]*  *[0-9]* ' "$scratch/object"
matches '... a time line' '^ *[0-9]*  [.rw*RW#]*[rw*][.rw*RW#]*$' "$scratch/object"
matches '... and the bytes that threads share' '^ *[+][0-9]* .* falsely$' "$scratch/object"
check_equal 'a part of the name is enough' "$(cat "$scratch/object")" "$(dcpimem object --db "$db" make_counters)"
check_equal 'a number names one of several' pad \
	"$(dcpimem object --db "$db" "$name#1" --json | jq -r .object.verdict)"
check_equal 'threads have all accesses of objects' \
	"$(jq '[.objects[].evidence.accesses] | add' "$report")" \
	"$(dcpimem threads --db "$db" --json | jq '[.threads[].accesses] | add')"
check 'an archive is written' dcpitar --db "$db" "$scratch/archive.tar.zst"
check '... and read' dcpitar -x "$scratch/archive.tar.zst" --to "$scratch/elsewhere"
check_equal 'an archive has the objects' "$(cat "$scratch/object")" \
	"$(dcpimem object --db "$scratch/elsewhere" make_counters)"
dcpictl check --db "$db" >"$scratch/check"
matches 'no damage is found' 'no damage found' "$scratch/check"

# ---- types and members ----

# three threads: one serves, one refuses, one counts in elements of a variable; what they write is in one line
cat >"$scratch/members.c" <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
struct totals { volatile unsigned long served, refused; };
struct session { struct totals totals; struct session *next; };
_Alignas(64) static struct totals of_nodes[4];
static struct session *session;
static pthread_barrier_t barrier;
__attribute__((noinline)) static struct session *make_session(void)
{
	struct session *made = aligned_alloc(64, 64);

	made->totals.served = made->totals.refused = 0;
	return made;
}
static void *work(void *refuses)
{
	struct session *mine = session;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 300000; i++) {
		if (refuses)
			mine->totals.refused++, of_nodes[1].refused++;
		else
			mine->totals.served++, of_nodes[2].served++;
	}
	return NULL;
}
int main(void)
{
	pthread_t threads[2];

	session = make_session();
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, i ? session : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return session->totals.served != session->totals.refused;
}
SOURCE

# members OPTION - it is compiled with that option, and run; the report is in $report
members()
{
	gcc "$1" -O2 -pthread -o "$scratch/members" "$scratch/members.c" 2>"$scratch/gcc.err" ||
		not_ok 'a program with members is compiled' "$(cat "$scratch/gcc.err")"
	rm -rf "$scratch/members.db"
	observe 4 --db "$scratch/members.db" -- "$scratch/members"
}

if command -v gcc >/dev/null; then
	members -g
	check_equal 'objects have types' 'make_session struct session[] pad, of_nodes struct totals[] pad' \
		"$(jq -r '[.objects[] | select(.verdict != "nothing") | (.object | sub("[+].*"; "")) + " " + .type + " " + .verdict] |
			sort_by(startswith("of")) | join(", ")' "$report")"
	dcpimem objects --db "$scratch/members.db" >"$scratch/objects"
	matches 'the table has a column of types' '^ *cost  verdict  object .*  type  .*kind' "$scratch/objects"
	matches 'the sentence names the members that collide' \
		'^pad make_session.* a line of its own; what collides is totals[.][a-z]* and totals[.][a-z]*[.]$' "$scratch/objects"
	dcpimem object --db "$scratch/members.db" make_session >"$scratch/object"
	matches 'an object has a type' '^Type: struct session\[\], 24 bytes each$' "$scratch/object"
	matches '... its bytes have members' '^ *+8 .* falsely  totals[.]refused$' "$scratch/object"
	matches '... and members have costs' '^ *[0-9.]* %  *[0-9]*  *[0-9]* %  .* +0  totals[.]served$' "$scratch/object"
	check_equal '... also as JSON' '[24,["totals.refused",8],["totals.served",0]] ["totals.served","totals.refused"]' \
		"$(dcpimem object --db "$scratch/members.db" make_session --json |
			jq -rc '([.type_bytes] + (.members | map([.member, .offset]) | sort) | tojson) + " " +
				([.shared_bytes[].member] | tojson)')"
	dcpimem object --db "$scratch/members.db" of_nodes >"$scratch/object"
	matches 'a variable has the type of its declaration' '^Type: struct totals\[\], 16 bytes each$' "$scratch/object"
	members -g0
	check_equal 'without debug information there are no types' null \
		"$(jq -c '.objects | max_by(.evidence.transfer_cycles).type' "$report")"
	dcpimem objects --db "$scratch/members.db" >"$scratch/objects"
	matches '... and no sentence about them' '^pad make_session.* a line of its own[.]$' "$scratch/objects"
	dcpimem object --db "$scratch/members.db" make_session >"$scratch/object"
	check_equal '... nor a table' 0 "$(grep -c '^Type\|^By member\|  member$' "$scratch/object")"
else
	skip 'types and members' 'there is no gcc'
fi

# ---- pictures ----

for picture in object:make_counters threads:; do
	command=${picture%%:*} object=${picture#*:}
	check "$command draws a picture" dcpimem "$command" ${object:+"$object"} --db "$db" --plot "$scratch/$command.svg"
	check '... which is whole' python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$scratch/$command.svg"
	dcpimem "$command" ${object:+"$object"} --db "$db" --plot "$scratch/$command.gnuplot"
	matches '... of the nodes that were used' "title 'node 1" "$scratch/$command.gnuplot"
done
check_fails 'a picture needs a kind' 2 "nothing.jpeg" dcpimem threads --db "$db" --plot "$scratch/nothing.jpeg"

# ---- trials ----

observe 2 --no-db --try all -- "$build/workloads/objects/patterns" pad plain 2 50000 1
check_equal 'a remedy is tried, and is faster' 'pad true' "$(jq -r '.tried[] | "\(.verdict) \(.before > .seconds * 2)"' "$report")"
check_equal 'the program printed once' 1 "$(wc -l <"$scratch/out")"
observe 2 --no-db --try split -- "$build/workloads/objects/patterns" pad plain 2 50000 1
check_equal 'another remedy is not tried' null "$(jq .tried "$report")"

# cannot_try COMMAND SENTENCE WHY - try a remedy of a program that does COMMAND first, which $scratch/again tells that it ran
cannot_try()
{
	rm -f "$scratch/again"
	cp /bin/dash "$scratch/shell"
	observe 2 --no-db --try pad -- "$scratch/shell" -c "$1; : >'$scratch/again'; exec '$build/workloads/objects/patterns' pad plain 2 50000 1"
	check_equal "$2: status" 1 $?
	check_equal "$2: the report is there" pad "$(jq -r '.objects | max_by(.cost).verdict' "$report")"
	check_equal "$2: it says why" "$3" "$(jq -r '.tried[0].missing' "$report")"
}

cannot_try "rm '$scratch/shell'" 'a program that is gone cannot be tried' 'the run with it failed'
cannot_try "test ! -e '$scratch/again' || exit 3" 'a program that ends otherwise is not compared' \
	'the program ended otherwise with it: what it took cannot be compared'
check_fails 'there is no such verdict' 2 "there is no verdict 'fold'" dcpimem run --machine e5-2699v3 --try fold -- true

# copy_seconds THREADS BYTES - what copying so much to all other nodes takes on four nodes
copy_seconds()
{
	dcpiemu run --machine opteron-6174-2s --threads "$1" --no-db --quiet -- "$build/bin/dcpimem" copy-cost "$2" \
		3>&1 >/dev/null 2>"$scratch/err"
}

check_at_least 'copies are made on the nodes that have cores of the program: two of four' 0.0001 "$(copy_seconds 2 1000000)"
check_at_least 'copies of some pages are made, by fewer threads than there are' 0.000002 "$(copy_seconds 24 16384)"

# ---- programs do not notice ----

# noticed SENTENCE COMMAND...
noticed()
{
	local expected

	run_alone "${@:2}"
	expected=$?
	observe 2 --no-samples --no-db -- "${@:2}"
	check_equal "$1" '' "$(unlike_alone $expected $?)"
}

noticed 'python3 computes what it does natively' python3 -c 'print(sum(len(str(i)) for i in range(20000)))'
# shellcheck disable=SC2016 # it is for that shell
noticed 'a shell, its children and their status' bash -c 'for i in 1 2 3; do echo $i | tr 123 abc | sort; done; exit 7'
seq 3000 | rev >"$scratch/numbers"
noticed 'sort in threads' sort --parallel=2 "$scratch/numbers"
# shellcheck disable=SC2016
noticed 'a program that a signal ends' bash -c 'kill -TERM $$'
printf 'int main(void){return 0;}\n' >"$scratch/static.c"
if gcc -static -o "$scratch/static" "$scratch/static.c" 2>"$scratch/gcc.err"; then
	noticed 'a static program' "$scratch/static"
	dcpimem run --machine e5-2699v3 --threads 1 --no-db -- "$scratch/static" >"$scratch/out" 2>"$scratch/err"
	matches '... is said to have no tracker' 'the heap of 1 process without the tracker' "$scratch/err"
else
	skip 'a static program' 'there is no static C library'
fi

# ---- bad input ----

# refused SENTENCE STATUS PATTERN ARGUMENT...
refused()
{
	local status

	dcpimem "${@:4}" >"$scratch/out" 2>"$scratch/err" </dev/null
	status=$?
	check_equal "$1: status" "$2" $status
	matches "$1" "$3" "$scratch/err"
}

refused 'no command' 2 'Usage'
refused 'no such command' 2 "there is no command 'objets'" objets
refused 'a remedy without an emulated machine' 2 '--try goes with --machine' run --try all -- true
refused 'cores without an emulated machine' 2 '--threads goes with --machine' run --threads 2 -- true
refused 'how a machine is emulated, and none is' 2 '--seed goes with --machine' run --quantum 1000 --seed 2 -- true
refused 'a source of an emulated machine' 2 '--source is of this machine' run --machine e5-2699v3 --source pmu -- true
refused 'no such source' 2 "there is no source 'ibs'" run --source ibs -- true
refused 'no process' 2 'which process' record
refused 'a process that is no number' 2 "--pid 'x'" record --pid x
refused 'no time' 2 'no time in seconds' record --pid 1 --seconds 0
if [ -e /sys/bus/event_source/devices/cpu/events/mem-loads ] || [ -e /sys/bus/event_source/devices/ibs_op ]; then
	skip 'a machine without sources says so' 'this one has a PMU that samples data addresses'
else
	refused 'no PMU that samples addresses' 1 'no PMU that samples data addresses' run --source pmu -- true
	if [ -e /sys/devices/system/node/node1 ]; then
		skip 'a machine with one node says so' 'this one has several'
	else
		refused 'nothing to sample by' 1 'one NUMA node, where no access is remote: --machine' run -- true
		refused 'NUMA balancing that is off' 1 'NUMA balancing' run --source faults -- true
	fi
fi
refused 'no such machine' 2 'nonesuch' run --machine nonesuch -- true
refused 'no program' 2 'which program' run --machine e5-2699v3
refused 'no caches' 2 'must not leave out caches' run --machine e5-2699v3 --model counts -- true
refused 'more threads than cores' 2 'it has 18 cores' run --machine e5-2699v3 --threads 19 -- true
refused 'a program that is not there' 1 'nonesuch' run --machine e5-2699v3 --no-db -- nonesuch
refused 'no database' 1 'no profile database' objects --db "$scratch/nowhere"
refused 'no object' 2 'which object' object --db "$db"
refused 'no such object' 2 'there is no such object' object --db "$db" nonesuch
refused 'two objects' 2 'one object at a time' object --db "$db" a b
rm -rf "$scratch/empty"
dcpiemu run --machine e5-2699v3 --threads 1 --db "$scratch/empty" --quiet -- true
refused 'no memory objects' 1 "no epoch has memory objects: 'dcpimem run' records them" objects --db "$scratch/empty"
refused 'none in the epoch' 1 'epoch 1 has no memory objects' threads --db "$scratch/empty" --epoch 1

[ $failures = 0 ]
