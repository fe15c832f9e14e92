# shellcheck shell=sh
# bursts.sh - in the guest: dcpix --bursts, which steps its replica here
# shellcheck source=tests/pmu/collect.sh
. /host/collect.sh

db=/tmp/bursts

# take PID OPTION... - bursts of it
take()
{
	dcpix --db $db --bursts --pid "$@" 2>>"$out/dcpix.log"
}

/workloads/branches 60 >/dev/null &
take $! --seconds 4 --budget 50 --json --output "$out/branches.json"
kill $!

turns=16000000
/workloads/branches 0 $turns >"$out/alone"
/workloads/branches 0 $turns >"$out/killed" &
program=$!
rounds=0
while [ $rounds -lt 6 ] && kill -0 $program; do
	dcpix --db $db --bursts --pid $program --seconds 60 --budget 50 2>/dev/null &
	usleep $((60000 + 23000 * rounds))
	kill -KILL $!
	rounds=$((rounds + 1))
done
wait $program
echo "status $?, killed $rounds times" >>"$out/killed"

/workloads/rough 2 >"$out/rough" &
take $! --seconds 60 --budget 50 --json --output "$out/rough.json"
wait $!

mkdir "$out/profile"
cp $db/data.mdb "$out/profile"
take_out
