#!/bin/bash
# metrics.sh - `dcpictl status --prometheus` as Prometheus' own client library reads it
# shellcheck source=tests/system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

db=$scratch/db
file=$scratch/dcpi.prom

# series FILE - "name{label=value,...} value" of every series, as the library understands it; fails on what it refuses,
# and on what it lets through though Prometheus does not: series twice, families without HELP, counters without _total
series()
{
	/usr/bin/python3 - "$1" <<-'END'
		import sys
		from prometheus_client.parser import text_string_to_metric_families

		seen = set()
		for family in text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read()):
		    if not family.documentation or family.type not in ("counter", "gauge"):
		        sys.exit(f"{family.name}: type {family.type}, help '{family.documentation}'")
		    for sample in family.samples:
		        labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
		        line = f"{sample.name}{{{labels}}}"
		        if line in seen:
		            sys.exit(f"{line}: twice")
		        if sample.name.endswith("_total") != (family.type == "counter"):
		            sys.exit(f"{line}: is a {family.type}")
		        seen.add(line)
		        print(line, sample.value)
	END
}

# value NAME - of the series whose name and labels are NAME
value()
{
	awk -v name="$1" '$1 == name { print $2 }' "$scratch/series"
}

take_metrics()
{
	dcpictl --db "$db" status --prometheus >"$file" && series "$file" >"$scratch/series"
}

check_equal 'without a dcpid the metric says that it is down' 'dcpi_up{} 0.0' \
	"$(dcpictl --db "$scratch/none" status --prometheus >"$file" && series "$file")"
check_fails 'the output of other commands does not go to a file' 2 '--output goes with status --prometheus' \
	dcpictl flush --output "$file"
check_fails 'one format at a time' 2 '--json or --prometheus, not both' dcpictl status --json --prometheus

may_sample_or_skip 'metrics of a dcpid that runs' || exit 0
start_dcpid "$db" --label 'quo"te' || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 1
}
timeout 2 sh -c 'while :; do :; done'
dcpictl --db "$db" flush
check 'Prometheus can read the metrics' take_metrics
check_equal 'each metric is in the manual page' '' \
	"$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$file" | grep -vxFf <(grep -o 'dcpi_[a-z_]*' "$top/man/dcpictl.1.scd"))"
check_equal 'dcpid is up' 1.0 "$(value 'dcpi_up{}')"
event=$(dcpictl --db "$db" status --json | jq -r '[.events[] | select(.available)][0].name')
first=$(value "dcpi_samples_total{event=$event}")
check 'samples are counted' awk -v samples="$first" 'BEGIN { exit !(samples > 0) }'
check_equal 'none is lost' 0.0 "$(value "dcpi_lost_samples_total{event=$event}")"
check_equal 'the first epoch' 1.0 "$(value 'dcpi_epochs_total{}')"
check_equal 'the database has the size that its file has' "$(stat -c %s "$db/data.mdb").0" \
	"$(value 'dcpi_database_size_bytes{}' | awk '{ printf "%.1f", $1 }')"
dcpictl --db "$db" epoch >"$scratch/epoch"
take_metrics
check_equal 'an epoch is counted' 2.0 "$(value 'dcpi_epochs_total{}')"
check 'a new epoch takes nothing from the counters' \
	awk -v before="$first" -v after="$(value "dcpi_samples_total{event=$event}")" 'BEGIN { exit !(after >= before) }'
check 'though its own counts began at 0' \
	test "$(dcpictl --db "$db" status --json | jq '[.events[].samples] | add')" -lt "${first%.*}"

dcpictl --db "$db" status --prometheus --output "$file"
check_equal 'the text file is for all to read' 644 "$(stat -c %a "$file")"
check 'and can be read, too' series "$file"
check_fails 'a file that cannot be written is told' 1 "$scratch/none/x: cannot write the metrics" \
	dcpictl --db "$db" status --prometheus --output "$scratch/none/x"

[ $failures = 0 ]
