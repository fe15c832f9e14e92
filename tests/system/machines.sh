#!/bin/bash
# machines.sh - machines are listed, described with sources, refused with reasons, and this one is measured
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

command -v dcpiemu >/dev/null || {
	skip 'machines are described' 'dcpiemu was not built'
	exit 0
}
export XDG_CONFIG_HOME=$scratch/config

# name, cores, MHz, memory's latency and bandwidth of those of the poster, by their data sheets and the papers named there
check_equal 'the machines of the poster are listed, and one with two sockets' 'e5-2603v1 4 1800 84 42
e5-2690v4 14 2600 95 63
e5-2699v3 18 2300 96 63
e5-2699v3-2s 2x18 2300 96 126' "$(dcpiemu machines --no-header | sed 's/ [0-9]*K [0-9]*K [0-9]*M / /' |
	awk '/^e5/ { print $1, $2, $3, $4, $6 }')"
check_equal 'so they are as JSON' '4 18 14' "$(dcpiemu machines --json |
	jq -r '[.machines[] | {(.name): .cores}] | add | "\(.["e5-2603v1"]) \(.["e5-2699v3"]) \(.["e5-2690v4"])"')"

# Figures without a source, or with one that the head of the file does not explain.
unmarked()
{
	awk 'FNR == 1 { none = 0 }
		/^# No computer/ { none = 1 }
		/^#   [a-z]+: / { known[FILENAME, substr($2, 1, length($2) - 1)] = 1 }
		none || !/[a-z_] = [0-9.]+;/ { next }
		{ figures[FILENAME]++
			mark = $0
			if (!sub(/.*# /, "", mark)) mark = "none"
			sub(/:.*/, "", mark)
			count = split(mark, marks, ", ")
			for (i = 1; i <= count; i++)
				if (!known[FILENAME, marks[i]]) { print FILENAME ": " $0; bad = 1 } }
		END { for (file in figures) if (figures[file] < 30) { print file ": few figures"; bad = 1 }
			exit bad || length(figures) < 3 }' "$top"/config/machines/*.conf
}
check 'each figure of a machine says where it is from' unmarked

sed 's/ways = 20/ways = 21/' "$top/config/machines/e5-2603v1.conf" >"$scratch/wrong.conf"
line=$(grep -n 'bytes = 10485760' "$scratch/wrong.conf" | cut -d : -f 1)
check_fails 'a machine that contradicts itself is refused with file, line and reason' 2 \
	"dcpiemu: $scratch/wrong.conf:$line: bytes is 10485760; with 21 ways of 64 bytes it must be a multiple of 1344" \
	dcpiemu run --no-db --machine "$scratch/wrong.conf" -- true
check_fails 'a machine that is not described is refused with one that is near' 2 \
	'there is no machine "e5-2603v2"; did you mean "e5-2603v1"?' dcpiemu run --no-db --machine e5-2603v2 -- true
mkdir -p "$XDG_CONFIG_HOME/dcpi/machines"
cp "$scratch/wrong.conf" "$XDG_CONFIG_HOME/dcpi/machines/wrong.conf"
check_fails 'one that is wrong is named beside those that are listed' 2 'wrong.conf:' dcpiemu machines
rm "$XDG_CONFIG_HOME/dcpi/machines/wrong.conf"

# This machine may be too busy for figures that agree: then nothing is written, and it says why.
calibrated=$XDG_CONFIG_HOME/dcpi/machines/host.conf
if dcpiemu calibrate >"$scratch/found" 2>"$scratch/said"; then
	check 'what calibrate measured is a machine' dcpiemu machines
	check_equal 'it is the first one of all' host "$(dcpiemu machines --no-header | awk 'NR == 1 { print $1 }')"
	check_equal 'everybody may read it' 644 "$(stat -c %a "$calibrated")"
	# shellcheck disable=SC2016 # awk's
	check 'each level is slower than the one before it, and memory than all' awk '
		/level[1-4] = / { match($0, /latency_cycles = [0-9]+/)
			cycles = substr($0, RSTART + 17, RLENGTH - 17) + 0
			if (cycles <= before) exit 1
			before = cycles; levels++ }
		/^clock_mhz/ { mhz = $3 + 0 }
		/gb_s = 0/ { match($0, /latency_ns = [0-9.]+/); ns = substr($0, RSTART + 13, RLENGTH - 13) + 0 }
		END { exit levels < 1 || ns * mhz / 1000 <= before }' "$calibrated"
	if command -v qemu-x86_64 qemu-aarch64 >/dev/null; then
		check 'programs run on it' dcpiemu run --machine host --no-db --quiet -- true
	else
		skip 'programs run on it' 'qemu-user is not installed'
	fi
	figure "$(sed -n '/^level\|^memory/p' "$scratch/found" | tr -s ' ' | tr '\n' ';')"
else
	check 'what cannot be measured is said, and nothing written' test -s "$scratch/said" -a ! -e "$calibrated"
	figure "not measured: $(cat "$scratch/said")"
fi
check_fails 'a description that cannot be written is said' 1 'cannot write the description' \
	dcpiemu calibrate --output "$scratch/none/host.conf"
[ $failures = 0 ]
