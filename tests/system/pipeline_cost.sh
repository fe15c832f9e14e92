#!/bin/bash
# What dcpid's pipeline costs has not grown: recorded rings of four loads go through it under callgrind, and
# instructions a sample of each stage are compared with those in tests/pipeline_cost/expected (no clock is involved)
#
# pipeline_cost.sh --renew (make pipeline-cost-figures) writes the figures of this compiler there instead: to be done,
# with a word about why, when a change is meant to cost or to save something. docs/benchmarks.md is then measured again.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

here=$top/tests/pipeline_cost
expected=$here/expected
compiler="$(uname -m) gcc-$(gcc -dumpversion | cut -d . -f 1)"
loads='steady compile storm interpreter'

command -v valgrind >/dev/null || {
	skip 'instructions a sample' 'valgrind is not there'
	exit 0
}
[ "${1:-}" = --renew ] || grep -q "^$compiler " "$expected" || {
	skip 'instructions a sample' "no figures of $compiler; make pipeline-cost-figures writes them"
	exit 0
}

# replay LOAD - the helpers that dcpid forks write a file of their own each when they end, which may be later
replay()
{
	local pid

	mkdir "$scratch/$1.db" && xz -dc "$here/rings/$1.xz" >"$scratch/$1.rings" || return
	valgrind --quiet --tool=callgrind --callgrind-out-file="$scratch/$1.callgrind.%p" \
		"$build/tests/pipeline_cost/replay" "$scratch/$1.rings" "$here/kernel" "$scratch/$1.db" \
		>"$scratch/$1.said" 2>&1 &
	pid=$!
	wait "$pid" && mv "$scratch/$1.callgrind.$pid" "$scratch/$1.callgrind"
}

# stages LOAD - "STAGE FIGURE" lines: a function's instructions are with those of what it calls
stages()
{
	callgrind_annotate --inclusive=yes --threshold=100 --show-percs=no "$scratch/$1.callgrind" | awk '
	NR == FNR { said[$1] = $2; next }
	/^ *[0-9][0-9,]* .*:[A-Za-z_]+ \[/ {
		count = $1
		gsub(/,/, "", count)
		file = name = $2
		sub(/.*:/, "", name)
		if (name == "run") { # of a thread
			sub(/:.*/, "", file)
			sub(/.*\//, "", file)
			name = file ":run"
		}
		if (count + 0 > of[name])
			of[name] = count + 0
	}
	function stage(name, instructions) { printf "%s %.1f\n", name, instructions / said["samples"] }
	END {
		apply = of["attribution_sample"] + of["attribution_apply"] + of["attribution_expire"]
		drain = of["sampler_drain"]
		loop = of["collection_drain"] + of["collection_flush"] + of["collection_take_result"] + \
			of["collection_adjust_rates"] + of["sampler_dither"]
		threads = of["flusher.c:run"] + of["capture_thread.c:run"]
		stage("drain", drain - apply - of["tally_add"])
		stage("attribution", apply)
		stage("tally", of["tally_add"] + of["tally_sort"])
		stage("loop", loop - drain - of["capturer_track_images"])
		stage("flush", of["flusher.c:run"] - of["tally_sort"] - of["after_flush"])
		stage("capture-notes", of["capture_thread.c:run"] - of["__wrap_capture_child_start"] - of["__wrap_kernel_text_run"] + \
			of["after_flush"] + of["capturer_track_images"])
		stage("other-threads", of["start_thread"] - threads)
		printf "written-bytes %.2f\n", said["written"] / said["samples"]
		printf "file-bytes %.2f\n", said["file"] / said["samples"]
	}' "$scratch/$1.said" -
}

# A recording goes round: who ended in it, and is there again at its beginning, begins without a record of it.
is_whole()
{
	cat "$scratch/$1.said"
	awk '{ said[$1] = $2 } END { exit !(said["samples"] > 400000 && said["counted"] > .96 * said["samples"]) }' \
		"$scratch/$1.said"
}

for load in $loads; do
	replay "$load" &
done
wait
for load in $loads; do
	check "the recording '$load' goes through the pipeline, 96 % of its samples to an image" is_whole "$load"
	stages "$load" | sed "s/^/$compiler $load /"
done >"$scratch/all"
grep -v "^$compiler " "$scratch/all"
failures=$(grep -c '^not ok' "$scratch/all")
grep "^$compiler " "$scratch/all" >"$scratch/figures"

if [ "${1:-}" = --renew ]; then
	[ "$failures" = 0 ] || exit 1
	{
		grep '^#' "$expected"
		{
			grep -v -e '^#' -e "^$compiler " "$expected"
			cat "$scratch/figures"
		} | sort -s -k 1,2
	} >"$scratch/expected" && cp "$scratch/expected" "$expected"
	exit
fi

# More than 5 % up, and by more than half an instruction or a page: some stages are nearly nothing. A figure that falls
# to under half of what it was may as well have been counted wrong: whoever meant it renews the figures.
while read -r _ _ load stage now; do
	was=$(awk -v key="$compiler $load $stage" '$1 " " $2 " " $3 " " $4 == key { print $5 }' "$expected")
	slack=.5
	[[ $stage != *-bytes ]] || slack=.01
	sentence="$load: $stage costs what it did"
	if [ -z "$was" ]; then
		not_ok "$sentence" "there is no figure of it; now $now (make pipeline-cost-figures)"
	elif awk -v was="$was" -v now="$now" -v slack="$slack" 'BEGIN { exit !(now > 1.05 * was && now > was + slack) }'; then
		not_ok "$sentence" "a sample took $was there, and takes $now now"
	elif awk -v was="$was" -v now="$now" -v slack="$slack" 'BEGIN { exit !(2 * now < was && now < was - slack) }'; then
		not_ok "$sentence" "a sample took $was there, and only $now now (if that is meant: make pipeline-cost-figures)"
	else
		ok "$sentence"
	fi
done <"$scratch/figures"
[ "$failures" = 0 ]
