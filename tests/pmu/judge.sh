# shellcheck shell=bash
# shellcheck disable=SC2154 # what lib.sh and pmu.sh set
# judge.sh - does what the guests left in $results say what it must? Sourced by tests/system/pmu.sh.
#
# What is expected follows from the programs (shares.c: 60, 30 and 10 %), from the guest's own accounts (CPU time, PMU
# interrupts), and from what QEMU's PMU is: it counts a cycle each nanosecond, and with -icount shift=2 an instruction
# every 4 cycles.

right=$top/$guest_build/pmu/right
counting=$top/$guest_build/pmu/counting

# number FILE FILTER - of jq
number()
{
	jq -r "$2" "$1"
}

# of_path FILE - GUEST/COLLECTION
of_path()
{
	local name=${1#"$results"/}

	echo "${name%.json}"
}

# rows FILE EVENT FILTER [taken|events] - the sum of an event's counts in the rows that pass; or of the samples as they
# were taken, or of the events that they stand for, where samples are weighted
rows()
{
	jq --arg event "$2" "[.rows[] | select($3) | .${4:-counts}[\$event] // 0] | add // 0" "$1"
}

# share_rows FILE EVENT [PERCENT [taken|events]]
share_rows()
{
	rows "$1" "$2" '(.image | endswith("/workloads/shares")) and (.procedure | startswith("share_of_'"${3:-}"'"))' "${4:-counts}"
}

# check_within SENTENCE VALUE LOW HIGH
check_within()
{
	if awk -v value="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(value != "" && value >= low && value <= high) }'; then
		ok "$1"
	else
		not_ok "$1" "$2 is not within $3 and $4"
	fi
}

of()
{
	awk "BEGIN { print $* }"
}

# Shares of 60, 30 and 10 %: a count that differs by more than 4.5 standard deviations differs not by chance (1 in
# 150,000). With $4, so many percent of the total more: in these guests a round of shares.c is about as long as a tick, and
# a period that is kept for a second may beat with it: two or three times as far off as chance (unit test of dither).
check_shares()
{
	local file=$1 event=$2 slack=${4:-0} total

	total=$(share_rows "$file" "$event")
	figure "$(of_path "$file"): $event in share_of_60, 30, 10:" \
		"$(share_rows "$file" "$event" 60) $(share_rows "$file" "$event" 30) $(share_rows "$file" "$event" 10)"
	for percent in 60 30 10; do
		check_within "$3: share_of_$percent has $percent % of the samples of its program" \
			"$(share_rows "$file" "$event" $percent)" \
			"$(of "$total * (.$percent - $slack / 100) - 4.5 * sqrt($total * .$percent * (1 - .$percent))")" \
			"$(of "$total * (.$percent + $slack / 100) + 4.5 * sqrt($total * .$percent * (1 - .$percent))")"
	done
	check "$3: that are at least 500 samples" test "$total" -ge 500
}

# check_complete FILE SENTENCE - of all events
check_complete()
{
	local samples unknown

	samples=$(number "$1" '[.events[].samples] | add')
	unknown=$(number "$1" '[.unknown[]] | add')
	[ "$unknown" = 0 ] || figure "$(of_path "$1"): unknown: $(jq -c '.unknown | map_values(select(. > 0))' "$1")"
	figure "$(of_path "$1"): $samples samples, $unknown unknown," \
		"$(number "$1" .lost) lost, throttled $(number "$1" .throttled) times"
	check_at_most "$2: at most 0.5 % of the samples are unknown" 0.5 "$(of "100 * $unknown / $samples")"
	check_equal "$2: no sample is lost" 0 "$(number "$1" .lost)"
}

# check_interrupts COLLECTION SENTENCE - every interrupt of the PMU is a sample, or was lost and counted; but for those
# by which dcpid measures what a sample costs: one each 200 us for 12 ms. One interrupt may be of both counters of cycles,
# of samples and of stacks.
check_interrupts()
{
	local interrupts told stacks

	interrupts=$(awk 'NR == 1 { before = $1 } END { print $1 - before }' "$1.interrupts")
	told=$(jq -s '([.[].events[].samples] | add) + .[0].lost' "$1.all" "$1.stacks")
	figure "$(of_path "$1"): $interrupts interrupts of the PMU, $told samples and losses"
	stacks=$(jq -s '[.[].events[].samples] | add // 0' "$1.stacks")
	check_within "$2" "$told" "$(of "$interrupts * .995 - 100")" "$(of "$interrupts * 1.005 + $stacks")"
}

# cpu_seconds COLLECTION
cpu_seconds()
{
	awk '{ print $1 + $2 }' "$1.time"
}

# of_event COLLECTION REQUESTED FIELD
of_event()
{
	jq -r --arg name "$2" ".events[] | select(.requested == \$name) | .$3" "$1.status"
}

cycles_are_right()
{
	local profile=$right/default.json shared period seconds

	check_equal 'cycles are cycles' 'cycles cycles' "$(number "$profile" '.events[0] | "\(.name) \(.unit)"')"
	check_equal 'cycles need no excuse' '' "$(of_event "$right/default" cycles note)"
	check_equal 'no precise level is claimed, as the PMU has none' 0 "$(of_event "$right/default" cycles precise)"
	check_equal 'cache-misses, which the PMU has not, are not available' false \
		"$(of_event "$right/default" cache-misses available)"
	check 'and that is said' grep -q 'cache-misses is not available here' "$right/default.txt"
	check 'the PMU interrupts as an ordinary device' grep -q 'enabled with armv8_pmuv3 PMU driver' "$right/dmesg"
	check_interrupts "$right/default" 'each interrupt of the PMU is a sample'
	check_shares "$profile" cycles default 5
	check_complete "$profile" default
	shared=$(dcpiprof --db "$right/default.db" -i --comm shares --json | jq '[.rows[].counts.cycles] | add')
	period=$(of_event "$right/default" cycles period)
	seconds=$(cpu_seconds "$right/default")
	figure "right/default: $shared samples of $period cycles in $seconds s of CPU time"
	check_within 'samples times period are the CPU time that the kernel accounts' \
		"$(of "$shared * $period / 1e9 / $seconds")" 0.9 1.05
	check 'dcpid --seconds 8 takes 8 seconds' grep -Eq 'samples in [89]\.[0-9] s' "$right/default.log"
	check_equal 'status says the same' '0 0' \
		"$(number "$right/default.status" '"\([.events[].lost] | add) \(.sideband_lost)"')"
}

# Of registers and copies of arm64. A table takes seconds to make in this guest: what was sampled before does not count.
stacks_are_whole()
{
	local tree=$scratch/stacked.json

	dcpiprof --db "$right/stacked.db" --epoch measured --tree --least 0 --comm shares --json >"$tree"
	figure "right/stacked: $(number "$tree" '"\(.stacks) stacks, truncated \(.truncated)"')"
	check_equal 'stacks are of cycles' cycles.stacks "$(number "$tree" '.events[0].name')"
	check_at_least 'stacks of arm64 are taken' 100 "$(number "$tree" .stacks)"
	check_at_least 'they reach the entry of their program, percent' 99 \
		"$(number "$tree" '100 * ([.rows[] | select(.level == 0 and .procedure == "_start") | .samples] | add // 0) / .stacks')"
	check_equal 'no stack ends at a frame that makes no sense' 0 "$(number "$tree" '.truncated["bad-frame"] // 0')"
	check_equal 'nor behind its copy' 0 "$(number "$tree" '.truncated["stack-copy"] // 0')"

	# Of the kernel's vdso for arm64, only the return from a signal has a table. Many of this PMU's overflows are noticed when a
	# system call is entered, as the one by which the vdso reads the CPU time is. The guest's libc is not here to name its
	# functions. What is left out is less of the unwinder's share, which asks for the time less often.
	"$build/tests/system/stack_list" "$right/stacked.db" measured call_tree >"$scratch/call_tree.all"
	grep -v '	!no-tables;\[vdso\];\[kernel\]' "$scratch/call_tree.all" >"$scratch/call_tree"
	figure "right/stacked: call_tree: $(awk '{ all += $1 } END { print all }' "$scratch/call_tree.all") stacks, without those that" \
		"end in the vdso $(awk '{ all += $1 } END { print all }' "$scratch/call_tree")"
	check_call_tree "$scratch/call_tree" '`0x[0-9a-f]*' 6 13
}

# With the default configuration the rate follows from what a sample was found to cost, and the period from how fast the
# CPU turned out to count: one cycle each nanosecond.
rate_follows_from_cost()
{
	local cost rate period

	cost=$(of_event "$right/default" cycles cost_ns)
	rate=$(of_event "$right/default" cycles rate)
	period=$(of_event "$right/default" cycles period)
	figure "right/default: a sample costs $cost ns; $rate samples/s of $period cycles;" \
		"$(number "$right/default.status" '.overhead | "\(.expected_percent) % of the machine expected"')"
	check_within "what a sample of a PMU's event costs is measured" "$cost" 1000 200000
	check_within 'the rate is what one percent of the CPU pays for' "$(of "$rate * $cost / 1e9")" 0.005 0.0101
	check_within 'the period makes that rate of the cycles that the CPU was seen to count' \
		"$(of "$period * $rate / 1e9")" 0.95 1.05
	check 'the doctor finds the PMU' json_holds '.findings | any(.severity == "ok" and
		(.text | test("this machine counts .*cycles.*instructions")))' "$right/doctor.json"
	check 'and no timer in its place' json_holds '.findings | all(.text | test("stands in for cycles") | not)' \
		"$right/doctor.json"
}

# in_image IMAGE PROCEDURE - its cycles
in_image()
{
	rows "$right/default.json" cycles ".image == \"$1\" and .procedure == \"$2\""
}

kernel_is_named()
{
	local name

	check 'the kernel is not where it was linked to be (KASLR)' test "$(awk '{ print $1 }' "$right/stext")" != \
		"$(awk '$3 == "_stext" { print $1 }' "$guest_root/boot/System.map-$guest_kernel")"
	for name in clear_page __arch_clear_user __arch_copy_to_user __arch_copy_from_user; do
		check "the kernel's $name is found where it works" test 10 -lt "$(in_image '[kernel]' $name)"
	done
	check 'a module that was there is named' \
		test 20 -lt "$(in_image '[lz4_compress]' LZ4_compress_fast_extState)"
	check 'a module that came later is named' \
		test 20 -lt "$(in_image '[zstd_compress]' ZSTD_compressBlock_doubleFast)"
	check 'a module in the place of another is named' \
		test 20 -lt "$(in_image '[lz4hc_compress]' LZ4HC_compress_generic)"
	# shellcheck disable=SC2016 # not ours to expand
	check_equal 'no label of the ABI is taken for a function' 0 \
		"$(rows "$right/default.json" cycles '.procedure | startswith("$")')"
}

# The guest's database, read on this machine, says what dcpiprof said there. The guest's libraries and vDSO are not here:
# of them only the number of samples is the same.
host_says_the_same()
{
	local here=$right/default.here by_image named
	# shellcheck disable=SC2016 # jq's
	by_image='[.rows | group_by(.image)[] | { image: .[0].image, cycles: ([.[].counts.cycles] | add) }]'
	named='[.rows[] | select(.image != "[vdso]" and (.image | startswith("[") or endswith("/shares")))]'

	dcpiprof --db "$right/default.db" --json >"$here"
	check_equal 'on the host the events are the same' "$(number "$right/default.json" '.events, .unknown, .lost')" \
		"$(number "$here" '.events, .unknown, .lost')"
	check_equal 'and the images' "$(number "$right/default.json" "$by_image")" "$(number "$here" "$by_image")"
	check_equal 'and the procedures of kernel, modules and program' "$(number "$right/default.json" "$named")" \
		"$(number "$here" "$named")"
}

rate_is_kept()
{
	local got

	got=$(of "$(share_rows "$counting/rate.json" cycles '' taken) / $(cpu_seconds "$counting/rate")")
	figure "counting/rate: $got samples/s of CPU time, 977 were asked for"
	check_within 'cycles by rate come at that rate' "$got" 850 1030
	# The other CPU is nearly idle and has as many samples; its periods are shorter. The guest's CPU has 1 GHz.
	got=$(of "$(share_rows "$counting/rate.json" cycles '' events) / $(cpu_seconds "$counting/rate") / 1e9")
	figure "counting/rate: samples of a varying period stand for $got of the cycles that CPU time is"
	check_within 'and stand for the cycles that they were taken of' "$got" 0.95 1.05
	# The kernel varies the period at its tick, and in this guest a round of shares.c is as long as a tick: the two beat.
	for percent in 60 30 10; do
		got=$(of "100 * $(share_rows "$counting/rate.json" cycles $percent) / $(share_rows "$counting/rate.json" cycles)")
		figure "counting/rate: share_of_$percent has $got % of the samples of its program"
		check_within "by rate: share_of_$percent has $percent %, give or take 9" "$got" $((percent - 9)) $((percent + 9))
	done
	check_complete "$counting/rate.json" 'by rate'
}

instructions_are_counted()
{
	local profile=$counting/instructions.json cycles instructions

	cycles=$(of "$(share_rows "$profile" cycles) * 1000003")
	instructions=$(of "$(share_rows "$profile" instructions) * 250007")
	figure "counting/instructions: $(of "$cycles / $instructions") cycles per instruction"
	check_within 'a busy CPU of this guest takes 4 cycles per instruction' "$(of "$cycles / $instructions")" 3.9 4.1
	check_shares "$profile" instructions 'by instructions' 5
	check_complete "$profile" 'two events at once'
	check_equal 'an event of a cache that is not there is not available' false \
		"$(of_event "$counting/instructions" LLC-load-misses available)"
}

# turns_of NAME - how often a place of odds ran, in turns, by the frequency of its block
turns_of()
{
	local program=$top/$guest_build/workloads/odds place

	place=$(($("$triplet-nm" "$program" | awk -v name="$1" '$3 == "odds" || $3 == name { printf "%s0x%s", n++ ? "+" : "", $1 }')))
	jq ".blocks[] | select(.instructions | any(.address == $place)) | .frequency.executions" "$counting/retired.calc"
}

# What samples of instructions say about odds.c, whose 20,000,000 turns are written down: absolutely, with no model of
# the pipeline. Each instruction takes 4 cycles in this guest.
retired_instructions_are_executions()
{
	local place share n turns

	dcpicalc --db "$counting/retired.db" --epoch work --cpu generic --json odds odds >"$counting/retired.calc"
	check 'samples of instructions are taken for frequencies, which are absolute' json_holds '.source == {method: "retired", epoch: null} and
		(.graph.relative | not)' "$counting/retired.calc"
	figure "counting/retired: turns, 70 %, 30 %, 95 %, 5 % of them, five times a turn:" \
		"$(for place in turn 70 30 95 5 loop; do turns_of odds_$place; done | awk '{ printf "%.0f ", $1 }')"
	turns=$(turns_of odds_turn)
	# A period is kept for about a second and varies by a twelfth: what it makes of 3 s is paid back later. And what handlers
	# of interrupts execute is the program's that they go back to: this PMU's own waits until they have ended.
	check_within '20,000,000 turns are found to be as many' "$turns" 18000000 24000000
	for place in 70:.7002:1 30:.2998:2 95:.9502:1 5:.0498:3 loop:5:4; do
		IFS=: read -r place share n <<<"$place"
		# It has n instructions, the first block of a turn 6; within 5 standard deviations of their samples.
		check_within "a block that runs $share times a turn is found to" "$(of "$(turns_of "odds_$place") / $turns")" \
			"$(of "$share * (1 - 5 * sqrt((1 / 6 + 1 / ($share * $n)) * 100003 / 20000000))")" \
			"$(of "$share * (1 + 5 * sqrt((1 / 6 + 1 / ($share * $n)) * 100003 / 20000000))")"
	done
	# Interrupts come between the emulator's blocks: one's last cycles are its successor's. The loop's block is its own.
	check_within 'an instruction takes 4 cycles in this guest' "$(number "$counting/retired.calc" '[.blocks[] | select(.actual_cycles)] |
		(map(.actual_cycles * .frequency.executions) | add) / (map((.instructions | length) * .frequency.executions) | add)')" 3.8 4.2
	check_within 'in a loop of one block, too' "$(number "$counting/retired.calc" '.blocks | max_by(.samples) |
		.actual_cycles / (.instructions | length)')" 3.6 4.4
}

raw_events_are_the_same_cycles()
{
	local profile=$counting/raw.json name cycles late all

	cycles=$(share_rows "$profile" r11)
	check 'raw cycles are counted' test "$cycles" -ge 1000
	for name in armv8_pmuv3/event=0x11/ armv8_pmuv3/cpu_cycles/; do
		check_within "$name counts what r11 counts" "$(of "$(share_rows "$profile" "$name") / $cycles")" 0.97 1.03
	done
	# The interrupt comes when the kernel lets it: of what overflowed just before a system call, after its entry.
	late=$(rows "$profile" cycles:u '.image == "[kernel]"') all=$(rows "$profile" cycles:u true)
	figure "counting/raw: $late of $all samples of cycles:u were taken in the kernel (skid)"
	check_within 'cycles:u counts what r11 counts, but for what was taken late, in the kernel' \
		"$(of "$(share_rows "$profile" cycles:u) / $cycles")" "$(of "0.97 - $late / $all")" 1.03
	check_within 'r08 counts instructions' "$(of "$(share_rows "$profile" r08) * 500009 * 4 / ($cycles * 1000003)")" 0.96 1.04
	check_complete "$profile" 'five raw events'
}

# Five events of cycles and five of instructions on the six counters and the one that counts cycles only.
multiplexing_is_told()
{
	local profile=$counting/multiplexed.json sum got cycles instructions

	sum=$(number "$profile" '[.events[].running_percent] | add')
	figure "counting/multiplexed: counted $(number "$profile" '[.events[].running_percent] | map(tostring) | join(" ")')" \
		'% of the time'
	check_equal 'ten events are counted by seven counters' 10 "$(number "$profile" '[.events[] | select(.available)] | length')"
	check 'none of them all the time' json_holds '(.events | length) == 10 and all(.events[]; .running_percent > 20 and .running_percent < 99)' "$profile"
	check_within 'for together as long as seven counters run' "$sum" 550 702
	check 'and dcpiprof says so' grep -Eq 'counted [0-9.]+% of the time' "$counting/multiplexed.txt"
	check_equal 'events that have a counter each are counted all the time' '100 100' \
		"$(number "$counting/instructions.json" '[.events[] | select(.available) | .running_percent] | map(tostring) | join(" ")')"
	cycles=$(of "$(share_rows "$profile" cycles) * 1000003 / $(number "$profile" '.events[0].running_percent')")
	instructions=$(of "$(share_rows "$profile" instructions) * 500009 / $(number "$profile" '.events[5].running_percent')")
	figure "counting/multiplexed: $(of "$cycles / $instructions") cycles per instruction"
	check_within 'scaled by that, cycles and instructions keep their ratio of 4' "$(of "$cycles / $instructions")" 3.6 4.4
	for percent in 60 30 10; do
		got=$(of "100 * $(share_rows "$profile" cycles $percent) / $(share_rows "$profile" cycles)")
		figure "counting/multiplexed: share_of_$percent has $got % of the samples of its program"
		check_within "multiplexed: share_of_$percent has $percent %, give or take 6" "$got" $((percent - 6)) $((percent + 6))
	done
	check_complete "$profile" multiplexed
}

# Its code comes from /proc/kcore, and is explained here, where that kernel does not run.
kernel_is_explained()
{
	check "the kernel's code was captured" json_holds '.capture.kernel and .capture.taken > 0' "$counting/kernel.status"
	check 'and is explained' bash -c \
		"dcpicalc --db '$counting/kernel.db' --epoch all __arch_clear_user '[kernel]' | grep -Eq 'sttr .* [1-9][0-9]* '"
}

# The kernel of a slow machine lowers kernel.perf_event_max_sample_rate by itself: when dcpid measures what a sample
# costs, or later.
lowered_limit_is_followed()
{
	local limit rate

	limit=$(cat "$counting/lowered.limit")
	rate=$(of_event "$counting/lowered" cycles rate)
	figure "counting/lowered: the kernel lowered its limit from 100000 to $limit; $rate samples/s remain of 20000;" \
		"$(number "$counting/lowered.all" '.events[0].samples') samples"
	check 'the kernel lowers its limit of samples' test "$limit" -lt 20000
	check_at_most 'dcpid lowers the rate that was asked for' 19999 "$rate"
	check 'and says why' json_holds '.events[0].note | contains("perf_event_max_sample_rate allows")' \
		"$counting/lowered.status"
	check 'samples are taken at any limit' test 1000 -lt "$(number "$counting/lowered.all" '.events[0].samples')"
	check_equal 'a limit that sinks: no sample is lost' 0 "$(number "$counting/lowered.all" .lost)"
}

# CPU 1 goes and comes back: what ran on it before, on the other meanwhile, and on it again.
hotplug_is_followed()
{
	local name got

	check_equal 'hotplug: dcpid saw CPU 1 go and come back' $'0\n0-1' "$(cat "$right/hotplug.cpus")"
	for name in before without after; do
		got=$(dcpiprof --db "$right/hotplug.db" --epoch all -i --comm "$name" --json | jq '[.rows[].counts.cycles] | add // 0')
		figure "right/hotplug: $name: $got samples of 1000003 cycles in $(cpu_seconds "$right/$name") s of CPU time"
		check_within "hotplug: $name, samples are CPU time" "$(of "$got * 1000003 / 1e9 / $(cpu_seconds "$right/$name")")" \
			0.9 1.05
	done
	check_complete "$right/hotplug.all" hotplug
}

losses_are_told()
{
	check 'what a dcpid that is held up cannot take is lost' test "$(number "$counting/lost.json" .lost)" -gt 500
	check_interrupts "$counting/lost" 'and every lost sample is counted'
	check 'and shown' grep -q "$(number "$counting/lost.json" .lost) lost" "$counting/lost.txt"

	figure "counting/throttled: $(of_event "$counting/throttled" cycles throttled) times;" \
		"$(share_rows "$counting/throttled.json" cycles) samples in $(cpu_seconds "$counting/throttled") s of CPU time"
	check 'throttling is counted' test "$(of_event "$counting/throttled" cycles throttled)" -gt 100
	check 'and in the profile' test "$(number "$counting/throttled.json" .throttled)" -gt 100
	check 'and shown' grep -Eq 'cycles .* throttled [0-9,]+ times' "$counting/throttled.txt"
	check_within 'throttled is to the rate that the kernel allows' \
		"$(of "$(share_rows "$counting/throttled.json" cycles) / $(cpu_seconds "$counting/throttled")")" 500 1100
	check_equal 'a rate above what the kernel allows is lowered' 1000 "$(of_event "$counting/throttled" instructions rate)"
	check 'and that is said' grep -q 'perf_event_max_sample_rate allows 1000' "$counting/throttled.txt"
}

storm_is_complete()
{
	local started

	started=$(cat "$right/storm.processes")
	figure "right/storm: $started processes"
	check 'a storm of processes: there was one' test "$started" -ge 40
	check_complete "$right/storm.json" 'a storm of processes'
	check_equal 'a storm of processes: no record of them is lost' 0 "$(number "$right/storm.status" .sideband_lost)"
}

# dcpix --bursts, whose replica is stepped on this architecture. The branch of one_in_four() is its second instruction.
bursts_are_right()
{
	local bursts=$top/$guest_build/pmu/bursts start all taken deviation

	start=$((0x$("$triplet-nm" "$workloads/branches" | awk '$3 == "one_in_four" { print $1 }')))
	read -r all taken deviation < <("$build/tests/system/show_edges" "$bursts/profile" bursts branches |
		awk -v from="$(printf %x $((start + 4)))" -v to="$(printf %x $((start + 16)))" '
		$1 == from { all += $3 }
		$1 == from && $2 == to { taken = $3 }
		END { print all + 0, taken + 0, all ? (taken - all / 4) / sqrt(all * 3 / 16) : 99 }')
	figure "bursts: a branch that is taken once in four: $taken of $all, $deviation standard deviations off;" \
		"$(number "$bursts/branches.json" '"\(.step_us) us a step, \(.stopped_percent) % of the time"')"
	check 'bursts: a branch is seen often enough' [ "$all" -ge 30 ]
	check_at_most 'bursts: it goes where it goes as often as it does' 4.5 "${deviation#-}"
	check_within 'bursts: a thread stands still no longer than allowed' \
		"$(number "$bursts/branches.json" .stopped_percent)" 1 52
	check_equal 'bursts: a program goes on when dcpix is killed' "$(cat "$bursts/alone") status 0, killed 6 times" \
		"$(xargs <"$bursts/killed")"
	check_equal 'bursts: handlers, breakpoints, children, blocked signals: all as without' 'rough wrong 0' \
		"$(cat "$bursts/rough")"
}

# What dcpiprof says here of the databases that came out.
read_databases()
{
	local database name epoch

	for database in "$results"/*/*.db; do
		name=${database%.db}
		epoch=work
		[ "${name##*/}" != default ] || epoch=latest
		check "$(of_path "$name"): the database is whole" dcpictl --db "$database" check
		[ -e "$name.json" ] || dcpiprof --db "$database" --epoch "$epoch" --json >"$name.json"
		[ -e "$name.txt" ] || dcpiprof --db "$database" --epoch "$epoch" --limit 40 >"$name.txt"
		dcpiprof --db "$database" --epoch all --json >"$name.all"
		dcpiprof --db "$database" --epoch all --tree --json >"$name.stacks" 2>/dev/null
	done
}

judge()
{
	read_databases
	cycles_are_right
	stacks_are_whole
	rate_follows_from_cost
	kernel_is_named
	host_says_the_same
	storm_is_complete
	hotplug_is_followed
	rate_is_kept
	instructions_are_counted
	retired_instructions_are_executions
	raw_events_are_the_same_cycles
	multiplexing_is_told
	losses_are_told
	kernel_is_explained
	lowered_limit_is_followed
	bursts_are_right
}
