# shellcheck shell=sh
# one_node.sh - in a guest whose memory is all of one node
# shellcheck source=tests/numa/collect.sh
. /host/collect.sh

observe one_node /workloads/objects/patterns local plain 4 10000 16
take_out
