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
sentence='dcpid in a guest with a PMU'

obstacle=$(guest_obstacle)
[ -z "$obstacle" ] || { skip "$sentence" "$obstacle"; exit 0; }
began=$SECONDS
guest_find_root >"$scratch/fetch.log" 2>&1 || {
	sed 's/^/# /' "$scratch/fetch.log"
	skip "$sentence" 'the packages of Debian arm64 cannot be fetched'
	exit 0
}
figure "linux $guest_kernel, Cortex-A72, 2 CPUs; found or fetched in $((SECONDS - began)) s"
began=$SECONDS
guest_compile programs >"$scratch/make.log" 2>&1 || {
	not_ok 'dcpi builds for arm64' "$(cat "$scratch/make.log")"
	exit 1
}
check_equal 'dcpi builds for arm64 without a warning' '' "$(grep warning: "$scratch/make.log")"
# Where the programs are there, they are here: dcpiprof here reads what it needs of them.
workloads=$top/$guest_build/workloads
check 'the guest can be made' guest_pack "$workloads"
figure "built and packed in $((SECONDS - began)) s"

began=$SECONDS
rm -rf "$results"
for name in right counting bursts; do
	start guest_boot "$results/$name" $name.sh
	guests+=("$started")
done
for guest in "${guests[@]}"; do
	wait "$guest" || {
		not_ok 'the guests run to their end' "$(tail -n 20 "$results"/*/console)"
		exit 1
	}
done
figure "guests ran for $((SECONDS - began)) s; they saw $(sed -n 's/\r//; s/^up //p' "$results"/*/console | paste -sd' ')"
judge
