#!/bin/bash
# right.sh - dcpiprof says what perf says: the same workload, sampled by both at once, has the same shares
#
# Two samples of one population differ by chance. With shares p and q of n and m samples, (p - q) divided by
# sqrt(s (1 - s) (1/n + 1/m)), s the pooled share, is a standard normal variable (the two-proportion z-test). With some
# tens of procedures compared, a value beyond 4.5 (1 in 150,000) is no chance. The rates differ, so that the two timers
# do not keep step.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

SECONDS_RUN=${SECONDS_RUN:-24}
sentence='every procedure above 1 % has the share that perf sees'
may_sample_or_skip "$sentence" || exit 0
workloads=$build/workloads

contained=yes
unshare --mount true 2>/dev/null || contained=no

# Two containers: mount namespaces in which one path is two different programs, neither of which is anywhere else.
container()
{
	local steps=$1 seconds=$2

	[ $contained = yes ] || return
	# shellcheck disable=SC2016 # the inner shell expands its arguments
	unshare --mount sh -c 'mount -t tmpfs none "$1" && gcc -O2 -D_GNU_SOURCE -DSTEPS_PER_SHARE="$2" -o "$1/program" \
		"$3" && "$1/program" "$4"' sh "$scratch/mnt" "$steps" "$top/tests/workloads/shares.c" "$seconds"
}

mkdir "$scratch/mnt"
mix()
{
	local share=$((SECONDS_RUN / 4))

	{
		"$workloads/shares" $share
		"$workloads/library_user" $share
		"$workloads/kernel_work" $share
		container 5000 $share
	} &
	"$workloads/templates" $share
	"$workloads/shares_static" $share
	"$workloads/library_opener" $share "$workloads/libheat.so"
	container 7000 $share
	wait $!
}

cat >"$scratch/dcpid.conf" <<EOF
events = ( { name = "cpu-clock"; rate = 211; } );
EOF
start_dcpid "$scratch/db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$scratch/db.log")"
	exit 0
}
dcpid=$started
# The kernel tells the build-ids: perf 6.1 crashes on a file that has one of more than 20 bytes when it looks itself.
start perf record -q --buildid-mmap -a -k CLOCK_MONOTONIC -e cpu-clock:I -c 5025125 -o "$scratch/perf.data"
perf=$started
sleep 1
# What others run before and after the mix is in neither: the epoch's time is the one that is taken of perf's samples.
monotonic_s()
{
	perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 'printf "%.6f", clock_gettime(CLOCK_MONOTONIC)'
}

dcpictl --db "$scratch/db" epoch --label mix >/dev/null
from=$(monotonic_s)
mix
until=$(monotonic_s)
dcpictl --db "$scratch/db" epoch --label after >/dev/null
stop "$perf" INT
stop "$dcpid"
# perf does not sample a CPU again that went and came back.
if grep -q 'went offline' "$scratch/db.log"; then
	skip "$sentence" 'a CPU went offline meanwhile'
	exit 0
fi

# TAB-separated: samples, image's base name, procedure. Both name the kernel's functions after kallsyms; its images are
# called differently. What perf has no name for is "[unknown]".
dcpiprof --db "$scratch/db" --epoch mix --no-demangle --json |
	jq -r '.rows[] | [.counts["cpu-clock"], (.image | sub(".*/"; "")), .procedure] | @tsv' >"$scratch/ours.tsv"
perf script -i "$scratch/perf.data" --time "$from,$until" -F ip,sym,dso --no-demangle 2>"$scratch/perf.log" >"$scratch/perf.txt" ||
	not_ok 'perf can read what it recorded' "$(tail -n 3 "$scratch/perf.log")"
awk '{ sub(/ \(deleted\)\)$/, ")"); image = $NF; gsub(/[()]/, "", image); sub(/.*\//, "", image)
		if (image == "[kernel.kallsyms]") image = "[kernel]"
		if (image ~ /^(perf-[0-9]+\.map|anon|\[unknown\]|memfd:.*)$/) image = "[anon]"
		count[image "\t" $2]++ }
	END { for (key in count) print count[key] "\t" key }' "$scratch/perf.txt" >"$scratch/perf.tsv"

# One address may have many names, and each has a rule of its own for which is the best: perf likes the longest, dcpiprof
# the shortest (__memcpy_avx_unaligned_erms is __memmove_avx_unaligned_erms). What nm and kallsyms have at one address
# is one procedure here, whatever it is called. Lines "IMAGE ADDRESS NAME", names as both write them.
debug_file()
{
	local id

	id=$(readelf -n "$1" 2>/dev/null | awk '/Build ID:/ { print $3 }')
	[ -z "$id" ] || echo "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
}

addresses_of_names()
{
	local path

	awk 'NF == 3 && $2 ~ /^[tTwW]$/ && $1 !~ /^0+$/ { print "[kernel]", $1, $3 }' /proc/kallsyms
	grep -o '(/[^)]*)$' "$scratch/perf.txt" | tr -d '()' | sort -u | while read -r path; do
		[ -f "$path" ] || continue
		{
			nm -D "$path"
			nm "$path"
			nm "$(debug_file "$path")"
		} 2>/dev/null | awk -v image="${path##*/}" 'NF == 3 && $2 ~ /^[tTwWiI]$/ { sub(/@.*/, "", $3); print image, $1, $3 }'
	done
}

# one_name FILE - of lines "COUNT IMAGE NAME", under the first name of all that share an address
one_name()
{
	awk -F'\t' '
	function root(key) { while (key in parent) key = parent[key]; return key }
	function join(a, b) { a = root(a); b = root(b); if (a != b) { if (a < b) parent[b] = a; else parent[a] = b } }
	FILENAME != ARGV[2] {
		split($0, part, " ")
		place = part[1] " " part[2]; key = part[1] "\t" part[3]
		if (place in first) join(first[place], key); else first[place] = key
		next
	}
	{ count[root($2 "\t" $3)] += $1 }
	END { for (key in count) print count[key] "\t" key }' "$scratch/names" "$1" >"$1.one"
	mv "$1.one" "$1"
}

addresses_of_names | sort -u >"$scratch/names"
one_name "$scratch/perf.tsv"
one_name "$scratch/ours.tsv"

# Compared are all images, and the procedures of those in which both know every name: where perf does not, dcpiprof has
# the bounds of functions; where dcpiprof does not, the file is in another root, which perf can look into while it is
# there. Memory without a file goes by many names; nothing of the mix runs there.
awk -F'\t' '
FILENAME ~ /perf.tsv$/ { perf[$2 "\t" $3] += $1; perf[$2 "\t*"] += $1; m += $1; if ($3 == "[unknown]") partly[$2]; next }
$3 ~ /^\[/ { partly[$2] }
{ ours[$2 "\t" $3] += $1; ours[$2 "\t*"] += $1; n += $1 }
END {
	if (!n || !m) { printf "%d %d 0 1 0\n", n, m; exit }
	for (key in ours) all[key]; for (key in perf) all[key]
	for (key in all) {
		split(key, part, "\t")
		p = ours[key] / n; q = perf[key] / m; s = (ours[key] + perf[key]) / (n + m)
		if ((p < 0.01 && q < 0.01) || part[1] == "[anon]" || (part[2] != "*" && part[1] in partly)) continue
		z = (p - q) / sqrt(s * (1 - s) * (1 / n + 1 / m))
		printf "%6.2f%% %6.2f%% %6.2f  %s\n", 100 * p, 100 * q, z, key
		compared++; if (z > 4.5 || z < -4.5) wrong++; if (z < 0) z = -z; if (z > worst) worst = z
	}
	printf "%d %d %d %d %.2f\n", n, m, compared, wrong, worst
}' "$scratch/perf.tsv" "$scratch/ours.tsv" | sort -k1,1nr >"$scratch/compared"
read -r ours theirs compared wrong worst < <(grep -v % "$scratch/compared")
figure "dcpid $ours samples, perf $theirs; $compared images and procedures above 1 %, largest |z| $worst"
if [ "${wrong:-1}" = 0 ] && [ "${compared:-0}" -ge 15 ]; then
	ok "$sentence"
else
	not_ok "$sentence" "dcpiprof, perf, z, image and procedure:" "$(cat "$scratch/compared")"
fi

# The same path in two mount namespaces was two builds: two rows, with the procedures of each.
sentence='two containers with different files at one path are two images'
if [ $contained = yes ]; then
	builds=$(dcpiprof --db "$scratch/db" --epoch mix --json |
		jq '[.rows[] | select(.image | endswith("/mnt/program")) | .build_id] | unique | length')
	check_equal "$sentence" 2 "$builds"
else
	skip "$sentence" 'no mount namespace can be made here'
fi
