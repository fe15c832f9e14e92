#!/bin/bash
# keep.sh - epochs of which nothing is dropped: by hand, and imports; with a dcpid and without
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

old=$scratch/old
"$build/tests/system/make_database" "$old" <<'END'
event cpu-clock cpu-clock ns 1000000 yes -
image user 1111111111111111 /opt/fast
context fast / run1
host elsewhere
epoch 1000000000 before-release
count cpu-clock 0 0 0x1000 600
slice 1000000000 1000000600
END
line='1  2001-09-09 01:46:40 to 01:56:40 UTC  kept  elsewhere  before-release'
check_equal 'nothing is kept' 'no epoch is kept' "$(dcpictl --db "$old" keep)"
check_equal 'an epoch is kept by its label' "$line" "$(dcpictl --db "$old" keep before-release)"
check_equal 'and released' 'no epoch is kept' "$(dcpictl --db "$old" keep --release 1)"
check_equal 'and kept by the label of its processes' "$line" "$(dcpictl --db "$old" keep run1)"
check_fails 'what is not there' 4 'there is no epoch nightly; there is 1 (before-release)' \
	dcpictl --db "$old" keep nightly
check_fails '--release without an epoch' 2 '--release goes with keep EPOCH' dcpictl --db "$old" keep --release

sentence='with a dcpid'
may_sample_or_skip "$sentence" || exit 0
db=$scratch/db
# Slices of a second, flushed each second: retention looks when a slice begins.
printf 'max_age_days = 1;\nflush_interval = 1;\n' >"$scratch/dcpid.conf"
start_dcpid "$db" --config "$scratch/dcpid.conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
check 'a recording of 2001 is imported beside a dcpid' dcpimport --db "$db" "$old"
check_equal 'is kept' imported "$(dcpictl --db "$db" keep | awk '{ print $7 }')"
sleep 3
"$build/workloads/naps" 1 1000000 0 >/dev/null
dcpictl --db "$db" flush
check_equal 'status says so' 1 "$(dcpictl --db "$db" status --json | jq .database.kept)"
check 'in words' grep -q '1 epoch kept' <(dcpictl --db "$db" status)
check_equal 'it is there' 600 "$(dcpiprof --db "$db" --host elsewhere --json | jq '.events[0].samples')"
check_equal 'and is not the latest' '[1]' "$(dcpiprof --db "$db" --json | jq -c .epochs)"
check_equal 'it is released beside a dcpid' 'no epoch is kept' "$(dcpictl --db "$db" keep --release before-release)"
check_equal 'an epoch of its own is kept beside a dcpid' kept "$(dcpictl --db "$db" keep latest | grep -o ' kept ' | tr -d ' ')"
dcpictl --db "$db" flush
check_equal 'also after it was written to again' kept "$(dcpictl --db "$db" keep | grep -o ' kept ' | tr -d ' ')"
check_equal 'and compacted' kept "$(dcpictl --db "$db" compact >/dev/null; dcpictl --db "$db" keep | grep -o ' kept ' | tr -d ' ')"
stop "$started"
check 'the database is sound' dcpictl --db "$db" check
