#!/bin/bash
# emulate_archive.sh - what was emulated goes to a machine that has neither the program nor the description of the machine
# that it ran on, and every report is the same there
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=emulate_lib.sh
. "$top/tests/system/emulate_lib.sh"

emulator_or_skip 'an emulated profile is archived' || exit 0
cd "$scratch" || exit

# reports DB - what is said of the run, whatever the database is called
reports()
{
	dcpiprof --db "$1" --label kept
	dcpiprof --db "$1" --label kept --json
	dcpicalc --db "$1" --label kept kernel_hash
	dcpicalc --db "$1" --label kept --check kernel_hash
	dcpitopstalls --db "$1" --label kept --json
	"$build/tests/accuracy/inferred" --db "$1" --label kept
	"$build/tests/accuracy/inferred" --db "$1" --label kept --procedure kernel_hash
	dcpicat --db "$1" --label kept | grep -v '^database'
}

cp "$build/accuracy/kernels" kernels
sed 's/^name = .*/name = "mine";/; s/clock_mhz = .*;/clock_mhz = 1234.0;/' "$top/config/machines/in-order-2.conf" >mine.conf
emulate ./mine.conf 1 --label kept --event cycles:503 --event cache-misses:17 -- ./kernels hash.1 1
emulate in-order-2 1 --label other --event cycles:503 -- ./kernels heap.1 1
reports db >before 2>&1
check 'the stalls are judged' grep -q '"right_reason": true' before
check 'on the machine that it was' grep -q 'with the memory of mine, which was emulated' before
check 'it is archived' dcpitar --db db run.tar.zst
mkdir elsewhere
mv run.tar.zst elsewhere
mv db mine.conf kernels "$TMPDIR"
cd elsewhere || exit
check 'and extracted elsewhere' dcpitar -x run.tar.zst
check 'where it is sound' dcpictl --db run check
reports run >../after 2>&1
check_equal 'all that is said of it is the same' '' "$(diff ../before ../after)"
dcpimport --db all run >/dev/null
reports all >../imported 2>&1
check_equal 'also when it became part of another database' '' "$(diff ../before ../imported)"
