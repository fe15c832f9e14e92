#!/bin/bash
# dcpiexport: what it writes is what was sampled, as the tools read it that it is written for - go's pprof and
# callgrind_annotate - and compared whole with tests/system/expected/dcpiexport/, which is written by hand
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=figure_database.sh
. "$top/tests/system/figure_database.sh"

here=$top/tests/system
db=$scratch/db

# One procedure with lines of two files, and one without.
make_work_database()
{
	printf '%s\n' .text '.globl work' '.type work, @function' work: '.file 1 "/src/work.c"' '.file 2 "/src/inline.h"' \
		'.loc 1 10' nop '.loc 2 5' nop '.loc 1 11' nop '.size work, . - work' >"$scratch/work.S"
	printf '%s\n' .text '.globl plain' '.type plain, @function' plain: nop '.size plain, . - plain' >"$scratch/plain.S"
	as -o "$scratch/work.o" -g "$scratch/work.S" && as -o "$scratch/plain.o" "$scratch/plain.S" &&
		ld -shared -z separate-code --build-id=0x6666666666666666 -o "$scratch/libwork.so" "$scratch/work.o" \
			"$scratch/plain.o" || return
	"$build/tests/system/make_database" "$scratch/work" <<END
event cpu-clock cycles ns 4000000 yes -
event page-faults page-faults faults 100 yes -
image user 6666666666666666 $scratch/libwork.so
image kernel - [kernel]
context work / -
epoch 1795275000 -
count cpu-clock 0 0 0x1000 40
count cpu-clock 0 0 0x1001 7
count page-faults 0 0 0x1001 1
count cpu-clock 0 0 0x1002 30
count page-faults 0 0 0x1003 2
count cpu-clock 1 0 0x1008 20
unknown cpu-clock no-process 10
slice 1795275000 1795276000
symbols 1 0x1000 schedule
END
}

# The output of a command, made the same for every scratch folder, machine and version.
normal()
{
	"$@" 2>&1 | sed "s|$scratch|PLACE|g; s|^\(creator: dcpiexport-\).*|\1VERSION|; s|^\(desc: .* on \).*|\1HOST|"
}

# top FILE [OPTION...] - what pprof says: "SAMPLES PERCENT NAME", the most first
top()
{
	go tool pprof -top -nodecount=1000000 -nodefraction=0 "${@:2}" "$1" 2>"$scratch/said" |
		sed '1,/flat%/d; s/^ *\([^ ]*\) *\([^ ]*\)\( *[^ ]*\)\{3\} */\1 \2 /'
}

# annotated FILE - what callgrind_annotate says: "SAMPLES NAME", the most first; a name's files, of which all but one have
# no image behind them, are added up
annotated()
{
	callgrind_annotate --threshold=100 --auto=no "$1" |
		sed -nE '/file:function/,$ { s/^ *([0-9,]+) [^:]*:/\1 /; T; s/ \[(\[[^[]*\]|[^[]*)\]$//; p }' |
		awk '{ count = $1; gsub(",", "", count); sub(/^[^ ]* /, ""); sums[$0] += count }
			END { for (name in sums) printf "%.0f %s\n", sums[name], name }' | sort -rn
}

look_at_folded()
{
	check_equal 'folded stacks of all images' "$(cat "$here/expected/dcpiexport/folded")" \
		"$(normal dcpiexport --db "$db" --folded - | sort)"
	check_equal 'of one event' 'PLACE/libfigure.so;foo::bar 30' \
		"$(normal dcpiexport --db "$db" --folded - --event page-faults libfigure.so)"
	check_equal 'names as the linker knows them' 'PLACE/libfigure.so;_ZN3foo3barEi 30' \
		"$(normal dcpiexport --db "$db" --folded - --event page-faults --no-demangle libfigure.so)"
	check_equal 'of one command, without what has none' '[anon];[anon] 33' \
		"$(dcpiexport --db "$db" --folded - --comm $'ev\033[[]2Jil' | grep -e anon -e unknown)"
}

look_at_callgrind()
{
	check_equal 'callgrind, with lines of two files' "$(cat "$here/expected/dcpiexport/callgrind")" \
		"$(normal dcpiexport --db "$scratch/work" --callgrind -)"
	check_equal 'callgrind without lines' $'0x1000 0 40 0\n0x1001 0 7 1\n0x1002 0 30 0\n0x1003 0 0 2' \
		"$(dcpiexport --db "$scratch/work" --callgrind - --no-lines libwork.so | grep ^0x)"
	command -v callgrind_annotate >/dev/null || {
		skip 'callgrind_annotate agrees' 'valgrind is not installed'
		return
	}
	dcpiexport --db "$db" --callgrind "$scratch/callgrind.out"
	check_equal 'callgrind_annotate agrees' '5300 hot_loop,1500 foo::bar,1000 libstripped.so+0x1080' \
		"$(annotated "$scratch/callgrind.out" | head -3 | paste -sd ,)"
	check_equal 'in all columns' '10,000 50' "$(callgrind_annotate "$scratch/callgrind.out" |
		awk '/PROGRAM TOTALS/ { print $1, $3 }')"
}

# Two runs in slices of ten minutes: how long one of them lasted is known.
make_run_database()
{
	"$build/tests/system/make_database" "$scratch/runs" <<-END
		event cpu-clock cycles ns 4000000 yes -
		image user 7777777777777777 /opt/work
		context work / run.1
		context work / old
		epoch 1795276000 -
		count cpu-clock 0 0 0x1000 500
		ran run.1 1795276100 1795276102 2
		slice 1795276000 1795276600
		epoch 1795276600 -
		count cpu-clock 0 1 0x1000 500
		slice 1795276600 1795277200
	END
}

# said_of LABEL - start, duration and what is said of that in what is exported of it
said_of()
{
	dcpiexport --db "$scratch/runs" --label "$1" --pprof "$scratch/label.pb.gz"
	go tool pprof -raw "$scratch/label.pb.gz" 2>/dev/null |
		sed -nE 's/^Time: ([^ .]* [0-9:]*).*/\1/p; s/^Duration: ([^,]*).*/\1/p; s/^Comment: (the duration is that of the slices).*/\1/p' |
		paste -sd ' '
}

look_at_pprof()
{
	local file=$scratch/figure.pb.gz

	command -v go >/dev/null || {
		skip 'pprof agrees' 'golang-go is not installed'
		return
	}
	dcpiexport --db "$db" --pprof "$file"
	check_equal 'pprof shows the same' "$(cat "$here/expected/dcpiexport/top")" "$(top "$file" | head -5)"
	check_equal 'and all of it' 10000 "$(top "$file" | awk '{ sum += $1 } END { print sum }')"
	check_equal 'also of another event' '30 60.00% foo::bar' "$(top "$file" -sample_index=page-faults | head -1)"
	check_equal 'and as time' '21.20s 53.00% hot_loop' "$(top "$file" -sample_index=cpu-clock-time | head -1)"
	check_equal 'images have their build-ids' "$scratch/libfigure.so 1111111111111111" \
		"$(go tool pprof -raw "$file" 2>/dev/null | grep -o "$scratch/libfigure.so 1[^ ]*")"
	dcpiexport --db "$scratch/work" --pprof - >"$scratch/work.pb.gz"
	make_run_database || return
	check_equal 'of a label, the duration is that of its runs' '2026-11-21 15:48:20 2s' "$(said_of run.1)"
	check_equal 'where it is not known, that of slices, which a comment says' \
		'the duration is that of the slices 2026-11-21 15:56:40 10m0' "$(said_of old)"
	check_equal 'by line' $'40 work /src/work.c:10\n30 work /src/work.c:11\n7 work /src/inline.h:5' \
		"$(top "$scratch/work.pb.gz" -lines | awk '$3 == "work" { print $1, $3, $4 }')"
}

look_at_files()
{
	local file=$scratch/again.pb.gz

	dcpiexport --db "$db" --pprof "$file"
	check 'the same profile is the same file' cmp "$scratch/figure.pb.gz" "$file"
	check_equal 'nothing is left beside it' "$file" "$(ls "$file"*)"
	ln -s again.pb.gz "$scratch/link.pb.gz"
	dcpiexport --db "$scratch/work" --pprof "$scratch/link.pb.gz"
	check 'a symbolic link stays one' test -h "$scratch/link.pb.gz"
	check 'and what it leads to is replaced' cmp "$scratch/work.pb.gz" "$file"
	check 'what is no file is written to' dcpiexport --db "$db" --pprof /dev/null --folded /dev/null
	check 'and stays what it is' test -c /dev/null
	check_fails 'a directory that is none' 1 'No such file or directory' dcpiexport --db "$db" --folded /nowhere/f
	check_fails 'a disk that is full' 1 'No space left' dcpiexport --db "$db" --folded /dev/full
	mount_or_skip 16k "$scratch/small" 'a full disk keeps the old file' || return
	echo old >"$scratch/small/f"
	head -c 20000 /dev/zero >"$scratch/small/fill" 2>/dev/null
	check_fails 'a file that does not fit' 1 'No space left' dcpiexport --db "$db" --folded "$scratch/small/f"
	check_equal 'leaves the old one' old "$(cat "$scratch/small/f")"
	check_equal 'and nothing else' $'f\nfill' "$(ls "$scratch/small")"
}

look_at_refusals()
{
	check_fails 'no format' 2 'in which format?' dcpiexport --db "$db"
	check_fails 'two things to standard output' 2 'one thing only' dcpiexport --db "$db" --folded - --callgrind -
	check_fails 'and JSON is one' 2 'one thing only' dcpiexport --db "$db" --folded - --json
	check_fails 'stacks of two events' 2 'one event' \
		dcpiexport --db "$db" --folded - --event cpu-clock --event page-faults
	check_fails 'an event that is none' 2 "no event 'sickles'" dcpiexport --db "$db" --folded - --event sickles
	check_fails 'an image that is none' 4 'did you mean libfigure.so?' dcpiexport --db "$db" --folded - libfigur.so
	check_fails 'no database' 1 'there is no profile database here' dcpiexport --db "$scratch" --folded -
	check 'a terminal takes no binary' grep -q 'no text for a terminal' \
		<(script -qec "dcpiexport --db $db --pprof -" /dev/null </dev/null)
	dcpiexport --db "$db" --folded "$scratch/f" --json >"$scratch/json"
	check 'JSON says what was written' json_holds ".schema == \"dcpiexport/1\" and .samples[\"cpu-clock\"] == 10000 and
		.files == [{format: \"folded\", path: \"$scratch/f\"}] and .procedures == 13" "$scratch/json"
}

# samples_by_name DB [OPTION...] - "SAMPLES NAME" of each procedure, by dcpiprof; names that are there twice are added up
samples_by_name()
{
	dcpiprof --db "$1" --json "${@:2}" | jq -r '.events[0].name as $event |
		([.rows[] | {name: .procedure, count: .counts[$event]}] +
			[.unknown | to_entries[] | {name: "[unknown: \(.key)]", count: .value}]) | group_by(.name)[] |
		"\(map(.count) | add) \(.[0].name)"' | grep -v '^0 ' | sort
}

# What this machine does, with its libraries, its kernel, C++: procedure by procedure.
compare_with_dcpiprof()
{
	may_sample_or_skip 'what was sampled here is exported to the sample' || return
	start "$build/workloads/templates" 60
	dcpid --foreground --db "$scratch/live" --seconds 3 2>"$scratch/live.log" || {
		not_ok 'this machine is sampled' "$(cat "$scratch/live.log")"
		return
	}
	samples_by_name "$scratch/live" >"$scratch/expected"
	samples_by_name "$scratch/live" --no-demangle >"$scratch/linked"
	dcpiexport --db "$scratch/live" --pprof "$scratch/live.pb.gz"
	dcpiexport --db "$scratch/live" --callgrind "$scratch/live.callgrind" --no-demangle
	check 'there is something to compare' test "$(wc -l <"$scratch/expected")" -ge 10
	check_equal 'pprof has each procedure with its samples' "$(cat "$scratch/expected")" \
		"$(top "$scratch/live.pb.gz" | sed 's/ [^ ]*//' | sort)"
	check_equal 'and so has callgrind_annotate' "$(cat "$scratch/linked")" \
		"$(annotated "$scratch/live.callgrind" | sort)"
}

# perf record -> dcpimport -> dcpiexport -> pprof: procedure by procedure what perf report counts.
go_round_with_perf()
{
	local file=$scratch/perf.data

	perf record -q --buildid-mmap -e cpu-clock -c 500000 -o "$file" -- "$build/workloads/shares" 2 >/dev/null 2>&1 || {
		skip 'what perf recorded is exported as perf reports it' 'perf record is refused here'
		return
	}
	dcpimport --db "$scratch/perf" "$file" >"$scratch/said" 2>&1
	dcpiexport --db "$scratch/perf" --pprof "$scratch/perf.pb.gz" --no-demangle shares
	perf report -i "$file" --stdio -g none -n --percent-limit 0 -d shares -s sym 2>/dev/null |
		awk '$3 == "[.]" { print $2, $4 }' | sort >"$scratch/expected"
	check 'perf reports what was recorded' test "$(awk '{ sum += $1 } END { print sum + 0 }' "$scratch/expected")" -ge 100
	check_equal 'what perf recorded is exported as perf reports it' "$(cat "$scratch/expected")" \
		"$(top "$scratch/perf.pb.gz" | awk '{ print $1, $3 }' | sort)"
}

# perf_folded FILE - the stacks of perf script that have no frame in the kernel, folded
perf_folded()
{
	perf script -i "$1" --comm calls --no-inline -F comm,ip,sym,dso 2>/dev/null | awk '
		NF == 1 { next }
		NF == 0 {
			if (stack != "" && !kernel)
				stacks[stack]++
			stack = ""; kernel = 0; next
		}
		{ kernel = kernel || /kernel/; stack = stack == "" ? $2 : $2 ";" stack }
		END { for (stack in stacks) print stack, stacks[stack] }' | LC_ALL=C sort
}

# inclusive_by_callgrind FILE - "SAMPLES PROCEDURE"
inclusive_by_callgrind()
{
	callgrind_annotate --threshold=100 --auto=no --inclusive=yes "$1" |
		sed -nE '/file:function/,$ { s/^ *([0-9,]+) \([^)]*\) *[^:]*:([^ ]*) .*/\1 \2/p }' | tr -d , | sort
}

# Call stacks of a program with known calls: a tree, a procedure that calls itself, and two callers of one.
export_stacks()
{
	local stacks=$scratch/stacks all names='^(main|parse|scan|build|descend)$'

	perf record -q -g -e cpu-clock -c 2000000 -o "$stacks.data" -- "$build/workloads/calls" 2 >/dev/null 2>&1 || {
		skip 'call stacks are exported' 'perf record is refused here'
		return
	}
	dcpimport --db "$stacks" "$stacks.data" >/dev/null
	check 'stacks are exported in all formats' dcpiexport --db "$stacks" --stacks --no-inline --folded "$stacks.folded" \
		--pprof "$stacks.pb.gz" --callgrind "$stacks.callgrind" --event cpu-clock
	perf_folded "$stacks.data" | grep -E ';(main|parse|scan|build|descend) [0-9]*$' >"$stacks.expected"
	check 'perf script has such' grep -q ';main;build;descend;descend;descend;descend [0-9]' "$stacks.expected"
	check_equal 'folded stacks are those of perf script' "$(cat "$stacks.expected")" \
		"$(grep -E '^[^ ]*;(main|parse|scan|build|descend) [0-9]*$' "$stacks.folded" | LC_ALL=C sort)"
	all=$(dcpiexport --db "$stacks" --stacks --folded /dev/null --json | jq '.samples["cpu-clock.stacks"]')
	check_equal 'all are there' "$all" "$(awk '{ n += $NF } END { print n }' "$stacks.folded")"
	dcpiprof --db "$stacks" --inclusive --no-inline --least 0 --json >"$stacks.json"
	jq -r --arg names "$names" '.rows[] | select(.procedure | test($names)) | "\(.samples) \(.procedure)"' "$stacks.json" |
		sort >"$stacks.inclusive"
	jq -r --arg names "$names" '.rows[] | select(.own > 0 and (.procedure | test($names))) | "\(.own) \(.procedure)"' \
		"$stacks.json" | sort >"$stacks.own"
	check 'dcpiprof has the five procedures' [ "$(wc -l <"$stacks.inclusive")" = 5 ]
	if command -v go >/dev/null; then
		check_equal 'pprof adds up what is called as dcpiprof does' "$(cat "$stacks.inclusive")" \
			"$(go tool pprof -top -cum -nodecount=1000000 -nodefraction=0 "$stacks.pb.gz" 2>/dev/null |
				sed '1,/flat%/d' | awk -v names="$names" '$6 ~ names { print $4, $6 }' | sort)"
		check_equal 'and what is not' "$(cat "$stacks.own")" \
			"$(top "$stacks.pb.gz" | awk -v names="$names" '$3 ~ names && $1 { print $1, $3 }' | sort)"
	else
		skip 'pprof adds up stacks' 'golang-go is not installed'
	fi
	if command -v callgrind_annotate >/dev/null; then
		check_equal 'callgrind_annotate adds up what is called' "$(cat "$stacks.inclusive")" \
			"$(inclusive_by_callgrind "$stacks.callgrind" | grep -E " (main|parse|scan|build|descend)$")"
		check_equal 'and what is not' "$(cat "$stacks.own")" \
			"$(annotated "$stacks.callgrind" | grep -E " (main|parse|scan|build|descend)$" | sort)"
	else
		skip 'callgrind_annotate adds up stacks' 'valgrind is not installed'
	fi
	check_equal 'what is selected by the image that was running' "$(grep -cE ';(main|parse|scan|build|descend) ' "$stacks.folded")" \
		"$(dcpiexport --db "$stacks" --stacks --no-inline --folded - calls 2>/dev/null | wc -l)"
	check_equal 'without --stacks, procedures have no callers' 0 \
		"$(dcpiexport --db "$stacks" --folded - 2>/dev/null | grep -c ';main;')"
	perf record -q -g -e cpu-clock -c 2000000 -o "$stacks.data" -- "$build/workloads/calls" 1 300 >/dev/null 2>&1
	dcpimport --db "$stacks.deep" "$stacks.data" >/dev/null
	dcpiexport --db "$stacks.deep" --stacks --no-inline --folded "$stacks.folded" --pprof "$stacks.pb.gz" --callgrind "$stacks.callgrind"
	check 'what is too deep begins with the cause' grep -q '^\[truncated: depth\];descend;' "$stacks.folded"
	check_equal 'and is a caller for callgrind' "$(awk '/^\[truncated: depth/ { n += $NF } END { print n + 0 }' "$stacks.folded")" \
		"$(callgrind_annotate --threshold=100 --auto=no --inclusive=yes "$stacks.callgrind" |
			awk '/truncated: depth/ { gsub(",", "", $1); print $1 }')"
	check_equal 'and for pprof' "$(awk '/^\[truncated: depth/ { n += $NF } END { print n + 0 }' "$stacks.folded")" \
		"$(go tool pprof -top -cum -nodecount=1000000 -nodefraction=0 "$stacks.pb.gz" 2>/dev/null |
			awk '/truncated: depth/ { print $4 }')"
	check_fails 'where there are no stacks' 4 'no call stacks in what was selected' \
		dcpiexport --db "$db" --stacks --folded -
}

check 'the database is made' make_figure_database "$db" || exit 1
check 'and another, with lines' make_work_database || exit 1
look_at_folded
look_at_callgrind
look_at_pprof
look_at_files
look_at_refusals
compare_with_dcpiprof
go_round_with_perf
# What the compiler inlined is a line of a location, and a frame of its own.
export_inlined()
{
	local stacks=$scratch/inlined names='^(main|pack|digest|mix|unpack)$'

	perf record -q --call-graph dwarf -e cpu-clock -c 2000000 -o "$stacks.data" -- "$build/workloads/inlined" 2 >/dev/null 2>&1 || {
		skip 'inlined procedures are exported' 'perf record is refused here'
		return
	}
	dcpimport --db "$stacks" "$stacks.data" >/dev/null
	dcpiexport --db "$stacks" --stacks --folded "$stacks.folded" --pprof "$stacks.pb.gz"
	check 'inlined procedures are frames' grep -q ';main;pack;digest;unpack;digest;mix [0-9]' "$stacks.folded"
	check_equal 'unless they are not wanted' '' \
		"$(dcpiexport --db "$stacks" --stacks --no-inline --folded - 2>/dev/null | grep -E 'digest|mix')"
	dcpiprof --db "$stacks" --inclusive --least 0 --json >"$stacks.json"
	if ! command -v go >/dev/null; then
		skip 'pprof has inlined procedures' 'golang-go is not installed'
		return
	fi
	check_equal 'pprof adds up what is inlined as dcpiprof does, once a sample' \
		"$(jq -r --arg names "$names" '.rows[] | select(.procedure | test($names)) | "\(.samples) \(.procedure)"' "$stacks.json" | sort)" \
		"$(go tool pprof -top -cum -nodecount=1000000 -nodefraction=0 "$stacks.pb.gz" 2>/dev/null |
			awk -v names="$names" '{ sub(/ \(inline\)$/, "") } $6 ~ names { print $4, $6 }' | sort)"
	check 'pprof says where it was called' grep -Eq 'digest .*inlined\.c:[0-9]+' \
		<(go tool pprof -traces -lines "$stacks.pb.gz" 2>/dev/null)
}

# What is selected has the stacks that were sampled of it, and only these; also after slices were merged and compacted.
select_stacks()
{
	local made=$scratch/selected_stacks

	check 'a database with stacks of two hosts is made' "$build/tests/system/make_database" "$made" <<-'END'
		event cpu-clock cycles ns 2000000 yes -
		event cpu-clock.stacks cycles ns 20000000 yes -
		image kernel aabb [kernel]
		context web /app.slice/web run.1
		context db /app.slice/db run.2
		context db /app.slice/db -
		host alpha
		epoch 1795271400 one
		count cpu-clock 0 0 0x10 10
		stack cpu-clock.stacks 0 1 0+0x10 0+0x20
		stack cpu-clock.stacks 1 2 0+0x10 0+0x30
		slice 1795271400 1795272000
		stack cpu-clock.stacks 0 4 0+0x10 0+0x20
		stack cpu-clock.stacks 2 8 0+0x10 0+0x20 0+0x30
		slice 1795272000 1795272600
		symbols 0 0x10 outer 0x20 middle 0x30 inner
		host beta
		epoch 1795273000 two
		stack cpu-clock.stacks 1 16 0+0x10 0+0x30
		slice 1795273000 1795273600
	END
	selected "$made"
	dcpictl --db "$made" compact >/dev/null
	selected "$made"
}

# selected DATABASE
selected()
{
	local options expected

	while IFS='|' read -r options expected; do
		# shellcheck disable=SC2086 # options are words
		check_equal "stacks of ${options:-the latest epoch}" "${expected//, /$'\n'}" \
			"$(dcpiexport --db "$1" --stacks --folded - $options 2>/dev/null | LC_ALL=C sort)"
	done <<-'END'
		|outer;inner 16
		--epoch=one|outer;inner 2, outer;middle 5, outer;middle;inner 8
		--epoch=all|outer;inner 18, outer;middle 5, outer;middle;inner 8
		--epoch=all --comm=web|outer;middle 5
		--epoch=all --comm=d*|outer;inner 18, outer;middle;inner 8
		--epoch=all --cgroup=/app.slice/web|outer;middle 5
		--epoch=all --label=run.2|outer;inner 18
		--epoch=all --host=alpha --label=run.*|outer;inner 2, outer;middle 5
		--epoch=all --host=beta|outer;inner 16
		--epoch=all --since=@1795272000 --until=@1795273000|outer;middle 4, outer;middle;inner 8
		--epoch=one --until=@1795272000 --comm=web|outer;middle 1
	END
	check_equal 'dcpiprof --tree adds up the same' 'outer 26, inner 18, middle 8, inner 8' \
		"$(dcpiprof --db "$1" --epoch all --tree --comm db --json | jq -r '[.rows[] | "\(.procedure) \(.samples)"] | join(", ")')"
}

export_stacks
export_inlined
select_stacks
[ $failures = 0 ]
