#!/bin/bash
# dcpimem script: what scripts read is what the reports say of the same profile, and what the program did; the scripts that
# come with it find what is known of programs; errors, interrupts and damaged profiles get a sentence
# shellcheck disable=SC2031 # $epoch, of script() and shown(), is set by no subshell
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'scripts read memory profiles' || exit 0

# observe LABEL [OPTION...] -- COMMAND... - its profile is the epoch LABEL of $db
observe()
{
	dcpimem run --machine opteron-6174-2s --threads 8 --db "$db" --label "$1" --quiet "${@:2}" \
		>"$scratch/out" 2>"$scratch/err" </dev/null || not_ok "$1 is recorded" "$(cat "$scratch/err")"
}

# script TEXT [ARGUMENT...] - run it, of the epoch $epoch; what it prints
script()
{
	printf '%s\n' "$1" >"$scratch/script.lua"
	dcpimem script --db "$db" --epoch "$epoch" "$scratch/script.lua" "${@:2}" 2>"$scratch/script.err" ||
		sed 's/^/failed: /' "$scratch/script.err"
}

# shown COMMAND [ARGUMENT...] - the report as JSON
shown()
{
	dcpimem "$1" --db "$db" --epoch "$epoch" --json "${@:2}"
}

observe pad -- "$build/workloads/objects/patterns" pad plain 8 20000 1
observe queue -- "$build/workloads/objects/controls" queue plain 8 5000 1
observe migrate -- "$build/workloads/objects/patterns" migrate plain 8 100000 16

# ---- what scripts read is what the reports say ----

# shellcheck disable=SC2016 # jq's
evidence='["accesses", "stores", "cycles", "memory", "remote", "excess_cycles", "transfers", "transfer_cycles", "false_cycles",
	"avoidable_by_pinning", "avoidable_by_allocation", "by_maker", "before_others", "threads", "samples",
	"watched_words", "late_writes"]'
for epoch in pad queue migrate; do # of script() and shown()
	check_equal "$epoch: objects have the counts of the report" \
		"$(shown objects --each --limit 100000 | jq -r ".objects[] | . as \$object |
			[.object, .kind, .type // \"nil\", .verdict, .bytes, (.cost * 10000 | round), ($evidence | map(\$object.evidence[.]))[],
				.evidence.from_nodes[], .evidence.to_nodes[]] | map(tostring) | join(\" \")")" \
		"$(script 'for o in profile:objects() do
				local e, list = o.evidence, {o.name, o.kind, o.type or "nil", o.verdict, o.bytes, math.floor(o.cost * 10000 + 0.5)}
				for name in arg[1]:gmatch("[a-z_]+") do list[#list + 1] = e[name] end
				for node = 0, profile.nodes - 1 do list[#list + 1] = e.from_nodes[node] end
				for node = 0, profile.nodes - 1 do list[#list + 1] = e.to_nodes[node] end
				print(table.concat(list, " "))
			end' "$evidence")"
	check_equal '... groups, too' \
		"$(shown objects --limit 100000 | jq -r '.objects[] | [.object, .objects, .bytes, .why, .evidence.accesses] |
			map(tostring) | join(" ")')" \
		"$(script 'for g in profile:groups() do print(g.name, g.count, g.bytes, g.why, g.evidence.accesses) end' | tr '\t' ' ')"
	check_equal '... and so has the profile' \
		"$(shown objects | jq -r '[.source, .costs_of, .counted, .sampled, .nodes, .lost_events, .lost_samples, .late, .unnamed,
			.short_lived, .untracked, .all.accesses, .all.remote] | map(tostring) | join(" ")')" \
		"$(script 'local p = profile print(p.source, p.costs_of, p.counted, p.sampled, p.nodes, p.lost_events, p.lost_samples,
			p.late, p.unnamed, p.short_lived, p.untracked, p.all.accesses, p.all.remote)' | tr '\t' ' ')"
	check_equal '... which threads have, by their accesses' \
		"$(shown threads | jq -r '.threads[] | [.tid, .pid, .process, .accesses, .stores, .memory, .remote, .transfers] |
			map(tostring) | join(" ")' | sort)" \
		"$(script 'for t in profile:threads() do
				local n, stores, memory, remote, transfers = 0, 0, 0, 0, 0
				for a in t:accesses() do
					assert(a.thread == t)
					if a.level ~= "own" then
						n = n + a.weight
						stores = stores + (a.store and a.weight or 0)
						memory = memory + ((a.level == "memory" or a.level == "prefetched") and a.weight or 0)
						remote = remote + (a.remote and a.weight or 0)
						transfers = transfers + (a.transfer and a.weight or 0)
					end
				end
				local c = t.counts
				assert(c.accesses == n and c.stores == stores and c.memory == memory and c.remote == remote)
				print(t.tid, t.pid, t.process, n, stores, memory, remote, transfers)
			end' | tr '\t' ' ' | sort)"
	check_equal '... and objects, by theirs' '' \
		"$(script 'for o in profile:objects() do
				local e, n, stores, cycles, remote, samples, users = o.evidence, 0, 0, 0, 0, 0, 0
				for a in o:accesses() do
					assert(a.object == o and a.address == o.address + a.offset and a.offset < o.bytes)
					if a.level ~= "own" then
						n, samples = n + a.weight, samples + 1
						stores = stores + (a.store and a.weight or 0)
						cycles = cycles + a.weight * a.cost
						remote = remote + (a.remote and a.weight or 0)
					end
				end
				for _ in o:threads() do users = users + 1 end
				if n ~= e.accesses or stores ~= e.stores or cycles ~= e.cycles or remote ~= e.remote or samples ~= e.samples or
					users < e.threads then -- who only fills an object is no user
					print(o.name, n, e.accesses, stores, e.stores, cycles, e.cycles, remote, e.remote, users, e.threads)
				end
			end')"
	check_equal '... each access is of one object and one thread, in the order of time' true \
		"$(script 'local all, objects, threads, time = 0, 0, 0, 0
			for a in profile:accesses() do
				all = all + 1
				assert(a.number == all and a.time >= time and a.time <= profile.seconds + 1e-6)
				time = a.time
			end
			for o in profile:objects() do
				local last = 0
				for a in o:accesses() do objects = objects + 1 assert(a.number > last) last = a.number end
			end
			for t in profile:threads() do
				local last = 0
				for a in t:accesses() do threads = threads + 1 assert(a.number > last) last = a.number end
			end
			print(all > 1000 and all == objects and all == threads)')"
done
epoch=pad
check_equal 'an object has its address, its life, who made it, and its call chain' \
	"$(shown object make_counters | jq -r '[.address, (.born * 1e6 | round), .died, .object.type] + [.allocated_by[] |
		.function, .source, .line] | map(tostring) | join(" ")' | sed 's/ null/ nil/g')" \
	"$(script 'local o = profile:object("make_counters")
		local list = {o.address, math.floor(o.born * 1e6 + 0.5), tostring(o.died), o.type}
		for _, frame in ipairs(o.group.allocated_by) do
			list[#list + 1] = frame.procedure
			list[#list + 1] = frame.source or "nil"
			list[#list + 1] = frame.line or 0
		end
		print(table.concat(list, " "))')"
check_equal 'a number names one of several' make_vector+0x13#3 \
	"$(script 'print(profile:object("make_vector#3"))' | sed 's/+0x[0-9a-f]*/+0x13/')"
check_equal 'the epoch is that which is named' 'pad 1 true' \
	"$(script 'print(profile.label, profile.epoch, math.abs(os.time() - profile.start) < 3600)' | tr '\t' ' ')"
check_equal 'without a name it is the newest' migrate \
	"$(echo 'print(profile.label)' | dcpimem script --db "$db" -)"

# ---- and what the program did ----

# two threads: one writes the lines of an object, the other reads them when it is done, and then writes them; three times
cat >"$scratch/turns.c" <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#define LINES 32
struct turn { _Alignas(64) volatile unsigned long value; };
static struct turn *turns;
static pthread_barrier_t barrier;
__attribute__((noinline)) static struct turn *make_turns(void)
{
	return aligned_alloc(4096, 4096);
}
__attribute__((noinline)) static void use_turns(void)
{
	for (int i = 0; i < LINES; i++)
		turns[i].value++;
}
static void *work(void *second)
{
	for (int i = 0; i < 6; i++) {
		if (i % 2 == (second != NULL)) {
			for (volatile int wait = 0; wait < 100000; wait++)
				;
			use_turns();
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}
int main(void)
{
	pthread_t threads[2];

	turns = make_turns();
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, i ? &barrier : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return turns[1].value != 6;
}
SOURCE
if gcc -g -O1 -pthread -o "$scratch/turns" "$scratch/turns.c" 2>"$scratch/gcc.err"; then
	# threads see each other's stores a quantum later at most, which must be less than a turn takes
	observe turns --quantum 1000 -- "$scratch/turns"
	epoch=turns
	check_equal 'threads access an object in turns, by the procedure that does, and the main thread at last' \
		'ABABABC main use_turns turn' \
		"$(script 'local names, turns, users, last, procedures = {}, "", 0, nil, {}
			for a in profile:object("make_turns"):accesses() do
				if not names[a.thread] then
					users = users + 1
					names[a.thread] = string.char(64 + users)
				end
				if a.thread ~= last then turns = turns .. names[a.thread] end
				last = a.thread
				procedures[a.procedure] = true
			end
			local list = {}
			for name in pairs(procedures) do list[#list + 1] = name end
			table.sort(list)
			print(turns, table.concat(list, " "), profile:object("make_turns").type:match("turn"))' |
			tr '\t' ' ')"
	check_equal 'its object is made by the main thread, which is the last to use it' 'true true' \
		"$(script 'local o, last = profile:object("make_turns")
			for t in o:threads() do last = t end
			print(o.thread.tid == o.pid, last == o.thread)' | tr '\t' ' ')"
	check_equal 'gaps.lua counts how often the thread changes' '6 3' \
		"$(dcpimem script --db "$db" --epoch turns gaps.lua 6 | awk '/ make_turns/ { print $3, $4 }')"
	check_equal '... and the mean time between' true \
		"$(script 'local sum, count, last = 0, 0
			for a in profile:accesses() do
				if a.object.group.name:find("^make_turns") then
					if last and last.thread ~= a.thread then sum, count = sum + a.time - last.time, count + 1 end
					last = a
				end
			end
			print(string.format("%.3f", sum / count * 1e6) == arg[1])' \
			"$(dcpimem script --db "$db" --epoch turns gaps.lua 6 | awk '/ make_turns/ { print $1 }')")"
	# of 32 lines, a load that takes it and a store that no other core may have it for; the main thread reads one
	check_equal 'handovers.lua has what each turn takes from the one before: three times there, twice back' '1 128 192' \
		"$(dcpimem script --db "$db" --epoch turns handovers.lua make_turns |
			awk '/ make_turns/ { print $3 }' | sort -n | paste -sd' ')"
else
	skip 'what a program did' 'there is no gcc'
fi

dcpimem script --db "$db" --epoch queue handovers.lua | awk '/ make_queue/ && $1 >= 1 { print $8 }' >"$scratch/nodes"
check_equal 'handovers.lua finds who takes from whom: threads of one node' same \
	"$(sed 's/^\([0-3]\)>\1$/same/' "$scratch/nodes" | sort -u)"
check_at_least '... in four pairs' 4 "$(wc -l <"$scratch/nodes")"
check_equal 'hot.lua finds that one node after the other waits for a block' '0 1 2 3' \
	"$(dcpimem script --db "$db" --epoch migrate hot.lua 40 |
		awk '/ make_block/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-3]:(9[0-9]|100)%$/) print substr($i, 1, 1) }' | uniq | paste -sd' ')"
for path in "$top"/config/scripts/*.lua; do
	for label in pad queue migrate; do
		check "${path##*/} reads $label" dcpimem script --db "$db" --epoch $label "${path##*/}"
	done
done
check_fails '... and refuses a wrong argument' 1 'gaps.lua [LEAST]: a whole number' dcpimem script --db "$db" gaps.lua few
check_fails '...' 1 'a whole number from 1 to 1000' dcpimem script --db "$db" hot.lua 0
check_fails '...' 1 'there is no object nonesuch' dcpimem script --db "$db" handovers.lua nonesuch
check 'an archive is written' dcpitar --db "$db" "$scratch/archive.tar.zst"
check '... and read' dcpitar -x "$scratch/archive.tar.zst" --to "$scratch/elsewhere"
check_equal 'scripts print the same of an archive' "$(dcpimem script --db "$db" --epoch pad handovers.lua)" \
	"$(dcpimem script --db "$scratch/elsewhere" --epoch pad handovers.lua)"

# ---- how scripts run ----

check_equal 'arguments are passed as they stand' 'script.lua -x --db a b' \
	"$(script 'print(arg[0]:match("[^/]*$"), ...)' -x --db 'a b' | tr '\t' ' ')"
printf 'return {twice = function(n) return 2 * n end}\n' >"$scratch/doubling.lua"
check_equal 'modules are found where Lua finds them' 84 \
	"$(LUA_PATH="$scratch/?.lua" script 'print(require("doubling").twice(42))')"
printf 'print("mine")\n' >"$scratch/gaps.lua"
check_equal 'a file here is taken before one that is installed' mine "$(cd "$scratch" && dcpimem script --db "$db" gaps.lua)"
check_equal '... from another folder, if it is named' mine "$(DCPI_SCRIPTS=$scratch dcpimem script --db "$db" gaps.lua)"
check_equal 'a script may be a pipe' piped "$(dcpimem script --db "$db" <(echo 'print("piped")'))"
dcpimem script --db "$db" - <<<'io.write("written") os.exit(7)' >"$scratch/out" 2>"$scratch/err"
check_equal 'it ends as it says, and what it wrote is there' '7 written' "$? $(cat "$scratch/out")"
dcpimem script --db "$db" - <<<'for i = 1, 100000 do print(i) end' 2>"$scratch/err" | head -n 1 >"$scratch/out"
check_equal 'a reader that stops ends it without a word' '1 ' "$(cat "$scratch/out") $(cat "$scratch/err")"
check_fails 'an output that is full is an error' 1 'standard output: cannot write the report' \
	sh -c "echo 'print(1)' | dcpimem script --db '$db' - >/dev/full"

# interrupted SENTENCE EXPECTED once|until-it-ends TEXT - a script that prints "begun" and runs for ever gets SIGINT; EXPECTED
# are its status and message
interrupted()
{
	local pid status

	rm -f "$scratch/out"
	printf '%s\n' "$4" >"$scratch/endless.lua"
	(cd "$scratch" && exec env --default-signal=INT dcpimem script --db "$db" endless.lua) >"$scratch/out" 2>"$scratch/err" &
	pid=$!
	wait_for 60 grep -q begun "$scratch/out" || not_ok "$1: it begins" "$(cat "$scratch/err")"
	while kill -INT $pid 2>/dev/null && [ "$3" = until-it-ends ]; do
		sleep 0.2
	done
	wait $pid
	status=$?
	check_equal "$1" "$2" "$status $(cat "$scratch/err")"
}

interrupted 'Ctrl-C ends a script that runs for ever' '130 dcpimem: endless.lua:2: interrupted' once \
	$'print("begun")\nwhile true do end'
interrupted 'a second one ends one that catches errors' '130 ' until-it-ends \
	'pcall(function() print("begun") while true do end end) while true do end'
interrupted '... or a coroutine' '130 ' until-it-ends 'coroutine.wrap(function() print("begun") while true do end end)()'

# ---- errors ----

# wrong SENTENCE MESSAGE TEXT - a script that fails prints one line, and ends with 1
wrong()
{
	printf '%s\n' "$3" >"$scratch/wrong.lua"
	(cd "$scratch" && dcpimem script --db "$db" --epoch pad wrong.lua) >"$scratch/out" 2>"$scratch/err" </dev/null
	check_equal "$1" "1 dcpimem: $2" "$? $(cat "$scratch/err")"
}

wrong 'a syntax error' "wrong.lua:2: syntax error near 'end'" $'local a = 1\na end'
wrong 'an object that there is not' "wrong.lua:2: attempt to index a nil value (local 'object')" \
	$'local object = profile:object("nonesuch")\nprint(object.name)'
wrong 'a field that there is not' "wrong.lua:1: an access has no 'tread' (did you mean 'thread'?)" \
	'for a in profile:accesses() do print(a.tread) end'
wrong 'a dot in the place of a colon' "wrong.lua:1: bad argument #1 to 'accesses' (dcpimem.object expected, got no value)" \
	'for a in profile:object("make_counters").accesses() do end'
wrong 'an assignment to the profile' 'wrong.lua:1: the profile cannot be changed: keep values in a table of the script' \
	'profile:object("make_counters").name = "mine"'
wrong 'an error in a function that another one calls' 'wrong.lua:1: no' \
	$'local function f() error("no") end\nfor a in profile:accesses() do f() end'
wrong 'an error without a place gets one' 'wrong.lua:1: no' 'error("no", 0)'
wrong 'an error without a text' 'wrong.lua:1: the script raised an error without a text (its type is table)' 'error({})'
wrong 'endless recursion' 'wrong.lua:1: stack overflow' 'local function f() return 1 + f() end f()'
wrong 'a message with control characters' 'wrong.lua:1: a\x1b[31mb\x0ac' 'error("a\27[31mb\nc")'
cat >"$scratch/large.lua" <<'SOURCE'
os.execute("prlimit --pid $PPID --as=1000000") -- of dcpimem, which has more already
local t = {}
for i = 1, 1000000 do t[i] = string.rep("x", 1000) .. i end
SOURCE
check_fails 'a script that takes all memory' 1 'large.lua: not enough memory' dcpimem script --db "$db" "$scratch/large.lua"
check_fails 'no script' 2 "which script? 'dcpimem script gaps.lua' is one" dcpimem script --db "$db"
check_fails 'a script that is not there' 1 'nonesuch.lua: cannot read the script: there is no such file, neither here nor in' \
	dcpimem script --db "$db" nonesuch.lua
check_fails '... in a folder' 1 './nonesuch.lua: cannot read the script: No such file or directory' \
	dcpimem script --db "$db" ./nonesuch.lua
check_fails 'a folder' 1 'cannot read the script: Is a directory' dcpimem script --db "$db" "$scratch"
printf '\033Lua' >"$scratch/compiled.lua"
check_fails 'a compiled script' 1 'cannot read the script: it is compiled; name its source' \
	dcpimem script --db "$db" "$scratch/compiled.lua"
check_fails 'no database' 1 'no profile database' dcpimem script --db "$scratch/nowhere" gaps.lua
check_fails 'no such epoch' 4 'there is no epoch nonesuch' dcpimem script --db "$db" --epoch nonesuch gaps.lua
dcpiemu run --machine e5-2699v3 --threads 1 --db "$scratch/empty" --quiet -- true
check_fails 'no memory objects' 1 "no epoch has memory objects: 'dcpimem run' records them" \
	dcpimem script --db "$scratch/empty" gaps.lua

# ---- a damaged profile: as of any other command, no script runs ----

# damaged PAGE PAGES - so many pages of a copy are overwritten; how `objects` and a script end, and what they print
damaged()
{
	rm -rf "$scratch/damaged"
	cp -r "$db" "$scratch/damaged"
	yes 'damage' | dd of="$scratch/damaged/data.mdb" bs=4096 seek="$1" count="$2" conv=notrunc iflag=fullblock status=none
	dcpimem objects --db "$scratch/damaged" >"$scratch/out" 2>"$scratch/err"
	printf '%s\n' "$? $(cat "$scratch/err")" >"$scratch/objects.end"
	echo 'print(profile.label)' | dcpimem script --db "$scratch/damaged" - >"$scratch/out" 2>"$scratch/err"
	printf '%s\n' "$? $(cat "$scratch/err")" >"$scratch/script.end"
}

pages=$(($(stat -c %s "$db/data.mdb") / 4096)) unlike='' refused=0
damaged 2 $((pages - 2))
check_equal 'a damaged database ends a script with 3' 1 \
	"$(grep -c "^3 dcpimem: $scratch/damaged: .*'dcpictl salvage' saves what is whole" "$scratch/script.end")"
check_equal '... as it ends other commands' "$(cat "$scratch/objects.end")" "$(cat "$scratch/script.end")"
for ((page = 2; page < pages; page += pages / 30 + 1)); do
	damaged $page 1
	cmp -s "$scratch/objects.end" "$scratch/script.end" ||
		unlike+="page $page: $(paste -sd'|' "$scratch/objects.end" "$scratch/script.end")"$'\n'
	if grep -q '^3 ' "$scratch/script.end"; then
		refused=$((refused + 1))
		[ ! -s "$scratch/out" ] || unlike+="page $page: a script ran"$'\n'
	fi
done
check_equal '... and so does a page that is damaged, and no script runs' '' "$unlike"
figure "of $pages pages thirty were overwritten, one at a time: $refused were read, and refused"

[ $failures = 0 ]
