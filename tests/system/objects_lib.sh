# shellcheck shell=bash
# objects_lib.sh - the programs of tests/workloads/objects whose answer is known, and how large they are for each test;
# sourced after lib.sh

# They are of tests that source it:
# shellcheck disable=SC2034

xeon='e5-2699v3-2s'
opteron='opteron-6174-2s'

# LOOPS and MIB of `patterns NAME` on a machine: what is wrong shows, in some seconds of emulation
declare -A pattern_size=(
	["replicate $opteron"]='10000 16'
	["interleave $opteron"]='6 32'
	["local $opteron"]='100000 64'
	["pin $opteron"]='50000 8'
	["migrate $opteron"]='500000 16'
	["pad $opteron"]='50000 1'
	["split $opteron"]='100000 1'
	["replicate $xeon"]='40000 96'
	["interleave $xeon"]='4 96'
	["local $xeon"]='100000 192'
	["pin $xeon"]='50000 8'
	["pad $xeon"]='50000 1'
	["split $xeon"]='100000 1'
)

# each_control COMMAND - COMMAND NAME MACHINE LOOPS MIB, for each NAME of `controls NAME`, in which nothing is wrong
each_control()
{
	"$1" stream $opteron 4 24
	"$1" private $xeon 50000 192
	"$1" cached $xeon 3000000 1
	"$1" spread $opteron 6 32
	"$1" counter $xeon 400000 1
	"$1" padded $xeon 1000000 1
	"$1" queue $xeon 200000 1
	"$1" churn $xeon 2000 1
	"$1" once $xeon 10000000 1
	"$1" rare $xeon 100 1
	"$1" replicated $opteron 5000 16
	"$1" phases $opteron 4 32
}
