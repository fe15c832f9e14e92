#!/bin/bash
# dcpiemu: a pointer chase takes what the machine's file says of each level, STREAM gets the bandwidth that it says.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/system/emulate_lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/emulate_lib.sh"

emulator_or_skip 'memory is as the machine says' || exit 0
machines=$top/tests/system/machines
workloads=$build/workloads/emulated

# within SENTENCE PERCENT EXPECTED VALUE
within()
{
	check_at_most "$1: $3, it is $4" "$2" \
		"$(awk -v a="$3" -v b="$4" 'BEGIN { if (b > 0) print 100 * (a > b ? a - b : b - a) / a }')"
}

# chased SENTENCE MACHINE BYTES NS
chased()
{
	emulate "$2" 1 --no-samples -- "$workloads/chase" "$3" 64 20000 time
	within "$1" 1 "$4" "$(sed -n 's/ ns$//p' "$scratch/err")"
}

# levels PIPELINE NS - of a core whose loads take so long from level 1; each address waits for the one before
levels()
{
	sed "s/^pipeline = .*/pipeline = \"$1\";/; /level1/s/latency_cycles = 3/latency_cycles = $2/" \
		"$machines/levels.conf" >"$scratch/levels.conf"
	chased "$1: nanoseconds of level 1" "$scratch/levels.conf" 16384 "$2"
	chased "$1: of level 2" "$scratch/levels.conf" 98304 13
	chased "$1: of level 3" "$scratch/levels.conf" 786432 41
	chased "$1: of memory" "$scratch/levels.conf" 4194304 187
}

# streamed THREADS - each of four loops moves 0.2 GB a second, however many ask for them
streamed()
{
	local loop rate

	emulate "$machines/narrow.conf" "$1" --no-samples -- "$workloads/stream" 400000 2 time
	while read -r loop rate _; do
		within "GB/s that $loop moves with $1 threads" 3 0.2 "$rate"
	done <"$scratch/err"
	check_equal "all four loops of $1 threads said so" 4 "$(grep -c 'GB/s$' "$scratch/err")"
}

# Each load is of the last element of a line, 20000 lines with one between: the emulator reads the next line, too.
last_elements()
{
	local machine

	cat >"$scratch/last.c" <<-'C'
	static double table[20001 * 16] __attribute__((aligned(64)));
	int
	main(void)
	{
		for (long i = 0; i < 20000; i++)
			__asm__ volatile("vfmadd231sd %0, %%xmm1, %%xmm2" : : "m"(table[i * 16 + 7]) : "xmm2");
		return 0;
	}
	C
	gcc -O2 -static -o "$scratch/last" "$scratch/last.c" || return
	for machine in in-order-2 "$machines/levels.conf"; do
		emulate "$machine" 1 --no-samples -- "$scratch/last"
		within "lines that one element each is loaded from, with FMA (${machine##*/})" 5 20000 \
			"$(jq '.levels[] | select(.name == "L1 data").loads_missed' "$report")"
	done
}

levels in-order-2 3
levels intel-skylake 5
if [ "$(uname -m)" = x86_64 ]; then
	last_elements
fi
for threads in ${STREAM_THREADS:-1 2 7 18}; do
	streamed "$threads"
done
