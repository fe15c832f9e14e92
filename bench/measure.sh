# shellcheck shell=bash
# measure.sh - how beside_perf reads the meters, keeps figures, and prints them

# Globals of tests/system/lib.sh and beside_perf, and for it:
# shellcheck disable=SC2154,SC2034

# begin_meter PID - from now on cpu_ns counts it, its children and theirs, the ended ones, too: the kernel's own count, of a group
begin_meter()
{
	local pid

	[ -n "$meter" ] || meter=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/dcpi-bench-$$
	mkdir -p "$meter" || exit
	echo "$1" >"$meter/cgroup.procs" || exit
	for pid in $(pgrep -P "$1"); do
		echo "$pid" 2>/dev/null >"$meter/cgroup.procs" # unless it has ended meanwhile
	done
}

# end_meter - when they have ended
end_meter()
{
	rmdir "$meter"
}

# cpu_ns - sets $ns to their processor time since begin_meter
cpu_ns()
{
	ns=$(($(sed -n 's/^usage_usec //p' "$meter/cpu.stat") * 1000))
}

# children_ms - sets $ms to the processor time of all children waited for so far
children_ms()
{
	local user system

	times >"$scratch/times"
	{
		read -r _
		read -r user system
	} <"$scratch/times"
	to_ms "$user"
	user=$ms
	to_ms "$system"
	ms=$((user + ms))
}

# to_ms 0m0.123s
to_ms()
{
	local rest=${1#*m}

	rest=${rest%s}
	ms=$((${1%%m*} * 60000 + 10#${rest/./}))
}

# time_answer TOOL - the better of two: the files are in memory then for both
time_answer()
{
	local begin best_cpu='' best='' before ms

	for _ in 1 2; do
		children_ms
		before=$ms
		begin=${EPOCHREALTIME/./}
		answer "$1"
		answer_ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
		children_ms
		if [ -z "$best" ] || [ $answer_ms -lt "$best" ]; then
			best=$answer_ms best_cpu=$((ms - before))
		fi
	done
	answer_ms=$best
	answer_cpu_ms=$best_cpu
}

uptime_s()
{
	cut -d ' ' -f 1 /proc/uptime
}

memory_kib()
{
	sed -n "s/^$2:[[:space:]]*\\([0-9]*\\) kB/\\1/p" "/proc/$1/status"
}

file_bytes()
{
	du -s --block-size=1 "$1" | cut -f 1
}

perf_times()
{
	perf script -i "$1" -F time 2>/dev/null
}

perf_lost()
{
	perf report -i "$1" --stdio --sort dso 2>/dev/null | sed -n 's/^# Total Lost Samples: //p'
}

# busy_percent SECONDS - of all CPUs, while we do nothing
busy_percent()
{
	local before after

	before=$(head -n 1 /proc/stat)
	sleep "$1"
	after=$(head -n 1 /proc/stat)
	awk '{ for (i = 2; i <= 9; i++) { all[NR] += $i }; idle[NR] = $5 + $6 }
		END { printf "%.0f", 100 - 100 * (idle[2] - idle[1]) / (all[2] - all[1]) }' \
		<<<"$before"$'\n'"$after"
}

# note LOAD TOOL FIGURE VALUE
note()
{
	echo "$*" >>"$scratch/figures"
}

# median LOAD TOOL FIGURE
median()
{
	awk -v key="$1 $2 $3" '$1 " " $2 " " $3 == key { print $4 }' "$scratch/figures" | sort -n |
		awk '{ all[NR] = $1 } END { if (NR) print (all[int((NR + 1) / 2)] + all[int(NR / 2) + 1]) / 2; else print 0 }'
}

# cells FORMAT LOAD FIGURE [DIVISOR] - dcpid's median, perf's, and their ratio
cells()
{
	awk -v format="$1" -v ours="$(median "$2" dcpid "$3")" -v theirs="$(median "$2" perf "$3")" -v unit="${4:-1}" '
		BEGIN { printf format " | " format " | ", ours / unit, theirs / unit
			if (theirs > 0) printf "%.2f |\n", ours / theirs; else print "- |" }'
}

row()
{
	printf '| %s | ' "$1"
	shift
	cells "$@"
}

# name_of LOAD
name_of()
{
	case $1 in
	dense) echo "steady, 20,000 samples/s per CPU" ;;
	sparse) echo "steady, 500 samples/s per CPU" ;;
	fork_storm) echo 'fork storm' ;;
	*) echo "$1" ;;
	esac
}

print_table()
{
	local load=$1

	printf '\n### Load: %s\n\n' "$(name_of "$load")"
	printf '| | dcpid | perf record | ratio |\n|---|---:|---:|---:|\n'
	[ "$first_seconds" = 0 ] || row "processor time in the first $first_seconds s, ns a sample" %d "$load" first_ns_a_sample
	row 'samples while measured' %d "$load" samples
	row 'processor time, ns a sample' %d "$load" ns_a_sample
	row 'processor time, % of one CPU' %.3f "$load" cpu_ppm 10000
	row 'whole run: start, collection, stop, CPU ms' %d "$load" whole_ms
	row 'answer (dcpiprof / perf report), CPU ms' %d "$load" answer_ms
	awk -v a="$(median "$load" dcpid whole_ms)" -v b="$(median "$load" dcpid answer_ms)" \
		-v c="$(median "$load" perf whole_ms)" -v d="$(median "$load" perf answer_ms)" \
		'BEGIN { printf "| whole run and answer, CPU ms | %d | %d | %.2f |\n", a + b, c + d, (a + b) / (c + d) }'
	row 'answer, wall ms' %d "$load" answer_wall_ms
	row 'on disk at the end, KiB' %d "$load" bytes 1024
	row 'resident at the begin, KiB' %d "$load" rss_begin
	row 'resident at the end, KiB' %d "$load" rss_end
	row 'resident, peak, KiB' %d "$load" rss_peak
	row 'samples lost' %d "$load" lost
}

print_results()
{
	local load

	cat <<-END

	Measured $began with \`bench/beside_perf --rate $rate --first-seconds $first_seconds --seconds $seconds --repetitions $repetitions --loads "$loads"
	--dense-seconds $dense_seconds --sparse-seconds $sparse_seconds --disk-rate $disk_rate --disk-seconds $disk_seconds --ten-seconds $ten_seconds
	--storm-seconds $storm_seconds --sysprof-seconds $sysprof_seconds\`; medians of $repetitions runs of each tool, in
	turn (one run of what follows after the loads at this rate). Processor time is that of the tool and its children from when it
	samples: of dcpid without its start, which *whole run* has.

	- Machine: $(nproc) x $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r), $(
		sed -n 's/^Hypervisor vendor: *//p' <(lscpu))
	- perf: $(perf --version | cut -d ' ' -f 3)
	- Load before it began: $load_before; ${cpu_before} % of the processor time was other programs'.
	END
	for load in steady shell compile fork_storm python idle dense sparse; do
		[ "$(median $load dcpid whole_ms)" = 0 ] || print_table $load
	done
	print_disk
	print_ten_million
	print_storm
	print_sysprof
	echo
	[ -s "$scratch/rooms" ] || return 0
	printf '### Single rooms\n\n```\n'
	cat "$scratch/rooms"
	printf '```\n\n'
}

measure_rooms()
{
	local bench=$build/bench

	echo '$ stream_bench: from the rings to the sink'
	"$bench/stream_bench"
	printf '\n$ lives_bench: the records of short processes, as a fork storm has them\n'
	"$bench/lives_bench"
	printf '\n$ attribution_bench: 500 processes, 1000 images\n'
	"$bench/attribution_bench"
	printf '\n$ flush_bench: 10 million samples\n'
	"$bench/flush_bench" "$scratch" ten
	printf '\n$ symbols_bench\n'
	"$bench/symbols_bench" "$build/bin/dcpid" /bin/bash "$(gcc -print-prog-name=cc1)" | sed "s|$build/||"
}

# replace_between_markers FILE RESULTS [NAME] - what lies between "<!-- NAME begin -->" and "<!-- NAME end -->"
replace_between_markers()
{
	local name=${3:-results}

	awk -v results="$2" -v begin="<!-- $name begin -->" -v end="<!-- $name end -->" '
		$0 == begin { print; while ((getline line < results) > 0) print line; skip = 1 }
		$0 == end { skip = 0 }
		!skip && $0 != begin' "$1" >"$scratch/new.md" &&
		grep -qxF "<!-- $name end -->" "$scratch/new.md" && cat "$scratch/new.md" >"$1"
}
