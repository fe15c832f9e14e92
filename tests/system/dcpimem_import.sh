#!/bin/bash
# dcpimem import: of recordings of perf mem and perf c2c, and of what Arm's SPE wrote, the counts are those of perf's own
# reports; what threads share falsely has its name and its verdict; bad input gets a sentence
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

shared=${PERF_RECORDINGS:-$top/../shared/perfdata}
recorder=$build/tests/system/mem_recording
db=$scratch/db

import()
{
	dcpimem import --no-db "$@"
}

# What perf c2c report counts, by our names, one a line.
c2c_counts()
{
	perf c2c report --stats --stdio -i "$1" 2>"$scratch/perf.errors" | awk -F ':' '
		BEGIN {
			key["Total records"] = "samples"
			key["Locked Load/Store Operations"] = "locked"
			key["Load Operations"] = "loads"
			key["Loads - uncacheable"] = "load_uncacheable"
			key["Loads - IO"] = "load_io"
			key["Loads - Miss"] = "load_miss"
			key["Loads - no mapping"] = "load_no_address"
			key["Load Fill Buffer Hit"] = "load_fill_buffer"
			key["Load L1D hit"] = "load_l1"
			key["Load L2D hit"] = "load_l2"
			key["Load LLC hit"] = "load_llc"
			key["Load Local HITM"] = "load_local_hitm"
			key["Load Remote HITM"] = "load_remote_hitm"
			key["Load Remote HIT"] = "load_remote_hit"
			key["Load Local DRAM"] = "load_local_dram"
			key["Load Remote DRAM"] = "load_remote_dram"
			key["Load MESI State Exclusive"] = "load_exclusive"
			key["Load MESI State Shared"] = "load_shared"
			key["Load access blocked by data"] = "blocked_by_data"
			key["Load access blocked by address"] = "blocked_by_address"
			key["Load HIT Local Peer"] = "load_local_peer"
			key["Load HIT Remote Peer"] = "load_remote_peer"
			key["Store Operations"] = "stores"
			key["Store - uncacheable"] = "store_uncacheable"
			key["Store - no mapping"] = "store_no_address"
			key["Store L1D Hit"] = "store_l1_hit"
			key["Store L1D Miss"] = "store_l1_miss"
			key["Store No available memory level"] = "store_no_level"
			key["No Page Map Rejects"] = "no_mapping"
			key["Unable to parse data source"] = "not_parsed"
		}
		/Global Shared Cache Line/ {
			exit
		}
		{
			gsub(/^ +| +$/, "", $1)
			if ($1 in key)
				print key[$1], $2 + 0
		}' | sort
}

our_counts()
{
	import --json "$1" 2>&1 | jq -r '.served_by | to_entries[] | select(.key != "weight" and .key != "levels") |
		"\(.key) \(.value)"' | sort
}

# Samples and weight by level, as perf mem report has them, of all events together.
perf_levels()
{
	perf report --mem-mode -F sample,period,mem --stdio -t '|' -i "$1" 2>"$scratch/perf.errors" | awk -F '|' '
		/^#/ || NF < 3 {
			next
		}
		{
			level = $3 ~ /^ *(L1|LFB|L2|L3)/ ? $3 : $3 ~ /RAM|Ram/ ? "memory" : $3 ~ /Remote/ ? "remote cache" : "not known"
			sub(/^ */, "", level)
			if (level ~ /^L/)
				level = level ~ /^LFB/ ? "fill buffer" : substr(level, 1, 2)
			if (level == "memory")
				level = ($3 ~ /Remote/ ? "remote " : "local ") level
			samples[level] += $1
			weight[level] += $2
		}
		END {
			for (level in samples)
				print level ":", samples[level], weight[level]
		}' | sort
}

our_levels()
{
	import --json "$1" 2>&1 | jq -r '.served_by.levels[] | "\(.level): \(.samples) \(.weight)"' | sort
}

perf_weight()
{
	perf mem report --stdio -i "$1" 2>"$scratch/perf.errors" |
		awk '/^# Total weight :/ { sum += $NF } END { print sum }'
}

# compare FILE NAME: [levels]
compare()
{
	check_equal "$2: counts are those of perf c2c report" "$(c2c_counts "$1")" "$(our_counts "$1")"
	check_equal "$2: there are 30 of them" 30 "$(our_counts "$1" | wc -l)"
	check_equal "$2: the weight is that of perf mem report" "$(perf_weight "$1")" \
		"$(import --json "$1" 2>&1 | jq .served_by.weight)"
	[ -z "${3-}" ] || check_equal "$2: levels are those of perf mem report" "$(perf_levels "$1")" "$(our_levels "$1")"
}

# The verdict of an object: $1 the report as JSON.
verdict()
{
	jq -r --arg name "$2" '.objects[] | select(.object == $name) | .verdict' "$1"
}

look_at_written()
{
	local kind file

	for kind in intel amd arm; do
		file=$scratch/$kind.data
		check "a recording as of $kind is written" "$recorder" "$kind" "$file"
		compare "$file" "$kind" levels
		import --json --output "$scratch/$kind.json" "$file"
		check_equal "$kind: words of threads in one line are to be padded" pad "$(verdict "$scratch/$kind.json" thread_counts)"
		check_equal "$kind: a word that all read is to be split off" split "$(verdict "$scratch/$kind.json" shared_state)"
		check_equal "$kind: what is on one node is to be interleaved" interleave \
			"$(verdict "$scratch/$kind.json" on_one_node)"
		check_equal "$kind: what is on all nodes is not" nothing "$(verdict "$scratch/$kind.json" on_all_nodes)"
	done
	check_equal 'of four nodes, it is known which one has the memory' 1 \
		"$(jq -r '.objects[] | select(.object == "on_one_node") | .why' "$scratch/amd.json" | grep -c 'of node 3')"
	check_equal 'and of remote accesses, that it is not known' true \
		"$(jq '.all | .to_unknown > 0 and .to_unknown == .remote' "$scratch/amd.json")"
	check "everything that a sample can say is written" "$recorder" all "$scratch/all.data"
	compare "$scratch/all.data" 'everything'
	check "a recording without nodes is written" "$recorder" intel "$scratch/nodeless.data" without-nodes
	import --json --output "$scratch/nodeless.json" "$scratch/nodeless.data"
	check_equal 'without nodes, no placement is named, but false sharing is' 'nothing pad' \
		"$(verdict "$scratch/nodeless.json" on_one_node) $(verdict "$scratch/nodeless.json" thread_counts)"
}

# Accesses as perf decodes them, in its order: process/thread [CPU] time address data-source weight instruction.
perf_accesses()
{
	perf script --itrace=M --ns -F pid,tid,cpu,time,ip,addr,weight,data_src -i "$1" 2>"$scratch/perf.errors" |
		awk '{ print $1, $2, $3, $4, $5, $(NF - 1), $NF }'
}

# look_at_spe KIND [by-events]: a model that says by events what served an access has levels' numbers, too, which perf 6.1
# leaves out of the data source.
look_at_spe()
{
	local file=$scratch/$1.data columns=1-7 atomics is_6_1

	is_6_1=$(perf version | grep -c ' 6\.1\.')
	atomics=$("$recorder" "$1" "$file")
	check_equal "a recording as of $1 is written" 0 $?
	[ -z "${2-}" ] && [ "$is_6_1" = 1 ] || columns=1-4,6-7
	perf_accesses "$file" >"$scratch/perf.accesses"
	check "$1: perf decodes it" test "$(wc -l <"$scratch/perf.accesses")" -gt 10000
	check_equal "$1: threads, times, addresses and sources of accesses are as perf has them" \
		"$(cut -d ' ' -f $columns "$scratch/perf.accesses" | md5sum)" \
		"$("$build/tests/system/show_accesses" "$file" | cut -d ' ' -f $columns | md5sum)"
	if [ "$is_6_1" = 1 ]; then
		check_equal "$1: counts are those of perf c2c report, but for atomics" \
			"$(c2c_counts "$file" | grep -v ^locked)" "$(our_counts "$file" | grep -v ^locked)"
	else
		skip "$1: what served accesses of SPE" 'versions of perf differ in this, and ours follows 6.1'
	fi
	check_equal "$1: there are 30 of them" 30 "$(our_counts "$file" | wc -l)"
	check_equal "$1: atomics are locked" "locked ${atomics:-0}" "$(our_counts "$file" | grep ^locked)"
	check_equal "$1: the weight is that of perf report --mem-mode" \
		"$(perf report --mem-mode --itrace=M --stdio -i "$file" 2>"$scratch/perf.errors" |
			awk '/^# Total weight :/ { sum += $NF } END { print sum }')" \
		"$(import --json "$file" 2>&1 | jq .served_by.weight)"
}

look_at_bad_spe()
{
	local file=$scratch/spe.data at

	check 'a recording whose ticks have no time is written' "$recorder" spe-timeless "$scratch/timeless.data"
	import "$scratch/timeless.data" >"$scratch/out" 2>&1
	check_equal 'it has no accesses' 4 $?
	check_equal 'and that is said' 1 "$(grep -c "timeless.data: what Arm's SPE wrote has no times, or nothing says" "$scratch/out")"
	check_equal 'records of SPE cannot be put in order from a pipe' \
		"dcpimem: standard input: it has what Arm's SPE wrote, which comes in the order of time from a file alone: write the pipe to a file, and import that" \
		"$(perf inject -i "$file" 2>"$scratch/perf.errors" -o - | import - 2>&1)"
	import --objects "$scratch/objects" "$file" >"$scratch/out" 2>&1
	check_equal 'nor go with objects, which have another clock' 2 $?
	check_equal 'which is said' 1 "$(grep -c "times of Arm's SPE are not those of the objects" "$scratch/out")"
	# four bytes that are no packets, instead of the context of one record
	cp "$file" "$scratch/scratched.data"
	at=$(grep -abo -m 1 $'\x71\x39\xbc\xbe' "$file" | head -n 1 | cut -d : -f 1)
	printf '\377\377\377\377' | dd of="$scratch/scratched.data" bs=1 seek=$((at + 9 + 16)) conv=notrunc status=none
	import --json --output "$scratch/scratched.json" "$scratch/scratched.data" 2>"$scratch/scratched.errors"
	check_equal 'a damaged record of SPE costs itself' "$(our_counts "$file" | awk '$1 == "samples" { print $2 - 1 }')" \
		"$(jq .served_by.samples "$scratch/scratched.json")"
	check_equal 'and is counted' 1 "$(grep -c '1 damaged records of Arm' "$scratch/scratched.errors")"
	head -c 400000 "$file" >"$scratch/cut.data"
	import --json --output "$scratch/cut.json" "$scratch/cut.data" 2>"$scratch/out"
	check_equal 'of a recording that is cut' 3 $?
	check_equal 'counts what is there' true "$(jq '.served_by.samples > 4000 and .served_by.samples < 7000' "$scratch/cut.json")"
}

look_at_spe_verdicts()
{
	import --json --output "$scratch/spe.json" "$scratch/spe.data"
	check_equal "Neoverse's SPE: words of threads in one line are to be padded" pad "$(verdict "$scratch/spe.json" thread_counts)"
	check_equal 'a word that all read is to be split off' split "$(verdict "$scratch/spe.json" shared_state)"
	import --json --output "$scratch/spe-events.json" "$scratch/spe-events.data"
	check_equal "other models' SPE: what is on one node is to be interleaved" interleave \
		"$(verdict "$scratch/spe-events.json" on_one_node)"
	check_equal 'what is on all nodes is not' nothing "$(verdict "$scratch/spe-events.json" on_all_nodes)"
}

look_at_database()
{
	local file=$scratch/intel.data

	check 'a recording becomes an epoch' dcpimem import --db "$db" --quiet "$file"
	check_equal 'of the recorded machine' 1 "$(dcpiprof --db "$db" --host other 2>&1 | grep -c '; there is rose$')"
	check_equal 'what is read from it, called as the file, is what was printed' \
		"$(jq -c '[.objects[] | [.object, .verdict, .cost, .evidence]]' "$scratch/intel.json")" \
		"$(dcpimem objects --db "$db" --epoch intel.data --json | jq -c '[.objects[] | [.object, .verdict, .cost, .evidence]]')"
	check_equal 'the function that accessed it has its name' access_memory \
		"$(dcpimem object --db "$db" thread_counts | awk '/^cycles.*function$/ { getline; print $NF }')"
	check 'the database is sound' dcpictl --db "$db" check
	check_equal 'standard input is read, too' "$(our_counts "$file")" \
		"$(import --json - <"$file" 2>&1 | jq -r '.served_by | to_entries[] | select(.key != "weight" and .key != "levels") |
			"\(.key) \(.value)"' | sort)"
}

look_at_bad_input()
{
	local size

	check "a recording of cycles is written" "$recorder" plain "$scratch/plain.data"
	check_equal 'a recording without addresses of data gets a sentence that says how to record' \
		"dcpimem: $scratch/plain.data: its events do not sample the addresses of data: 'perf mem record -a -- PROGRAM' or 'perf c2c record -a -- PROGRAM' does" \
		"$(import "$scratch/plain.data" 2>&1)"
	size=$(stat -c %s "$scratch/intel.data")
	head -c $((size / 2)) "$scratch/intel.data" >"$scratch/half.data"
	import --json --output "$scratch/half.json" "$scratch/half.data" 2>"$scratch/half.errors"
	check_equal 'a damaged recording is said to be so, with the place' 3 $?
	check_equal 'in a sentence' 1 "$(grep -c 'half.data: damaged at offset [0-9]* (0x[0-9a-f]*): .*; what came before it counts$' \
		"$scratch/half.errors")"
	check_equal 'and what came before it counts' true \
		"$(jq --slurpfile all "$scratch/intel.json" '.served_by.samples as $half | $all[0].served_by.samples as $whole |
			$half > $whole / 4 and $half < $whole' "$scratch/half.json")"
	echo nothing >"$scratch/nothing.data"
	import "$scratch/nothing.data" >"$scratch/out" 2>&1
	check_equal 'what is no recording is refused' 3 $?
	import "$scratch/missing.data" >"$scratch/out" 2>&1
	check_equal 'and what is not there' 1 $?
	import --label x "$scratch/intel.data" >"$scratch/out" 2>&1
	check_equal 'a label of what is not kept is refused' 2 $?
	mkdir "$scratch/objects"
	check 'objects go with a recording by CLOCK_MONOTONIC' import --objects "$scratch/objects" --output "$scratch/out" \
		"$scratch/intel.data"
	[ -e "$shared/perf.data.weight_struct" ] || return
	import --objects "$scratch/objects" "$shared/perf.data.weight_struct" >"$scratch/out" 2>&1
	check_equal 'and with no other' 1 "$(grep -c "'perf mem record -k CLOCK_MONOTONIC'" "$scratch/out")"
}

if command -v perf >"$scratch/out"; then
	look_at_written
	if [ -e "$shared/perf.data.weight_struct" ]; then
		compare "$shared/perf.data.weight_struct" 'a real machine' levels
	else
		skip 'the counts of a recording of a real machine' 'not there'
	fi
	look_at_database
	look_at_bad_input
	look_at_spe spe
	look_at_spe spe-all
	look_at_spe spe-events by-events
	look_at_spe spe-events-all by-events
	look_at_spe_verdicts
	look_at_bad_spe
else
	skip 'counts as perf has them' 'there is no perf'
fi
[ $failures = 0 ]
