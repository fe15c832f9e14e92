# shellcheck shell=sh
# controls.sh - in the guest with two nodes: what faults of NUMA balancing tell, and objects in which nothing is wrong
# shellcheck source=tests/numa/collect.sh
. /host/collect.sh

hinting_faults default
hinting_faults bind
hinting_faults balancing
mark_each 2000
objects controls stream 400 16
objects controls private 16000000 16
objects controls spread 800 16
objects controls once 40000000 16
objects controls replicated 260000 16
objects controls phases 700 16
mark_each 1000
objects controls cached 30000000 1
objects controls counter 7000000 1
objects controls padded 15000000 1
objects controls queue 500000 1
objects controls churn 12000 1
objects controls rare 5000 1
take_out
