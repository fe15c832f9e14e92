# shellcheck shell=bash
# soak_report.sh - what bench/soak makes of its records: slopes, verdicts, a picture

# Globals of tests/system/lib.sh and soak:
# shellcheck disable=SC2154

soak_columns()
{
	echo 'seconds,rss_bytes,samples,unknown,lost,dropped,tally_keys,tally_limit,file_bytes,used_bytes,database_images,' \
		'database_contexts,slices,processes,mappings,images,contexts,flush_ms,cpu_seconds,epoch,own_bytes,sessions,' \
		'skipped,sideband_lost,error,cgroups' | tr -d ' '
}

# The number of the column called $1.
column()
{
	soak_columns | tr ',' '\n' | grep -nx "$1" | cut -d : -f 1
}

# "HOURS VALUE" of each record after the first sixth: what is filled once is full then.
series()
{
	awk -F , -v column="$(column "$1")" -v unit="${2:-1}" '
		NR > 1 { hours[NR] = $1 / 3600; value[NR] = $column / unit }
		END { for (i = 2 + int((NR - 1) / 6); i <= NR; i++) print hours[i], value[i] }' "$records"
}

# "SLOPE LOW HIGH" per hour: the median of all slopes between two records, and the interval of 95 % (Sen, JASA 1968)
slope()
{
	awk '{ x[NR] = $1; y[NR] = $2 }
		END { for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) print (y[j] - y[i]) / (x[j] - x[i]) }' |
		sort -g | awk '{ slope[NR] = $1 }
		END {
			if (NR < 15) { print "- - -"; exit }
			n = (1 + sqrt(1 + 8 * NR)) / 2
			half = 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18)
			low = int((NR - half) / 2); high = int((NR + half) / 2) + 2
			if (low < 1) low = 1; if (high > NR) high = NR
			print slope[int((NR + 1) / 2)], slope[low], slope[high]
		}'
}

# verdict_of MOST HIGH AT_MOST GROWTH - what is asked of slopes says nothing of a run under 10 minutes
verdict_of()
{
	awk -v most="$1" -v high="$2" -v at_most="$3" -v growth="$4" -v seconds="$seconds" 'BEGIN {
		if (at_most != "" && most + 0 > at_most + 0) print "**too much**"
		else if (growth == "") print "within its limit"
		else if (seconds < 600 || high == "-") print "too short to say"
		else print (high + 0 > growth + 0 ? "**grows**" : "flat") }'
}

# row_of NAME COLUMN UNIT AT_MOST GROWTH - "" for no limit; GROWTH is per hour
row_of()
{
	local least middle most rise low high

	read -r least middle most < <(series "$2" "$3" | cut -d ' ' -f 2 | sort -g |
		awk '{ v[NR] = $1 } END { printf "%.4g %.4g %.4g", v[1], v[int((NR + 1) / 2)], v[NR] }')
	read -r rise low high < <(series "$2" "$3" | slope)
	[ "$seconds" -ge 600 ] || rise=- low=- high=-
	printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$least" "$middle" "$most" \
		"$(interval_of "$rise" "$low" "$high")" "${4:--}" "${5:--}" "$(verdict_of "$most" "$high" "$4" "$5")"
}

interval_of()
{
	[ "$1" != - ] || {
		echo -
		return
	}
	printf '%.3g (%.3g to %.3g)' "$1" "$2" "$3"
}

last_of()
{
	tail -n 1 "$records" | cut -d , -f "$(column "$1")"
}

# count_row NAME VALUE LIMIT
count_row()
{
	awk -v name="$1" -v value="$2" -v limit="$3" 'BEGIN {
		printf "| %s | %s | %s | %s |\n", name, value, limit, value + 0 <= limit + 0 ? "yes" : "**no**" }'
}

times_of()
{
	grep -cx "$1" "$events"
}

soak_results()
{
	local samples complaints=0

	samples=$(last_of samples)
	# shellcheck disable=SC2154
	[ "$checked" = 0 ] || complaints=$(wc -l <"$scratch/check")
	cat <<-END

	Measured $began with \`bench/soak --seconds $seconds --interval $interval --limit $limit --nice $nice\` on $(nproc) CPUs,
	Linux $(uname -r): $samples samples, $(awk '{ n += $1 } END { print n + 0 }' "$scratch/churned" 2>/dev/null) new
	images (a quarter of them new commands), $(times_of cgroup) new control groups, $(times_of flush) flushes asked for,
	$(times_of epoch) epochs, $(times_of reader) readers, $(times_of stopped) more that were stopped in the middle,
	$(times_of compact) compactions, $(times_of hotplug) times a CPU went and came, and $(last_of sessions) times
	the tables of images and contexts were begun anew.

	| | least | median | most | slope an hour (95 %) | at most | may grow by, an hour | |
	|---|---:|---:|---:|---:|---:|---:|---|
	END
	row_of 'memory of its own, MiB' own_bytes 1048576 24 1
	row_of 'resident memory, MiB' rss_bytes 1048576 24 4
	row_of 'database file, MiB' file_bytes 1048576 "$(awk "BEGIN { print $limit * 17 / 16 + 0.25 }")" ''
	row_of 'of it in use, MiB' used_bytes 1048576 "$limit" ''
	row_of 'images in memory' images 1 30000 ''
	row_of 'contexts in memory' contexts 1 30000 ''
	row_of 'processes in memory' processes 1 '' 500
	row_of 'mappings in memory' mappings 1 '' 5000
	row_of 'control groups in memory' cgroups 1 '' 100
	row_of 'keys in the tally' tally_keys 1 131072 ''
	row_of 'flush, ms' flush_ms 1 '' 100
	printf '\n| | | at most | |\n|---|---:|---:|---|\n'
	count_row 'unknown, % of the samples' "$(awk "BEGIN { printf \"%.4f\", 100 * $(last_of unknown) / ($samples + 1) }")" 0.5
	count_row 'lost samples' "$(last_of lost)" 0
	count_row 'dropped samples' "$(last_of dropped)" 0
	count_row 'records on processes and mappings that were lost' "$(last_of sideband_lost)" 0
	count_row 'records that could not be used' "$(last_of skipped)" 0
	count_row 'records in which the last flush had failed' "$(awk -F , -v column="$(column error)" 'NR > 1 && $column != "\"\""' "$records" | wc -l)" 0
	count_row 'complaints of dcpictl check' "$complaints" 0
	printf '\nUnknown by cause, of what the database still has: %s\n' "$(cat "$scratch/causes")"
	[ -z "$picture" ] || printf '\n![What was recorded, over the time](%s)\n' "${picture##*/}"
	echo
}

# soak_picture RECORDS SVG
soak_picture()
{
	gnuplot 2>"$scratch/gnuplot.log" <<-END
		set terminal svg size 900,900 font "sans,11" background "white"
		set output "$2"
		set datafile separator ','
		set multiplot layout 5,1
		set grid
		set key top left
		set xlabel ''
		set yrange [0:*]
		set format y '%.0f'
		set ylabel 'MiB'
		hours = 60.0
		plot "$1" using (\$1/hours):(\$2/1048576) with lines lw 2 title 'resident memory', \
			"$1" using (\$1/hours):(\$21/1048576) with lines lw 2 title 'of its own'
		plot "$1" using (\$1/hours):(\$9/1048576) with lines lw 2 title 'database file', \
			"$1" using (\$1/hours):(\$10/1048576) with lines lw 2 title 'in use'
		set ylabel 'in memory'
		plot "$1" using (\$1/hours):16 with lines lw 2 title 'images', "$1" using (\$1/hours):17 with lines lw 2 title 'contexts'
		set ylabel 'ms'
		plot "$1" using (\$1/hours):18 with lines lw 1 title 'flush'
		set ylabel 'samples'
		set xlabel 'minutes'
		set yrange [0:]
		plot "$1" using (\$1/hours):4 with lines lw 2 title 'unknown', "$1" using (\$1/hours):5 with lines lw 2 title 'lost'
	END
}
