#!/bin/bash
# dcpiloc: programs that GCC compiled with the plugin do what they do without it, at each level of optimization, and say how
# local the references of their loops are; records are there however programs end; bad input gets a sentence
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sources=$top/tests/workloads/locality
export DCPI_LOCALITY=$scratch/records DCPI_DB=$scratch/db
report=$scratch/report
mkdir "$DCPI_LOCALITY" "$scratch/plain"

if ! dcpiloc --cflags >"$scratch/cflags" 2>"$scratch/err"; then
	skip 'programs are compiled with the plugin' "$(cat "$scratch/err")"
	exit 0
fi
read -ra cflags <"$scratch/cflags"
read -ra libs < <(dcpiloc --libs)

# compile COMPILER SOURCE OPTION... - $scratch/program with the plugin, $scratch/plain/program without
compile()
{
	"$1" "${@:3}" -o "$scratch/plain/program" "$sources/$2" -lpthread -lm 2>"$scratch/err" &&
		"$1" "${@:3}" "${cflags[@]}" -o "$scratch/program" "$sources/$2" "${libs[@]}" -lpthread -lm 2>>"$scratch/err"
}

# is_same ARGUMENT... - the program ends with the status and the output that it has without the plugin
is_same()
{
	[ "$("$scratch/plain/program" "$@" 2>&1; echo $?)" = "$("$scratch/program" "$@" 2>&1; echo $?)" ]
}

is_same_on_disk()
{
	local DCPI_LOCALITY=$scratch/disk

	is_same "$@"
}

# observe ARGUMENT... - run the program, whose record alone is shown in $report
observe()
{
	rm -f "$DCPI_LOCALITY"/*
	is_same "$@" || not_ok "$* does what it does without the plugin"
	dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" >"$report" 2>"$scratch/err"
}

# of LOOP FILTER - of the function's loop with most references
of()
{
	jq -r --arg function "$1" "[.loops[] | select(.function == \$function)] | max_by(.references) | $2" "$report"
}

# close SENTENCE EXPECTED FOUND WITHIN
close()
{
	check "$1: $3 is $2 within $4" awk -v e="$2" -v f="$3" -v w="$4" 'BEGIN { exit !(f - e <= w && e - f <= w) }'
}

# ---- what is known of loops ----

compile gcc kernels.c -O2 -g || not_ok 'a program in C is compiled with the plugin' "$(cat "$scratch/err")"
observe add 1000 20
check_equal 'a loop that adds: how often, how long, what it refers to' '20 20000 60000 e 3' \
	"$(of add '"\(.entries) \(.iterations) \(.references) \(if .entries > 0 then "e" else "a" end) \(.streams | length)"')"
check_equal '... each the element beside' '8 stride 1,8 stride 1,8 stride 1' "$(of add '[.streams[] | "\(.stride) \(.class)"] | join(",")')"
check_equal '... how far' '8000 8000 8000' "$(of add '[.streams[].range] | join(" ")')"
check_equal '... where' "$(grep -n 'c\[i\] = a\[i\] + b\[i\];' "$sources/kernels.c" | cut -d: -f1)" "$(of add '.streams[0].line')"
check_equal '... and what' 'a b c' "$(of add '[.streams[].name] | sort | join(" ")')"
close '... as spatial as can be' 1 "$(of add .spatial)" 0.001
# 3,000 addresses again in each round but the first: i is 11
close '... and as temporal as the arrays are large' "$(awk 'BEGIN { print 19 / 20 * 5 / 16 }')" "$(of add .temporal)" 0.001
observe add 100000 1
close 'a loop that never comes back is not temporal' 0 "$(of add .temporal)" 0.001

observe random 100000
check_equal 'places of a table at random: each says its address' '0 irregular' "$(of update '"\(.entries) \([.streams[].class] | unique | join(" "))"')"
close '... not spatial' 0 "$(of update .spatial)" 0.01
observe sparse 1000
check_equal 'a sparse matrix: two streams and what they index' 'by index,stride 1,stride 1' "$(of multiply '[.streams[].class] | sort | join(",")')"
check_equal '... once for each row' '1000 11' "$(of multiply '"\(.entries) \(.iterations / .entries)"')"
observe columns 200
check_equal 'a matrix down its columns: the stride is a row' '1600 strided' "$(of sum_columns '.streams[0] | "\(.stride) \(.class)"')"
close '... not spatial' 0.005 "$(of sum_columns .spatial)" 0.001
observe chase 5000
check_equal 'a list: its members are irregular' 'irregular irregular next value' \
	"$(of chase '([.streams[].class] | join(" ")) + " " + ([.streams[].name | sub(".*[.]"; "")] | sort | join(" "))')"
check_equal '... each of them' 10000 "$(of chase .references)"
observe search 1000 3
check_equal 'a loop that may end early: how often, how long, what it refers to' '3 1506 1506 4' \
	"$(of find '"\(.entries) \(.iterations) \(.references) \(.streams[0].stride)"')"
# the first time 600 numbers are copied, the second time 301; the 601st is read only
observe stops 900
check_equal 'one that is left in the middle of an iteration, too: each reference as often as it was made' '2 901 902 901 901' \
	"$(of copy_until '"\(.entries) \(.iterations) \([.streams[].references] | join(" "))"')"
observe members 1000
check_equal 'a member of structures' '32 strided .mass' "$(of weigh '.streams[0] | "\(.stride) \(.class) .\(.name | sub(".*[.]"; ""))"')"
close '... is four words from the next' 0.25 "$(of weigh .spatial)" 0.001
observe dense 40
check_equal 'a matrix times a matrix: known where the outermost loop is entered' '1600 64000 128000 e' \
	"$(of multiply_dense '"\(.entries) \(.iterations) \(.references) \(if .entries > 0 then "e" else "a" end)"')"
check_equal '... a row, a column, and what is written behind them' '320 8 8' \
	"$(jq -r '[.loops[] | select(.function == "multiply_dense") | .streams[].stride] | sort_by(-.) | join(" ")' "$report")"
check_equal '... for each row' '40 1600' \
	"$(jq -r '.loops[] | select(.function == "multiply_dense" and .streams[0].access == "write") | "\(.entries) \(.iterations)"' "$report")"
observe flags 1000
check_equal 'a bit field has no address: half of the loop is described' '50 1' "$(jq -r '"\(.described * 100 | round) \([.loops[] | .left_out] | add)"' "$report")"
observe ragged
# rows times elements: 9 * (0 + 0 + 1 + 5 + 2), whatever the bounds are of loops that never run
check_equal 'loops that run never are as often as they run' 72 "$(of sum_ragged '.references')"
observe add 100000000 1
check_equal 'a loop of which a part is recorded has all its references' '300000000 true' "$(of add '"\(.references) \(.spatial > 0.99)"')"

# ---- unusual loops ----

compile gcc corners.c -O1 -g -fno-tree-ch || not_ok 'loops whose flow is unusual are compiled' "$(cat "$scratch/err")"
observe within
check_equal 'a loop within another one is there twice: the outer one has its own two references a round, no others' \
	'1000 numbers,others' "$(jq -r '.loops[] | select(.function == "within" and .references < 2000) |
		"\(.references) \([.streams[].name] | unique | join(","))"' "$report")"
observe cycle
# of others 901, of numbers one or two in each of 900 iterations
check_equal 'in a cycle with two entries each reference is counted' 2251 "$(of cycle .references)"
observe first
check_equal 'a search that ends at once has its stride' '2000 0 2000 stride 1,stride 1' \
	"$(of first '"\(.entries) \(.iterations) \(.references) \([.streams[].class] | join(","))"')"
for level in -O1 -O2 -O3 -Os; do
	compile gcc corners.c $level || not_ok "$level: a label in a loop's assembly is there once" "$(cat "$scratch/err")"
	is_same label || not_ok "$level: beside a label in assembly, the program does what it does"
	gcc $level -fcompare-debug "${cflags[@]}" -c -o "$scratch/compared.o" "$sources/kernels.c" 2>"$scratch/err" ||
		not_ok "$level: debug information changes nothing" "$(cat "$scratch/err")"
done

# ---- loops in which something else counts, too ----

# check_counted KERNEL OPTION - by its own countdown: in one thread, and no reference is lost or counted twice
check_counted()
{
	local percent

	percent=$(gcc -O1 -w "$2" "${cflags[@]}" -o "$scratch/within" "$sources/within.c" "${libs[@]}" 2>"$scratch/err" &&
		OMP_NUM_THREADS=1 DCPI_LOCALITY='' "$scratch/within" "$1")
	check_at_least "what is counted beside: $1" 97 "$percent"
	check_at_most '... once' 103 "$percent"
}

check_counted parallel -fopenmp
check_counted handler -fno-openmp
check_counted allocator -DALLOCATOR

# ---- loops that were drawn by lot ----

# drawn SEED LEVEL - nothing, if the program does what it does without the plugin, and its references are those that it counts
drawn()
{
	local made found

	if ! python3 "$sources/random_loop.py" "$1" >"$scratch/drawn.c" ||
		! gcc -O0 -DCOUNT -o "$scratch/counting" "$scratch/drawn.c" ||
		! gcc "$2" "${cflags[@]}" -o "$scratch/drawn" "$scratch/drawn.c" "${libs[@]}"; then
		echo "$1 is not compiled with $2"
		return
	fi
	made=$("$scratch/counting" 2>&1 >"$scratch/counted")
	rm -f "$DCPI_LOCALITY"/*
	"$scratch/drawn" >"$scratch/recorded"
	env DCPI_LOCALITY= "$scratch/drawn" >"$scratch/unrecorded"
	found=$(dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" | jq '[.loops[] | select(.function == "drawn") | .references] | add // 0')
	[ "$found" = "$made" ] || echo "$1 $2: $found references in place of $made"
	cmp -s "$scratch/counted" "$scratch/recorded" && cmp -s "$scratch/counted" "$scratch/unrecorded" || echo "$1 $2: another output"
}

if command -v python3 >/dev/null; then
	for level in -O1 -O2 -O3; do
		check_equal "$level: of eight loops with exits anywhere, each reference is counted, and nothing is changed" '' \
			"$(for seed in {1..8}; do drawn "$seed" "$level"; done)"
	done
else
	skip 'loops that were drawn by lot' 'python3 is not installed'
fi

# ---- of which build ----

# build_ids - of the loops in all records, each once
build_ids()
{
	dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" | jq -r '[.loops[].build_id] | unique | join(" ")'
}

rm -f "$DCPI_LOCALITY"/*
for id in 0x0123456789abcdef0123 0xff 0x0123456789abcdef0123456789abcdef01234567 none; do
	compile gcc kernels.c -O2 -g "-Wl,--build-id=$id" || not_ok "a program is linked with the build-id $id" "$(cat "$scratch/err")"
	"$scratch/program" add >"$scratch/out"
done
check_equal 'loops of four builds of a program, one without a build-id' \
	' 0123456789abcdef0123 0123456789abcdef0123456789abcdef01234567 ff' "$(build_ids)"
check_equal '... are four loops' 4 "$(dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" | jq '[.loops[] | select(.function == "add")] | length')"
check_equal '... of the same build, one' 4 "$("$scratch/program" add >"$scratch/out"
	dcpiloc --json --limit 1000 --directory "$DCPI_LOCALITY" | jq '[.loops[] | select(.function == "add")] | length')"
rm -f "$DCPI_LOCALITY"/*
check 'a library is compiled' gcc -O2 "${cflags[@]}" -fPIC -shared -Dmain=run_kernels -Wl,--build-id=0xaa -o "$scratch/libkernels.so" \
	"$sources/kernels.c" "${libs[@]}"
printf 'int run_kernels(int, char **); int main(int count, char **words) { return run_kernels(count, words); }\n' >"$scratch/user.c"
check '... and a program that uses it' gcc -o "$scratch/user" "$scratch/user.c" -Wl,--build-id=0xbb "-Wl,-rpath,$scratch" "$scratch/libkernels.so"
"$scratch/user" add >"$scratch/out"
check_equal 'the loops of a library have its build-id' aa "$(build_ids)"

# ---- however programs end, and in all threads and processes ----

observe threads 1000
check_equal 'four threads' '4 4000' "$(of add '"\(.entries) \(.iterations)"')"
observe fork 1000
check_equal 'a child has a record of its own' '2 3' "$(jq -r .records "$report") $(of add .entries)"
observe segv 1000
check_equal 'a program that a signal ended has its record' 1 "$(of add .entries)"
observe exit 1000
check_equal 'one that _exit() ended, too' 1 "$(of add .entries)"
observe jump 1000
check_equal 'a loop that longjmp() left' true "$(of jump_out '[.streams[] | select(.name | test("numbers"))][0].references | . >= 500 and . <= 501')"
observe goto 1000
check_equal 'jumps that are computed: each is seen' 999 "$(of interpret '[.streams[] | select(.name == "code").references] | add')"
observe signals 20000
check_equal 'a handler with a loop of its own, between those of its thread: the record is whole' '0 20000 11' \
	"$(jq .damaged "$report") $(of multiply '"\(.entries) \(.iterations / .entries)"')"
check_at_least '... and has the handler'\''s' 2 "$(of add .entries)"

# ---- each level, and other languages ----

# with a heap of nothing the compiler collects its garbage before each pass
for level in -O0 -O1 -O2 -O3 -Os '-O3 -march=native' '-O2 -flto' '-O2 -fopenmp' '-O2 -fnon-call-exceptions' '-O2 -fchecking' \
	'-O2 --param ggc-min-expand=0 --param ggc-min-heapsize=0' '-Os -fchecking'; do
	# shellcheck disable=SC2086 # words
	compile gcc kernels.c $level || not_ok "compiled with $level" "$(cat "$scratch/err")"
	unlike=''
	for name in add random sparse columns chase search stops members flags dense ragged threads fork segv exit jump goto signals words; do
		is_same $name 300 2 || unlike+=" $name"
	done
	check_equal "$level: which programs do not do what they do without the plugin" '' "$unlike"
	# 300 elements of three arrays, twice, by vectors or one by one
	observe add 300 2
	case $level in
	-O0) check_equal "$level: without an optimizer nothing is described" 1 "$(grep -c 'there is no record' "$scratch/err")" ;;
	*) check_equal "$level: each element is referred to" 14400 \
		"$(jq '[.loops[] | select(.function == "add") | .iterations * ([.streams[].bytes] | add)] | add' "$report")" ;;
	esac
done
compile g++ throws.cc -O2 -g || not_ok 'a program in C++ is compiled' "$(cat "$scratch/err")"
observe
check_equal 'a loop that exceptions leave' true "$(of sum_until '(.references > 0)')"
if command -v gfortran >/dev/null; then
	compile gfortran sparse.f90 -O2 -g || not_ok 'a program in Fortran is compiled' "$(cat "$scratch/err")"
	observe
	check_equal 'a loop of Fortran: two streams, read and written by index' 'by index,by index,stride 1,stride 1' \
		"$(of sparse '[.streams[].class] | sort | join(",")' | head -n 1)"
	check_equal '... with its line' "$(grep -n 'do k = colstr' "$sources/sparse.f90" | cut -d: -f1)" \
		"$(jq -r '[.loops[] | select(any(.streams[]; .class == "by index"))][0].line' "$report")"
	check_equal '... by rows, a matrix that is kept by columns' 512 \
		"$(jq -r '[.loops[].streams[] | select(.class == "strided") | .stride] | max' "$report")"
else
	skip 'a loop of Fortran' 'gfortran is not installed'
fi

# ---- what it costs, by instructions, while nothing is recorded ----

# instructions PROGRAM KERNEL - of 16 times the kernel; nothing if it does not run
instructions()
{
	local times counts=()

	for times in 8 24; do
		DCPI_LOCALITY='' valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$2" $times >"$scratch/out" 2>&1 || return
		counts+=("$(sed -n 's/.*Collected : //p' "$scratch/out")")
	done
	echo $((counts[1] - counts[0]))
}

# check_instructions KERNEL PERCENT - at least 99 % are there, too: else it does not do the same
check_instructions()
{
	local percent

	percent=$(awk -v with="$(instructions "$scratch/program" "$1")" -v without="$(instructions "$scratch/plain/program" "$1")" \
		'BEGIN { if (with > 0 && without > 0) print 100 * with / without }')
	check_at_most "$1 takes at most $2 % of the instructions that it takes without the plugin" "$2" "$percent"
	check_at_least '... and all of them' 99 "$percent"
}

compile gcc twelve.c -O2 || not_ok 'the kernels are compiled' "$(cat "$scratch/err")"
if command -v valgrind >/dev/null; then
	check_instructions dense 101 # known at its entry, all of it
	check_instructions convolution 101
	check_instructions fft 103
	check_instructions sparse 120 # rows of 11: each is entered, and has three references around it
	check_instructions sort 145
	check_instructions join 135 # chains of 1.6: three references each
	check_instructions tree 165
	check_instructions list 230 # of four instructions
else
	skip 'instructions are counted' 'valgrind is not installed'
fi

# ---- for a reader ----

compile gcc kernels.c -O2 -g
observe sparse 1000
check 'a table' dcpiloc
check_equal '... has the loop' 1 "$(dcpiloc | grep -c 'multiply .*kernels.c:.*2 stride 1, 1 by index')"
line=$(of multiply .line)
check_equal 'one loop, by its line, with its references' 3 "$(dcpiloc --loop "kernels.c:$line" | grep -c 'kernels.c:[0-9]*  [a-z]')"
check_equal '... by its whole path' "$(dcpiloc --loop "kernels.c:$line")" "$(dcpiloc --loop "$sources/kernels.c:$line")"
check_at_least 'all of a function' 6 "$(dcpiloc --loop multiply | grep -c 'kernels.c:[0-9]*  [a-z]')"

if command -v gnuplot >/dev/null; then
	check 'a picture of the loops' dcpiloc --plot "$scratch/plane.svg"
	check_equal '... is one' 1 "$(grep -c '<svg' "$scratch/plane.svg")"
else
	skip 'a picture of the loops' 'gnuplot is not installed'
fi
dcpiloc --plot "$scratch/plane.gnuplot"
check_equal '... with the loops by name' 1 "$(grep -c "1: multiply, kernels.c:$line" "$scratch/plane.gnuplot")"
check_equal '... and what was published' 1 "$(grep -c '^0.422 0.714$' "$scratch/plane.gnuplot")"

# ---- what goes wrong ----

check_fails 'a picture of no kind' 2 'plane.jpeg' dcpiloc --plot "$scratch/plane.jpeg"

check_fails 'a loop that is none' 2 'no loop or function that ran is called so' dcpiloc --loop nowhere.c:1
check_fails 'no records' 1 'there is no record' dcpiloc --directory "$scratch/plain"
check_fails 'no such directory' 1 'there is no record' dcpiloc --directory "$scratch/nowhere"
check_fails 'a file that is no record' 1 'it is no record' dcpiloc "$sources/kernels.c"
: >"$scratch/empty"
check_fails 'an empty one' 1 'it has nothing yet' dcpiloc "$scratch/empty"
check_fails 'files and a directory' 2 'either files or --directory' dcpiloc --directory "$scratch" "$scratch/empty"
printf '#!/bin/sh\necho 4\n' >"$scratch/old"
chmod +x "$scratch/old"
check_fails 'a compiler for which there is no plugin' 1 'there is no plugin for GCC 4' env CC="$scratch/old" dcpiloc --cflags
check_fails 'a compiler that is none' 1 'it does not say its version' env CC=/bin/false dcpiloc --cflags
"$scratch/program" sparse 1000 >"$scratch/out"
record=$(echo "$DCPI_LOCALITY"/*)
head -c 100000 "$record" >"$scratch/cut"
check_fails 'a record that is cut' 1 'it is no record of a program' dcpiloc "$scratch/cut"
check_equal 'a program without a directory for its record runs' "$("$scratch/plain/program" add) 0" \
	"$(DCPI_LOCALITY=$scratch/nowhere "$scratch/program" add) $?"
check_equal 'with an empty one it leaves none' "$(find "$DCPI_LOCALITY" -type f | wc -l)" \
	"$(DCPI_LOCALITY='' "$scratch/program" add >/dev/null; find "$DCPI_LOCALITY" -type f | wc -l)"

mkdir "$scratch/disk"
for size in 4k 64k 1100k 1200k 3m; do
	if ! mount -t tmpfs -o size=$size,mode=1777 tmpfs "$scratch/disk" 2>/dev/null; then
		skip 'a full disk costs records only' 'no tmpfs can be mounted'
		break
	fi
	check "on a disk of $size, which is full, programs do what they do without" is_same_on_disk random 2000000
	umount "$scratch/disk"
done
mount -t tmpfs -o size=1200k,mode=1777 tmpfs "$scratch/disk" 2>/dev/null && {
	DCPI_LOCALITY=$scratch/disk "$scratch/program" random 2000000 >/dev/null
	check_equal '... and what is there is shown, with what is missing' 1 \
		"$(dcpiloc --directory "$scratch/disk" | grep -c 'Missing: what came after a record, or its disk, was full')"
	umount "$scratch/disk"
}

[ $failures = 0 ]
