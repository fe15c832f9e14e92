# shellcheck shell=sh
# patterns.sh - in the guest with two nodes: objects that are placed wrongly, or whose lines are shared falsely
# shellcheck source=tests/numa/collect.sh
. /host/collect.sh

mark_each 2000
objects patterns replicate 800000 16
objects patterns interleave 1000 16
objects patterns local 24000000 16
objects patterns pin 12000000 8
objects patterns migrate 60000000 16
mark_each 1000 # they have one page
objects patterns pad 15000000 1
objects patterns split 15000000 1
echo 0 >/proc/sys/kernel/numa_balancing
observe off /workloads/objects/patterns local plain 4 10000 16
take_out
