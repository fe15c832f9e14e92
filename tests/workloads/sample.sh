#!/bin/bash
# sample.sh SECONDS [BUILD] - a mix that keeps two CPUs busy: C, a shared library, a static program, C++, the kernel, gzip
#
# Its parts run one after the other in two lanes; nothing of it is left when it ends or is ended.
set -u
seconds=${1:-10}
programs=${2:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build}/workloads
share=$(((seconds + 2) / 3))

compress()
{
	local end=$((SECONDS + $1))

	while [ $SECONDS -lt $end ]; do
		head -c 8M "$programs/shares_static" | cat - /usr/bin/bash | gzip -9 | gzip -dc >/dev/null
	done
}

first_lane()
{
	"$programs/shares" "$share"
	"$programs/templates" "$share"
	compress "$((seconds - 2 * share))"
}

second_lane()
{
	"$programs/library_user" "$share"
	"$programs/kernel_work" "$share"
	"$programs/shares_static" "$((seconds - 2 * share))"
}

# Each lane is a process group of its own, so that ending the mix ends also what a lane is running.
set -m
first_lane &
first=$!
second_lane &
second=$!
trap 'kill -- -$first -$second 2>/dev/null; exit 1' INT TERM
wait $first $second
