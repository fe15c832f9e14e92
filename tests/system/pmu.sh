#!/bin/bash
# dcpid on real hardware events, on another architecture and another kernel: built for arm64, in a guest of Debian's
# kernel under QEMU whose PMU counts and interrupts
#
# Three guests run at once; what they said stays in build-arm64/pmu/. Needs no KVM.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source=guest.sh
. "$top/tests/system/guest.sh"
# shellcheck source=call_tree_ways.sh
. "$top/tests/system/call_tree_ways.sh"
# shellcheck source=../pmu/judge.sh
. "$top/tests/pmu/judge.sh"

results=$top/$guest_build/pmu
# Where the programs are there, they are here: dcpiprof here reads what it needs of them.
workloads=$top/$guest_build/workloads
guest_make_or_skip 'dcpid in a guest with a PMU' "$workloads" programs || exit 0

rm -rf "$results"
for name in right counting bursts; do
	start guest_boot "$results/$name" $name.sh
	guests+=("$started")
done
guests_end "$results" "${guests[@]}"
judge
