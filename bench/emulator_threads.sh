# shellcheck shell=bash
# emulator_threads.sh - how bench/emulator measures threads: two on two cores, and their clocks kept together or not

# Globals of bench/emulator, and its functions:
# shellcheck disable=SC2154

# emulated_seconds THREADS QUANTUM COMMAND... - sets $seconds, and $virtual: what the program's own clock said
emulated_seconds()
{
	OMP_NUM_THREADS=$1 seconds emulate all "$@"
	virtual=$(sed -n 's/^\([0-9.]*\) s.*/\1/p' "$scratch/err")
}

# What two threads gain alone, and under qemu-user, is what there is to gain.
measure_scaling()
{
	local round threads

	for ((round = 0; round < rounds; round++)); do
		for threads in 1 2; do
			OMP_NUM_THREADS=$threads seconds "$build/workloads/emulated/matvec" 4096 30
			note mv-native $threads seconds "$seconds"
			OMP_NUM_THREADS=$threads seconds qemu-x86_64 -cpu max "$build/workloads/emulated/matvec" 4096 8
			note mv-plain $threads seconds "$seconds"
			emulated_seconds $threads '' "$build/workloads/emulated/matvec" 4096 4 time
			note mv $threads seconds "$seconds"
			note mv $threads virtual "$virtual"
			note mv $threads busy "$busy"
		done
	done
}

measure_quantum()
{
	local round threads quantum

	for ((round = 0; round < repeats; round++)); do
		for threads in 2 4; do
			for quantum in 0 ''; do
				emulated_seconds $threads "$quantum" "$build/workloads/emulated/dynamic_loop" 40000 time
				note "loop$threads" "quantum${quantum:-default}" seconds "$seconds"
				note "loop$threads" "quantum${quantum:-default}" virtual "$virtual"
				emulated_seconds $threads "$quantum" "$build/workloads/emulated/matvec" 2048 4 time
				note "mv$threads" "quantum${quantum:-default}" seconds "$seconds"
				note "mv$threads" "quantum${quantum:-default}" virtual "$virtual"
			done
		done
		printf 'emulator: clocks kept together, run %d\n' $((round + 1)) >&2
	done
}

measure_threads()
{
	measure_scaling
	measure_quantum
}

# variation PROGRAM QUANTUM - the standard deviation of virtual time, percent of its mean
variation()
{
	awk -v key="$1 $2 virtual" '$1 " " $2 " " $3 == key { n++; sum += $4; squares += $4 * $4 }
		END { mean = sum / n; v = (squares - n * mean * mean) / (n - 1); printf "%.3f", 100 * sqrt(v > 0 ? v : 0) / mean }' \
		"$scratch/figures"
}

print_quantum_row()
{
	awk -v name="$1" -v free="$(median "$2" quantum0 seconds)" -v held="$(median "$2" quantumdefault seconds)" \
		-v before="$(variation "$2" quantum0)" -v after="$(variation "$2" quantumdefault)" 'BEGIN {
		printf "| %s | %.3f | %.3f | %.2f | %s %% | %s %% |\n", name, free, held, held / free, before, after }'
}

print_threads()
{
	awk -v one="$(median mv 1 seconds)" -v two="$(median mv 2 seconds)" -v v1="$(median mv 1 virtual)" \
		-v v2="$(median mv 2 virtual)" -v n1="$(median mv-native 1 seconds)" -v n2="$(median mv-native 2 seconds)" \
		-v p1="$(median mv-plain 1 seconds)" -v p2="$(median mv-plain 2 seconds)" \
		-v b1="$(median mv 1 busy)" -v b2="$(median mv 2 busy)" 'BEGIN {
		printf "\nMatrix times vector, full model, two threads on two CPUs beside one: %.2f times as fast on the\nclock" \
			" (%.2f s, %.2f s), %.2f times in virtual time. Native they are %.2f times as fast, under\n" \
			"qemu-user alone %.2f times. Together they take %.2f times the processor time of one.\n", \
			one / two, one, two, v1 / v2, n1 / n2, p1 / p2, b2 / b1 }'
	cat <<-END

	| full model, $repeats runs | not kept together, s | kept together, s | ratio | virtual time varies by, not kept together | kept together |
	|---|---:|---:|---:|---:|---:|
	END
	print_quantum_row 'dynamically scheduled loop, 2 threads' loop2
	print_quantum_row '... 4 threads on 2 CPUs' loop4
	print_quantum_row 'matrix times vector, 2 threads' mv2
	print_quantum_row '... 4 threads on 2 CPUs' mv4
}
