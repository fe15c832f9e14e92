# shellcheck shell=bash
# long_runs.sh - what beside_perf measures beside the loads: files, ten million samples, memory, sysprof

# Globals of tests/system/lib.sh and beside_perf, and for it:
# shellcheck disable=SC2154,SC2034

# both LOAD RATE SECONDS - dcpid and perf record at once: neither changes what the other's file holds
both()
{
	local tools=()

	begin_load "$1"
	start_tool dcpid "$2"
	tools+=("$tool")
	start perf record -q -a --buildid-mmap -e cpu-clock:I -c $((1000000000 / $2 + 1)) -o "$scratch/perf.data"
	tools+=("$started")
	sleep "$3"
	for tool in "${tools[@]}"; do
		stop "$tool" INT
	done
	end_load
}

note_files()
{
	note "$1 dcpid bytes" "$(file_bytes "$scratch/db")"
	note "$1 perf bytes" "$(file_bytes "$scratch/perf.data")"
	note "$1 dcpid samples" "$(dcpiprof --db "$scratch/db" --epoch all --json | jq '.events[0].samples')"
	note "$1 dcpid lost" "$(dcpiprof --db "$scratch/db" --epoch all --json | jq .lost)"
}

# measure_disk RATE SECONDS
measure_disk()
{
	both compile "$1" "$2"
	note_files disk
	note 'disk perf samples' "$(perf_times "$scratch/perf.data" | wc -l)"
	time_answer dcpid
	note 'disk dcpid answer_wall_ms' "$answer_ms"
	time_answer perf
	note 'disk perf answer_wall_ms' "$answer_ms"
}

# Ten million samples would take perf many minutes; its file of some seconds has each of them several times instead.
# The database needs no such thing: it has counts, and is as large with larger ones.
measure_ten_million()
{
	local samples times

	both compile 20000 "$1"
	note_files ten
	samples=$(perf_times "$scratch/perf.data" | wc -l)
	times=$(((10000000 + samples - 1) / samples))
	samples=$("$build/bench/repeat_samples" "$scratch/perf.data" "$scratch/repeated.data" $times)
	mv "$scratch/repeated.data" "$scratch/perf.data"
	note 'ten perf samples' "$samples"
	note 'ten perf bytes' "$(file_bytes "$scratch/perf.data")"
	for tool in dcpid perf; do
		time_answer $tool
		note "ten $tool answer_ms" "$answer_cpu_ms"
		note "ten $tool answer_wall_ms" "$answer_ms"
	done
	rm -f "$scratch/perf.data"
}

crowd()
{
	local i

	for ((i = 0; i < 500; i++)); do
		sleep 100000 &
	done
	wait
}

forks()
{
	sed -n 's/^processes //p' /proc/stat
}

# measure_storm SECONDS - resident memory of dcpid among 500 processes, while others come and go
measure_storm()
{
	local seconds=$1 crowd_group at first_forks

	begin_load crowd
	crowd_group=$load_group
	begin_load fork_storm
	start_tool dcpid "$rate"
	first_forks=$(forks)
	for ((at = 10; at <= seconds; at += 10)); do
		sleep 10
		note 'storm dcpid rss' "$(memory_kib "$tool" VmRSS)"
		[ $((at % 60)) != 0 ] || say "fork storm among 500 processes: $at s, $(memory_kib "$tool" VmRSS) KiB"
	done
	note 'storm dcpid forks' $(($(forks) - first_forks))
	note 'storm dcpid peak' "$(memory_kib "$tool" VmHWM)"
	note 'storm dcpid lost' "$(dcpictl --db "$scratch/db" status --json | jq .totals.lost)"
	stop "$tool" INT
	end_load
	load_group=$crowd_group
	end_load
}

# sysprof-cli asks sysprofd for its counters, that asks polkitd, and both need a bus: all three for it alone.
start_sysprof()
{
	local file=$scratch/sysprof.capture

	cat >"$scratch/bus.conf" <<-END
		<busconfig><type>system</type><listen>unix:path=$scratch/bus</listen><auth>EXTERNAL</auth>
		<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/>
		<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
	END
	chmod 755 "$scratch"
	start dbus-daemon --config-file="$scratch/bus.conf" --nofork --nopidfile >/dev/null 2>&1
	wait_for 10 test -S "$scratch/bus" || return
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$scratch/bus DBUS_SESSION_BUS_ADDRESS=unix:path=$scratch/bus
	start /usr/lib/polkit-1/polkitd >/dev/null 2>&1
	start /usr/libexec/sysprofd >/dev/null 2>&1
	sleep 2
	start sysprof-cli --force --no-cpu --no-battery --no-memory --no-disk --no-network --no-decode "$file" >/dev/null 2>&1
	tool=$started
	wait_for 10 test -s "$file" && sleep 2 && [ "$(stat -c %s "$file")" -gt 4096 ]
}

# sysprof-cli has a period of its own, 1.2 ms, and takes call chains: what can be compared is its processor time.
measure_sysprof()
{
	local name ns cpu file

	command -v sysprof-cli >/dev/null || return 0
	for name in dcpid perf sysprof; do
		begin_load steady
		file=$scratch/db
		[ $name != perf ] || file=$scratch/perf.data
		[ $name != sysprof ] || file=$scratch/sysprof.capture
		if [ $name = sysprof ]; then
			start_sysprof || say 'sysprof-cli does not sample here'
		else
			start_tool $name 833
		fi
		[ $name != dcpid ] || dcpictl --db "$scratch/db" flush >/dev/null
		begin_meter "$tool"
		cpu_ns
		cpu=$ns
		sleep "$1"
		cpu_ns
		note "sysprof $name cpu_ppm" $(((ns - cpu) / $1 / 1000))
		note "sysprof $name rss_end" "$(memory_kib "$tool" VmRSS)"
		stop "$tool" INT
		end_meter
		end_load
		note "sysprof $name bytes" "$(file_bytes "$file")"
	done
}

# ---- and how it is printed ----

print_disk()
{
	[ "$(median disk dcpid bytes)" != 0 ] || return 0
	printf '\n### Files of %s s of compiling at %s samples/s per CPU, both at once\n\n' "$disk_seconds" "$disk_rate"
	printf '| | dcpid | perf record | ratio |\n|---|---:|---:|---:|\n'
	row 'samples' %d disk samples
	row 'on disk, KiB' %d disk bytes 1024
	row 'answer, wall ms' %d disk answer_wall_ms
	row 'samples lost' %d disk lost
}

print_ten_million()
{
	[ "$(median ten perf samples)" != 0 ] || return 0
	printf '\n### Reports on 10 million samples\n\n'
	printf 'Both sampled %s s of compiling, at 20,000 samples/s per CPU, at once. For perf, each sample was then ' \
		"$ten_seconds"
	printf 'written to its\nfile as often as it takes (bench/repeat_samples).\n\n'
	printf '| | dcpiprof | perf report | ratio |\n|---|---:|---:|---:|\n'
	row 'samples' %d ten samples
	row 'on disk, KiB' %d ten bytes 1024
	row 'answer, CPU ms' %d ten answer_ms
	row 'answer, wall ms' %.0f ten answer_wall_ms
	# shellcheck disable=SC2317 # time_answer calls it
	answer()
	{
		dcpiprof --db "$scratch/ten" --epoch 2 >"$scratch/answer"
	}
	time_answer dcpiprof
	printf '\nThe database of flush_bench (199,000 distinct addresses in 200 images, which have no files, so that no '
	printf 'symbols\nare read): %d ms wall, %d ms CPU.\n' "$answer_ms" "$answer_cpu_ms"
}

print_storm()
{
	[ "$(median storm dcpid forks)" != 0 ] || return 0
	printf '\n### Memory in %s s of fork storm, among 500 processes that sleep\n\n' "$storm_seconds"
	awk -v forks="$(median storm dcpid forks)" -v peak="$(median storm dcpid peak)" \
		-v seconds="$storm_seconds" -v lost="$(median storm dcpid lost)" '
		$1 $2 $3 == "stormdcpidrss" { rss[++n] = $4 }
		END {
			third = int((n + 2) / 3)
			for (i = 1; i <= n; i++) {
				if (rss[i] > first && i <= third) first = rss[i]
				if (rss[i] > last && i > n - third) last = rss[i]
			}
			printf "- %d processes a second began and ended; %d samples lost.\n", forks / seconds, lost
			printf "- Resident, KiB: at most %d in the first third, at most %d in the last, peak %d.\n", first, last, peak
		}' "$scratch/figures"
}

print_sysprof()
{
	local name

	[ "$(median sysprof sysprof bytes)" != 0 ] || return 0
	printf '\n### Beside sysprof-cli, steady load, each for itself, every 1.2 ms\n\n'
	printf '| | processor time, %% of one CPU | resident at the end, KiB | on disk, KiB |\n|---|---:|---:|---:|\n'
	for name in dcpid perf sysprof; do
		awk -v name="$name" -v cpu="$(median sysprof $name cpu_ppm)" -v rss="$(median sysprof $name rss_end)" \
			-v bytes="$(median sysprof $name bytes)" 'BEGIN {
			printf "| %s | %.3f | %d | %d |\n", name, cpu / 1e4, rss, bytes / 1024 }'
	done
	printf '\nsysprof-cli takes call chains as well, and attributes nothing while it records (--no-decode).\n'
}
