#!/bin/bash
# dcpitimeline.sh - what a machine did slice by slice, on a small database, compared whole
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db
check 'the database is made' "$build/tests/system/make_database" "$db" <<'END'
event cpu-clock cycles ns 4000000 yes -
event page-faults page-faults faults 100 yes -
event cpu-clock.sum cpu-clock.sum ns 1 yes -
image user 1111111111111111 /opt/bin/server
image user 2222222222222222 /opt/lib/libwork.so
image user 3333333333333333 /opt/lib/libwork.so
image kernel - [kernel]
context server /service -
context gzip /user run1
epoch 1795271400 first
count cpu-clock 0 0 0x1000 60000
count cpu-clock 1 0 0x2000 15000
count cpu-clock 2 1 0x2000 15000
count cpu-clock 3 1 0x3000 30000
count page-faults 0 0 0x1000 60
unknown cpu-clock no-process 15000
slice 1795271400 1795272000
count cpu-clock 0 0 0x1000 15000
count cpu-clock 0 0 0x5000 15000
count cpu-clock.sum 0 0 0x1000 60000000000
slice 1795272000 1795272600
END

# 60,000 samples of 4 ms in 600 s are 0.4 CPUs; a sum of 60 s is 0.1 of them
check_equal 'by image: two builds of one path are one column' 'cpu-clock by image: CPUs that were busy

from                     for        all  server  libwork.so  [kernel]  others  unknown
2026-11-21 14:30:00 UTC  10 min   0.900   0.400       0.200     0.200       -    0.100
2026-11-21 14:40:00 UTC  10 min   0.300   0.300           -         -       -        -' "$(dcpitimeline --db "$db")"
check_equal 'by command, one column, no heading' '2026-11-21 14:30:00 UTC  10 min   0.900   0.500   0.300    0.100
2026-11-21 14:40:00 UTC  10 min   0.300   0.300       -        -' \
	"$(dcpitimeline --db "$db" --by command --limit 1 --no-header)"
check_equal 'by cgroup, of one command, as CSV' 'start,end,epoch,cpu-clock,/user,others,unknown
1795271400.000,1795272000.000,1,540000000000,180000000000,0,60000000000
1795272000.000,1795272600.000,1,180000000000,0,0,0' "$(dcpitimeline --db "$db" --by cgroup --comm gzip --csv)"
check_equal 'another event is shown a second' 'page-faults by image: events a second

from                     for        all  server  others  unknown
2026-11-21 14:30:00 UTC  10 min  10.000  10.000       -        -
2026-11-21 14:40:00 UTC  10 min       -       -       -        -' "$(dcpitimeline --db "$db" --event page-faults)"
check 'a time selects slices' test "$(dcpitimeline --db "$db" --since @1795272001 --no-header | wc -l)" = 1
check 'JSON has the same numbers' json_holds '.schema == "dcpitimeline/1" and .by == "image" and .unit == "ns" and
	.series_count == 3 and .series[0] == {name: "/opt/bin/server", events: 420e9} and
	[.slices[].values[0]] == [240e9, 180e9] and .slices[0].unknown == 60e9 and .slices[1].start == 1795272000' \
	<(dcpitimeline --db "$db" --json)

# the totals are those of dcpiprof
total=$(dcpiprof --db "$db" -i --json | jq '[.rows[].events["cpu-clock"]] | add')
check_equal 'what series add up to is what dcpiprof has' "$total" \
	"$(dcpitimeline --db "$db" --json | jq '[.series[].events] | add')"

check_fails 'an event that is none' 2 "no event 'sickles' was counted" dcpitimeline --db "$db" --event sickles
check_fails 'an event that weighs others' 2 "no event 'cpu-clock.sum'" dcpitimeline --db "$db" --event cpu-clock.sum
check_fails 'a kind that is none' 2 "there is no kind of series 'comand' (did you mean command?)" \
	dcpitimeline --db "$db" --by comand
check_fails 'too many columns' 2 '--limit takes a whole number from 1 to 64' dcpitimeline --db "$db" --limit 65
check_fails 'a command that never ran' 4 'no command matches nobody; there are server, gzip' dcpitimeline --db "$db" --comm nobody
check_fails 'no database' 1 'cannot open the profile database' dcpitimeline --db "$scratch/none"

[ $failures = 0 ]
