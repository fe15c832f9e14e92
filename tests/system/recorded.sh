#!/bin/bash
# A database that dcpid wrote on arm64, with a PMU's events, reads on this machine as dcpiprof read it there
# (tests/recorded/arm64/profile/, made by tests/pmu/record)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

recorded=$top/tests/recorded/arm64/profile
db=$scratch/db
mkdir "$db"
xz -dc "$recorded/data.mdb.xz" >"$db/data.mdb"

check 'a recorded database is whole' dcpictl --db "$db" check
check_equal 'its images have the cycles and instructions that they had there' "$(cat "$recorded/images.csv")" \
	"$(dcpiprof --db "$db" --epoch work -i --csv)"
check_equal "its kernel's procedures have the names and counts that they had there" "$(cat "$recorded/kernel.csv")" \
	"$(dcpiprof --db "$db" --epoch work --image '[kernel]' --csv)"
check_equal 'its events are those of the PMU' $'cycles cycles 2000003\ninstructions events 500009' \
	"$(dcpiprof --db "$db" --epoch work --json | jq -r '.events[] | "\(.name) \(.unit) \(.period)"')"
[ $failures = 0 ]
