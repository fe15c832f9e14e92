# shellcheck shell=sh
# controls.sh - in the guest with two nodes: objects in which nothing is wrong
# shellcheck source=tests/numa/collect.sh
. /host/collect.sh

objects controls stream 400 16
objects controls private 16000000 16
objects controls cached 24000000 1
objects controls spread 320 16
objects controls counter 7000000 1
objects controls padded 11000000 1
objects controls queue 6000 1
objects controls churn 12000 1
objects controls once 40000000 16
objects controls rare 2800 1
objects controls replicated 260000 16
objects controls phases 700 16
take_out
