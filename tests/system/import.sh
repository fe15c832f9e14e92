#!/bin/bash
# dcpimport: every recording has, per event and object, the samples that `perf script` finds (expected.tsv); what is
# damaged is told, and what came before it kept; what perf records here is imported as perf reports it
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

recorded=$top/tests/recorded/perf_data
shared=${PERF_RECORDINGS:-$top/../shared/perfdata}

# Samples by event and object of an import, as "EVENT OBJECT SAMPLES" with tabs: $1 the database, $2 what dcpimport --json
# said of it.
imported_counts()
{
	{
		dcpiprof --db "$1" -i --json |
			jq -r '.rows[] | .image as $image | .counts | to_entries[] | [.key, $image, .value] | @tsv'
		jq -r '.imported[].events[] | [.name, "[unknown]", ([.unknown[]] | add) // 0] | @tsv' "$2"
	} | awk -F '\t' '$3 > 0' | sort
}

# The names that perf gives to objects, as ours: all memory without a file is one, a module is called as the kernel does.
expected_counts()
{
	awk -F '\t' -v OFS='\t' '
		{
			object = $2
			if (object == "[kernel.kallsyms]")
				object = "[kernel]"
			else if (object ~ /^\/tmp\/perf-[0-9]+\.map$/)
				object = "[anon]"
			else if (object ~ /^\/lib\/modules\/.*\.ko(\.[a-z]+)?$/) {
				sub(/.*\//, "", object)
				sub(/\.ko.*/, "", object)
				gsub(/-/, "_", object)
				object = "[" object "]"
			}
			samples[$1 OFS object] += $3
		}
		END {
			for (key in samples)
				print key, samples[key]
		}' "$1" | sort
}

# import_and_compare FILE EXPECTED
import_and_compare()
{
	local name db

	name=$(basename "$1")
	db=$scratch/db.$name
	if ! dcpimport --no-sums --db "$db" --json "$1" >"$scratch/$name.json" 2>"$scratch/$name.errors"; then
		not_ok "$name is imported" "$(cat "$scratch/$name.errors")"
		return
	fi
	check_equal "$name has, per event and object, the samples that perf finds" "$(expected_counts "$2")" \
		"$(imported_counts "$db" "$scratch/$name.json")"
	check "the database with $name is sound" dcpictl --db "$db" check
}

look_at_recordings()
{
	local file

	for file in "$recorded"/*.data; do
		[ ! -e "${file%.data}.expected.tsv" ] || import_and_compare "$file" "${file%.data}.expected.tsv"
	done
	[ -d "$shared" ] || {
		skip 'all recordings of real machines' 'not there'
		return
	}
	for file in "$shared"/*.expected.tsv; do
		import_and_compare "${file%.expected.tsv}" "$file"
	done
}

look_at_damage()
{
	local file=$recorded/lost_samples-4.4.data size

	check_fails 'a recording damaged before its first sample says where, and why' 3 \
		'damaged at offset 49104 (0xbfd0): a record is smaller than its own header; there was no sample before it' \
		dcpimport --db "$scratch/damaged" "$recorded/zero_size_sample-3.2.data"
	size=$(stat -c %s "$file")
	head -c $((size - 6000)) "$file" >"$scratch/cut"
	check_fails 'one that ends too early says so' 3 'what came before it is epoch 1' \
		dcpimport --db "$scratch/cut.db" "$scratch/cut"
	check 'what was whole of it is kept' [ "$(samples_written "$scratch/cut.db" all)" -gt 50 ]
	check_fails 'what is no recording is refused' 3 'it is no recording of perf' \
		dcpimport --db "$scratch/none" "$top/README.md"
	check_fails 'a file that is not there' 1 'cannot open the recording: No such file' \
		dcpimport --db "$scratch/none" "$scratch/nothing"
	mkfifo "$scratch/fifo"
	cat "$file" >"$scratch/fifo" &
	check_fails 'a file that comes through a pipe' 1 "what 'perf record -o -' writes; name the file" \
		dcpimport --db "$scratch/none" "$scratch/fifo"
	mkdir "$scratch/kcore" "$scratch/threads"
	cp "$file" "$scratch/kcore/data"
	touch "$scratch/threads/data" "$scratch/threads/data.0"
	check 'what perf makes a directory for its --kcore is read' dcpimport --db "$scratch/kcore.db" "$scratch/kcore"
	check_equal 'and called as the directory' 191 "$(samples_written "$scratch/kcore.db" kcore)"
	check_fails 'what several threads recorded is refused' 2 'record without --threads' \
		dcpimport --db "$scratch/none" "$scratch/threads"
	check_fails 'no file at all' 2 'which recording?' dcpimport --db "$scratch/none"
}

look_at_reports()
{
	local file=$recorded/lost_samples-4.4.data db=$scratch/report

	check_equal 'the report tells samples, what is unknown, what was lost' \
		"$file: 191 samples in 0.0 s on localhost, 5 images, into epoch 1
     samples  unknown  lost  throttled  event
          97        3     1          0  cycles:pp
          80        0     0          0  instructions:pp
          14        0     1          0  branch-instructions:pp
Unknown:  2 samples: the address lies in no known mapping of the process
Unknown:  1 sample: the kernel address lies in no known module or function" "$(dcpimport --db "$db" "$file")"
	check_equal 'where periods vary, their sums are no events of it' 'samples unknown lost throttled event
198 0 0 0 cycles' "$(dcpimport --db "$scratch/varied" "$recorded/remmap-3.2.data" | awk 'NR > 1 { $1 = $1; print }')"
	check_equal 'though they are there, as weights' '["cycles",true]' "$(dcpiprof --db "$scratch/varied" --epoch all --json |
		jq -c '.events[] | [.name, (.taken == 198)]')"
	dcpimport --db "$db" --label again --host rose --json "$file" "$recorded/remmap-3.2.data" >"$scratch/report.json"
	check 'JSON is what its manual says' json_holds '.schema == "dcpimport/1" and (.imported | length) == 2 and
		(.imported[0] | .epoch == 2 and .host == "rose" and .samples == 191 and .images == 5 and .damage == null and
			.late_records == 0 and .call_chains == 0 and .call_chains_left_out == 0 and .events[0].name == "cycles:pp" and
			.events[0].period == 20003 and .events[0].unit == "cycles" and .events[0].lost == 1 and
			.events[0].unknown == {"no-mapping": 2, "kernel-address": 1}) and
		(.imported[1] | .epoch == 3 and .samples == 198 and [.events[].name] == ["cycles"])' "$scratch/report.json"
	check_equal 'an epoch is chosen by its label' 191 "$(samples_written "$db" 2)"
	check_equal 'that of the file without one' 191 "$(samples_written "$db" "$(basename "$file")")"
	check_equal 'the latest epoch of a host' '[3]' "$(dcpiprof --db "$db" --host 'ro*' -i --json | jq -c .epochs)"
	check_fails 'a host that has no epoch' 4 "no epoch is of a host that matches 'web*'; there are localhost, rose" \
		dcpiprof --db "$db" --host 'web*'
	check_equal 'standard input is read to its end' 198 \
		"$(dcpimport --db "$scratch/pipe" --json - <"$recorded/remmap-3.2.data" | jq '.imported[0].samples')"
}

# Of "SAMPLES OBJECT", the kernel and files that still have their names, sorted.
named_alike()
{
	sed 's/\[kernel.kallsyms\]/[kernel]/' | grep -P '\t(\[kernel\]|/(?!memfd:|dev/|SYSV|/)[^ ]*)$' |
		grep -vP '\t/tmp/perf-\d+\.map$' | sort
}

# perf_objects FILE - as perf script has them
perf_objects()
{
	perf script -G -i "$1" -F dso,ip 2>/dev/null | sed -n 's/^ *[0-9a-f]* (\(.*\))$/\1/p' | sort | uniq -c |
		sed 's/^ *\([0-9]*\) /\1\t/' | named_alike
}

# reported_objects FILE - as perf report has them: by the last part of their names
reported_objects()
{
	perf report -q -i "$1" --no-children --stdio -g none -F sample,dso -t '@' 2>/dev/null |
		sed -n 's/^ *\([0-9][0-9]*\) *@\(.*[^ ]\) *$/\1\t\2/p' | sed 's/\[kernel.kallsyms\]/[kernel]/' | added_up
}

# pprof_objects FILE - so has pprof: samples (the first value) by location, locations by mapping, mappings by path
pprof_objects()
{
	go tool pprof -raw "$1" 2>/dev/null | awk '
		$1 == "Samples:" || $1 == "Locations" || $1 == "Mappings" { part = $1; next }
		part == "Samples:" && /^ *[0-9][0-9 ]*: [0-9]+ *$/ { sub(":", "", $1); count[$NF] += $1 }
		part == "Locations" && $3 ~ /^M=/ { sub(":", "", $1); sub("M=", "", $3); samples[$3] += count[$1] }
		part == "Mappings" { sub(":", "", $1); printf "%d\t%s\n", samples[$1], $3 }' | sed 's|\t.*/|\t|' | added_up
}

# Of "SAMPLES NAME": files and the kernel, one row a name, sorted by it.
added_up()
{
	awk -F '\t' '$2 == "[kernel]" || $2 !~ /^\[|^memfd:|\.map$/ { sums[$2] += $1 }
		END { for (name in sums) printf "%.0f\t%s\n", sums[name], name }' | sort -k2
}

round_trip()
{
	local sentence=$1 file=$scratch/here.data ours theirs

	shift
	rm -rf "$scratch/here.db" "$file"
	perf record -q --buildid-mmap -o "$file" "$@" -- sh -c 'for i in 1 2 3; do gzip -9 </bin/bash | md5sum; done' \
		>/dev/null 2>"$scratch/perf.errors" || {
		skip "$sentence" "perf record: $(tail -n 1 "$scratch/perf.errors")"
		return
	}
	check "$sentence: it is imported" dcpimport --db "$scratch/here.db" "$file"
	theirs=$(perf_objects "$file")
	check "$sentence: perf finds several objects" grep -q /gzip <<<"$theirs"
	ours=$(dcpiprof --db "$scratch/here.db" -i --json |
		jq -r '.events[0].name as $event | .rows[] | [.counts[$event], .image] | @tsv' | named_alike)
	check_equal "$sentence: each object has the samples of perf script" "$theirs" "$ours"
	if command -v go >/dev/null; then
		check 'it is exported' dcpiexport --db "$scratch/here.db" --no-lines --event "$(dcpiprof --db "$scratch/here.db" -i --json |
			jq -r '.events[0].name')" --pprof "$scratch/here.pb.gz"
		check_equal "$sentence: pprof has the samples of perf report" "$(reported_objects "$file")" \
			"$(pprof_objects "$scratch/here.pb.gz")"
	else
		skip "$sentence: pprof has the samples of perf report" 'golang-go is not installed'
	fi
	grep -q '_stext$' /proc/kallsyms && ! grep -q '^0* T _stext' /proc/kallsyms || return
	check "$sentence: procedures of this kernel are named" jq -es '.[0].rows | any(.procedure | test("^[a-z_]"))' \
		<(dcpiprof --db "$scratch/here.db" --image '[kernel]' --json)
}

# How many epochs, and samples in all of them, a database has.
holds()
{
	dcpiprof --db "$1" --epoch all -i --json 2>/dev/null | jq -c '[(.epochs | length), ([.rows[].counts[]] | add)]'
}

look_at_merging()
{
	local one=$scratch/one other=$scratch/other all=$scratch/all

	dcpimport --no-sums --db "$one" --host web1 "$recorded/lost_samples-4.4.data" >/dev/null
	dcpimport --no-sums --db "$other" --host web2 "$recorded/remmap-3.2.data" "$recorded/lost_samples-4.4.data" >/dev/null
	check_equal 'databases become one, images of one build-id one image' \
		"$one: 1 epoch, 1 slice, 5 images (5 of them new), into epoch 1
$other: 2 epochs, 2 slices, 8 images (3 of them new), into epochs 2 to 3" "$(dcpimport --db "$all" "$one" "$other")"
	check_equal 'it is sound' "$all: 3 epochs, 3 slices, 8 images: no damage found" \
		"$(dcpictl --db "$all" check | sed 's/, [0-9]* blocks//')"
	check_equal 'what there is one of is said so' "$one: 1 epoch, 1 slice, 5 images: no damage found" \
		"$(dcpictl --db "$one" check | sed 's/, [0-9]* blocks//')"
	check_equal 'it has the epochs and samples of both' '[3,574]' "$(holds "$all")"
	check_equal 'each host has its own' '188 386' "$(for host in web1 web2; do
		dcpiprof --db "$all" --epoch all --host $host -i --json | jq '[.rows[].counts[]] | add'
	done | paste -sd ' ')"
	check_equal 'hosts are compared as sets' 'set 1 = 97   set 2 = 97            TOTAL      194' \
		"$(dcpistats --db "$all" --host web1 --host web2 -i | sed -n 2p)"
	check_equal 'what is there is not added again' "$other: 0 epochs, 0 slices, 0 images (0 of them new)
Known:    2 epochs are here already" "$(dcpimport --db "$all" "$other")"
	check_equal 'JSON tells the same' '{"epochs":0,"known_epochs":2,"first_epoch":null}' \
		"$(dcpimport --db "$all" --json "$other" | jq -c '.imported[0] | {epochs, known_epochs, first_epoch}')"
	check_fails 'a database does not become part of itself' 2 'is the database that it should become part of' \
		dcpimport --db "$all" "$all"
	check_fails 'a directory without a database' 1 'there is no profile database here' \
		dcpimport --db "$all" "$scratch"
}

# A database of $1 with many blocks, for a merge that takes its time.
make_large()
{
	{
		echo 'event cpu-clock cycles ns 4000000 yes -'
		echo 'image user 1111111111111111 /opt/bin/server'
		echo 'context server / -'
		for ((epoch = 1; epoch <= 20; epoch++)); do
			echo "epoch $((1795271400 + 1000 * epoch)) e$epoch"
			seq -f 'count cpu-clock 0 0 %.0f 1' 4096 4096 8192000
			echo "slice $((1795271400 + 1000 * epoch)) $((1795271410 + 1000 * epoch))"
		done
	} | "$build/tests/system/make_database" "$1"
}

# What a kill left takes room until the next import.
remove_left()
{
	local target=$scratch/left before round

	for ((round = 0; round < 20; round++)); do
		rm -rf "$target"
		dcpimport --db "$target" "$scratch/one" >/dev/null
		before=$(blocks_in "$target")
		start dcpimport --db "$target" "$1" >/dev/null 2>&1
		until [ "$(blocks_in "$target")" != "$before" ] || ! kill -0 $started; do
			:
		done
		stop $started KILL
		[ "$(holds "$target")" != '[1,188]' ] || break # else it was through before
	done 2>/dev/null
	check_equal 'nobody sees what a kill left' '[1,188]' "$(holds "$target")"
	check 'it takes room' [ "$(blocks_in "$target")" != "$before" ]
	check 'with the next one' dcpimport --db "$target" "$scratch/one"
	check_equal 'it is gone' "$before [1,188]" "$(blocks_in "$target") $(holds "$target")"
}

blocks_in()
{
	dcpictl --db "$1" check | sed 's/.* \([0-9,]*\) blocks.*/\1/'
}

# Killed at any moment, it leaves all of what it merges or nothing.
kill_merges()
{
	local large=$scratch/large target=$scratch/target whole=0 none=0 round found

	check 'a large database is made' make_large "$large" || return
	for ((round = 0; round < 12; round++)); do
		rm -rf "$target"
		dcpimport --db "$target" "$scratch/one" >/dev/null
		start dcpimport --db "$target" "$large" >/dev/null 2>&1
		sleep "0.$(printf %03d $((round * 37)))"
		stop $started KILL 2>/dev/null
		found=$(holds "$target")
		case $found in
		'[21,40188]') whole=$((whole + 1)) ;;
		'[1,188]') none=$((none + 1)) ;;
		*)
			not_ok 'a merge that is killed leaves all or nothing' "it left $found"
			return
			;;
		esac
		dcpictl --db "$target" check >/dev/null || not_ok 'and a sound database'
	done 2>/dev/null
	ok "a merge that is killed leaves all or nothing ($whole times all, $none nothing)"
	remove_left "$large"
	check 'and it can be done again' dcpimport --db "$target" "$large"
	check_equal 'then all is there' '[21,40188]' "$(holds "$target")"
}

# Told to end while it reads, an import leaves nothing: neither in the database nor where it was prepared.
end_imports()
{
	local pipe=$scratch/pipe.data target=$scratch/ended

	mkdir "$scratch/prepared"
	mkfifo "$pipe"
	start env TMPDIR="$scratch/prepared" dcpimport --db "$target" "$pipe" >"$scratch/ended.log" 2>&1
	exec 9>"$pipe"
	head -c 12000 "$recorded/zero_size_sample-3.2.data" >&9
	wait_for 10 sh -c "ls $scratch/prepared | grep -q dcpimport" || not_ok 'it prepares what it imports'
	kill "$started"
	wait "$started"
	check_equal 'an import that is told to end says so' 1 $?
	check 'in a sentence' grep -q 'interrupted; nothing of it is in the database' "$scratch/ended.log"
	check_equal 'and leaves nothing' '' "$(ls "$scratch/prepared")"
	exec 9>&-
}

# A recording in the pipe layout of 100 turns of a loop at offset $2 of the image $1, of build-id $3: the branch at +6 was taken
# 70 times (to +10), the one at +12 each time (to +0). Each sample has three branches, the latest first.
branch_recording()
{
	# shellcheck disable=SC2016 # perl's own
	perl -e '
		my ($path, $text, $id) = @ARGV;
		my ($base, $time) = (0x7f0000000000, 1000);
		my $fields = 1 | 2 | 4 | 2048; # address, process, time, branches
		sub record { my ($type, $misc, $body) = @_; pack("LSS", $type, $misc, 8 + length $body) . $body }
		sub name { my $name = "$_[0]\0"; $name . "\0" x (-length($name) % 8) }
		sub at { $base + $text + $_[0] }
		my $attr = pack("LLQQQQQLLQ", 0, 64, 0, 1000, $fields, 0, 1 << 18, 0, 0, 0);
		print "PERFILE2", pack("Q", 16), record(64, 0, $attr . pack("Q", 1));
		print record(3, 0, pack("LL", 42, 42) . name("loop") . pack("LLQ", 42, 42, $time));
		print record(10, 2, pack("LLQQQLLQQLL", 42, 42, $base, 0x100000, 0, 8, 1, 777, 5, 5, 2) . name($path) .
			pack("LLQ", 42, 42, $time));
		for my $turn (1 .. 100) {
			my @taken = $turn % 10 < 7 ? ([12, 0], [6, 10], [12, 0]) : ([12, 0], [12, 0]);
			$time += 1000;
			print record(9, 2, pack("QLLQQ", at(2), 42, 42, $time, scalar @taken) .
				join("", map { pack("QQQ", at($$_[0]), at($$_[1]), 0) } @taken));
		}
		print record(67, 2, pack("L", 0xffffffff) . pack("H40x4", $id) . name($path));
	' "$@"
}

# What a branch recorder saw is what dcpicalc takes frequencies from.
look_at_branches()
{
	local image=$scratch/libloop.so start id

	if [ "$(uname -m)" != x86_64 ]; then
		skip 'branch stacks of a loop are what dcpicalc takes' 'its code is x86-64'
		return
	fi
	# shellcheck disable=SC2016 # the assembler's own
	# 0: add, 3: test, 6: je, 8: two nops, 10: dec, 12: jne
	printf '%s\n' '.globl loop' '.type loop, @function' 'loop:' '1: add $1, %eax' 'test %ecx, %eax' 'nop' 'je 2f' 'nop' 'nop' \
		'2: dec %edi' 'jne 1b' 'ret' '.size loop, . - loop' |
		gcc -shared -nostdlib -Wl,--build-id -x assembler -o "$image" - || return
	start=$((0x$(nm "$image" | awk '$3 == "loop" { print $1 }')))
	id=$(readelf -n "$image" | sed -n 's/.*Build ID: //p')
	branch_recording "$image" $start "$id" >"$scratch/branches.data"
	check 'a recording with branch stacks is imported' dcpimport --db "$scratch/branches" "$scratch/branches.data"
	check 'branches that were taken are edges' [ "$("$build/tests/system/show_edges" "$scratch/branches" branch-stacks libloop.so |
		awk '{ print $3 }' | sort -n | paste -sd ' ')" = '70 200' ]
	DCPI_CPUS=$top/config/cpus dcpicalc --db "$scratch/branches" --json loop libloop.so >"$scratch/loop.json" || not_ok 'dcpicalc takes the loop apart'
	check 'dcpicalc takes frequencies from them' json_holds '.source.method == "branches"' "$scratch/loop.json"
	# shellcheck disable=SC2016 # jq's own
	check 'what was jumped over 70 times of 100 ran 30 times' json_holds '[.blocks[].frequency.value] as $often |
		$often[1] / $often[0] | . > 0.27 and . < 0.33' "$scratch/loop.json"
}

# The database may be one that a dcpid is writing to.
import_beside_daemon()
{
	local db=$scratch/live daemon

	if ! start_dcpid "$db"; then
		skip 'an import beside a dcpid' "dcpid does not run: $(tail -n 1 "$db.log")"
		return
	fi
	daemon=$started
	check 'an import beside a dcpid' dcpimport --no-sums --db "$db" "$recorded/remmap-3.2.data"
	check 'the dcpid goes on' dcpictl --db "$db" flush
	check_equal 'the import is an epoch of its own' 198 "$(samples_written "$db" remmap-3.2.data)"
	start dcpimport --db "$db" "$scratch/large" >/dev/null 2>&1
	until dcpiprof --db "$db" --epoch e1 >/dev/null 2>&1 || ! kill -0 "$started" 2>/dev/null; do
		dcpictl --db "$db" flush >/dev/null || not_ok 'the dcpid flushes while a large database comes in'
	done
	wait "$started"
	check_equal 'a large database comes in while it flushes' '2000 2000' "$(samples_written "$db" e1) $(samples_written "$db" e20)"
	stop "$daemon"
	check 'the database is sound' dcpictl --db "$db" check
}

# The stacks that perf script prints of a command's samples, as show_stacks prints them: $1 the recording, $2 the command,
# $3 "unwound" for what perf has unwound itself. perf prints return addresses, of what it has unwound those less 1, and
# addresses of the kernel; of files, older ones print offsets in place of addresses, and newer ones (6.12) offsets behind
# the path. Where its unwinder finds no caller, it may print address -1.
perf_stacks()
{
	local fields=comm,ip,sym,dso

	! perf script -i "$1" -F $fields,dsoff >/dev/null 2>&1 || fields+=,dsoff
	perf script -i "$1" --comm "$2" --no-inline -F $fields 2>/dev/null |
		python3 -c '
import collections, re, sys

is_unwound = sys.argv[1:] == ["unwound"]
with open("/proc/kallsyms") as symbols:
    stext = next(int(line.split()[0], 16) for line in symbols if line.split()[2] == "_stext")
stacks = collections.Counter()
for sample in sys.stdin.read().split("\n\n"):
    frames, was_kernel = [], False
    for line in sample.strip().split("\n")[1:]:
        address, path, behind = re.match(r"\s*([0-9a-f]+) .*\((.*?)(?:\+0x([0-9a-f]+))?\)$", line).groups()
        is_kernel = path == "[kernel.kallsyms]"
        if path == "[unknown]" and is_unwound:
            break
        if path == "[unknown]":
            frames.append("truncated:unknown")
            break
        is_return = len(frames) > 0 and is_kernel == was_kernel
        offset = int(address if is_kernel or not behind else behind, 16) - (is_return and (is_kernel or not is_unwound))
        frames.append("[kernel]+%x" % (offset - stext) if is_kernel else "%s+%x" % (path, offset))
        was_kernel = is_kernel
    if len(frames) == 127 and not frames[-1].startswith("truncated") and not is_unwound:
        frames.append("truncated:depth")
    if frames:
        stacks[" ".join(frames)] += 1
for stack, count in stacks.items():
    print(count, stack)' "${@:3}"
}

# compare_stacks WHAT COMMAND LEAST SAMPLES... - records the command after the number of samples there are at least
compare_stacks()
{
	local what=$1 command=$2 least=$3 data=$scratch/stacks.data db=$scratch/stacks.db expected

	rm -rf "$db"
	if ! perf record -q -e cpu-clock -F 1000 -g -o "$data" -- "${@:4}" >/dev/null 2>"$scratch/record"; then
		skip "$what" "perf cannot record: $(tail -n 1 "$scratch/record")"
		return
	fi
	check "$what: it is imported" dcpimport --db "$db" "$data"
	expected=$(perf_stacks "$data" "$command" | LC_ALL=C sort)
	check "$what: perf script has stacks" [ "$(awk '{ n += $1 } END { print n + 0 }' <<<"$expected")" -ge "$least" ]
	check_equal "$what: each frame is that of perf script" "$expected" \
		"$("$build/tests/system/show_stacks" "$db" "$command" | LC_ALL=C sort)"
	check "$what: the database is sound" dcpictl --db "$db" check
}

# How many percent of the samples of stacks in file $1 have an equal stack in $2; then up to three stacks of either that the other
# does not have. perf ends at 127 frames, and does not say why a stack ended.
equal_stacks()
{
	python3 -c '
import collections, sys

def read(path):
    stacks = collections.Counter()
    for line in open(path):
        count, *frames = line.split()
        if frames[-1].startswith("truncated:"):
            frames.pop()
        stacks[" ".join(frames[:127])] += int(count)
    return stacks

theirs, ours = map(read, sys.argv[1:])
print(100 * sum((theirs & ours).values()) // max(sum(theirs.values()), 1))
for name, more in ("perf", theirs - ours), ("dcpi", ours - theirs):
    for stack, count in list(more.items())[:3]:
        print("only", name, "has", count, "of", stack)' "$1" "$2"
}

# compare_unwound WHAT COMMAND LEAST SAMPLES... - records the command with copies of its stack after the number of samples
# there are at least; perf unwinds these by the files' tables, too
compare_unwound()
{
	local what=$1 command=$2 least=$3 data=$scratch/unwound.data db=$scratch/unwound.db equal
	local expected=$scratch/unwound.expected found=$scratch/unwound.found

	rm -rf "$db"
	if ! perf record -q -e cpu-clock -F 1000 --call-graph dwarf -o "$data" -- "${@:4}" >/dev/null 2>"$scratch/record"; then
		skip "$what" "perf cannot record copies of the stack: $(tail -n 1 "$scratch/record")"
		return
	fi
	check "$what: it is imported" dcpimport --db "$db" "$data"
	perf_stacks "$data" "$command" unwound >"$expected"
	"$build/tests/system/show_stacks" "$db" "$command" >"$found"
	check "$what: the database is sound" dcpictl --db "$db" check
	check_at_least "$what: stacks reach the outermost procedure" "$least" \
		"$(awk '!/ truncated:/ { n += $1 } END { print n + 0 }' "$found")"
	check_at_least "$what: perf script has its samples" "$least" "$(awk '{ n += $1 } END { print n + 0 }' "$expected")"
	if ! grep -qE '( /[^ ]+){3}' "$expected"; then
		skip "$what: frames are those of perf script" 'this perf does not unwind'
		return
	fi
	equal=$(equal_stacks "$expected" "$found")
	check_at_least "$what: at least 99 of 100 stacks are those of perf script" 99 "${equal%%$'\n'*}"
	[ "${equal%%$'\n'*}" = 100 ] || printf '# %s\n' "$equal"
}

# Without a table stacks end, and the report says so.
unwind_without_files()
{
	local program=$scratch/calls data=$scratch/gone.data db=$scratch/gone.db before

	cp "$build/workloads/calls" "$program"
	if ! perf record -q -e cpu-clock -F 1000 --call-graph dwarf -o "$data" -- "$program" 1 >/dev/null 2>"$scratch/record"; then
		skip 'stacks of programs that are gone' "perf cannot record copies of the stack: $(tail -n 1 "$scratch/record")"
		return
	fi
	dcpimport --db "$db" --label before "$data" >"$scratch/before.text"
	before=$("$build/tests/system/show_stacks" "$db" calls | LC_ALL=C sort)
	cp "$build/workloads/naps" "$program.new"
	mv "$program.new" "$program"
	dcpimport --db "$db" --label after "$data" >"$scratch/after.text"
	dcpimport --db "$db.other" "$data" >"$scratch/other.text"
	dcpimport --db "$db.other" --json "$data" >"$scratch/other.json"
	check 'all stacks of an import reach the outermost procedure' \
		[ "$(awk '/ truncated:/ { n += $1 } END { print n + 0 }' <<<"$before")" -le 5 ]
	check 'another program at its path gives no table, and the report says so' \
		grep -Eq '^Truncated: [0-9]+ stacks of [0-9]+: there are no unwind tables' "$scratch/other.text"
	check 'nor does the database that has stacks of the one before: tables of an import are not kept' \
		grep -Eq '^Truncated: [0-9]+ stacks of [0-9]+: there are no unwind tables' "$scratch/after.text"
	check 'JSON says how many stacks' [ "$(jq '.imported[0].truncated["no-tables"]' "$scratch/other.json")" -ge 100 ]
}

look_at_recordings
look_at_damage
look_at_reports
look_at_merging
kill_merges
end_imports
look_at_branches
import_beside_daemon
if command -v perf >/dev/null; then
	round_trip 'a recording made here by period' -e cpu-clock -c 500000
	round_trip 'one by frequency, compressed' -e cpu-clock -F 2000 -z
	round_trip 'one with call chains' -e cpu-clock -F 2000 -g
	check 'call chains are samples of an event of their own' grep -Eq '^ +[0-9]+ .* cpu-clock\.stacks$' \
		<(dcpimport --db "$scratch/here.db" "$scratch/here.data")
	compare_stacks 'stacks of known calls' calls 100 "$build/workloads/calls" 1
	compare_stacks 'stacks that are deeper than Linux records' calls 100 "$build/workloads/calls" 1 300
	compare_stacks 'stacks from the kernel to the program' dd 100 dd if=/dev/zero of=/dev/null bs=512 count=500000
	compare_unwound 'unwound stacks of known calls' calls 100 "$build/workloads/calls" 1
	compare_unwound 'unwound stacks that are deeper than perf unwinds' calls 100 "$build/workloads/calls" 1 300
	# shellcheck disable=SC2016
	compare_unwound 'unwound stacks of bash' bash 100 bash -c 'for ((i = 0; i < 200000; i++)); do x=$((x + i)); done'
	# shellcheck disable=SC2016
	compare_unwound 'unwound stacks of python3' python3 100 /usr/bin/python3 -c '
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
for i in range(1500):
    f(18)'
	unwind_without_files
else
	skip 'recordings that perf makes here' 'perf is not installed'
fi
[ $failures = 0 ]
