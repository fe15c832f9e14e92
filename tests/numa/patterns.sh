# shellcheck shell=sh
# patterns.sh - in the guest with two nodes: what faults of NUMA balancing tell, and objects that are placed wrongly
# shellcheck source=tests/numa/collect.sh
. /host/collect.sh

hinting_faults default
hinting_faults bind
hinting_faults balancing
objects patterns replicate 400000 16
objects patterns interleave 600 16
objects patterns local 24000000 16
objects patterns pin 12000000 8
objects patterns migrate 60000000 16
echo 0 >/proc/sys/kernel/numa_balancing
observe off /workloads/objects/patterns local plain 4 10000 16
take_out
