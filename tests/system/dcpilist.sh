#!/bin/bash
# dcpilist on a small database, its output compared whole with texts that were written by hand.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$top/tests/system
db=$scratch/db
unset PAGER LESS NO_COLOR

if [ "$(uname -m)" != x86_64 ]; then
	skip 'what dcpilist prints' 'the code is of x86-64, and no assembler for it is here'
	exit 0
fi

# Line numbers as no compiler makes them: the last there can be, in a file that never ends and one that never begins.
far_source()
{
	printf '%s\n' '.text' '.globl far' '.type far, @function' 'far:' ".file 1 \"$scratch/calc.S\"" '.file 2 "/dev/zero"' \
		".file 3 \"$scratch/pipe\"" '.loc 1 3' 'nop' '.loc 1 2147483647' 'nop' '.loc 2 1' 'nop' '.loc 3 7' 'ret' \
		'.size far, . - far'
}

# With line numbers, of which the loop's are lines 21 to 25 of the source.
make_database()
(
	cd "$scratch" || exit
	cp "$here/calc.S" . &&
		as -g -o calc.o calc.S && objcopy --redefine-sym twin_2=twin calc.o &&
		ld -shared -z separate-code --build-id=0x1111111111111111 -o libcalc.so calc.o &&
		ld -shared -z separate-code --build-id=0x2222222222222222 -S -o libstripped.so calc.o &&
		mkfifo pipe && far_source >far.S && as -g -o far.o far.S &&
		ld -shared -z separate-code --build-id=0x7777777777777777 -o libfar.so far.o &&
		sed -e "s|PLACE|$scratch|" -e "/^image user 6666/a image user 7777777777777777 $scratch/libfar.so" \
			-e '0,/^slice/ s/^slice/count cycles 6 0 0x1001 9\n&/' "$here/dcpicalc.description" |
		"$build/tests/system/make_database" "$db"
)

list()
{
	dcpilist --db "$db" "$@" 2>&1 | sed "s|$scratch|PLACE|g"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpilist/$2")" "$(list "${@:3}")"
}

check 'the database is made' make_database || exit 1
first=$(grep -n '^1:' "$here/calc.S" | cut -d : -f 1)
check_equal 'the loop is where the expected texts have it' 21 "$first"

prints 'instructions below their lines' both sum libcalc.so
prints 'lines alone' source --source sum libcalc.so
prints 'instructions alone, one event' instructions --instructions --event page-faults --asm intel sum libcalc.so
prints 'instructions, where there are no lines' no_lines sum libstripped.so

list --json sum libcalc.so >"$scratch/sum.json"
check 'JSON is what its manual says' json_holds '
	.schema == "dcpilist/1" and .procedure == "sum" and .build_id == "1111111111111111" and
	.samples == {cycles: 26010, "page-faults": 7} and (.instructions | length) == 9 and (.lines | length) == 9 and
	(.instructions[3] | .line == 21 and .file == "PLACE/calc.S" and .samples == {cycles: 2000, "page-faults": 7}) and
	(.lines[3].text | startswith("1:"))' "$scratch/sum.json"

(ulimit -t 20; list --source far libfar.so) >"$scratch/far"
check 'line numbers that no file has are shown, and not counted up to' grep -qE '^ +9 .* 2147483647' "$scratch/far"
check 'what never ends is no source' grep -qF '/dev/zero (the data is damaged or not what it claims to be)' "$scratch/far"
check 'nor what never begins' grep -qF 'PLACE/pipe (the data is damaged or not what it claims to be)' "$scratch/far"

rm "$scratch/calc.S"
check 'a source file that is gone is said' grep -qF 'calc.S (No such file or directory)' <(list sum libcalc.so)
check_fails 'a name that is none' 4 'did you mean sum?' dcpilist --db "$db" sumn libcalc.so
check_fails 'a file that is gone' 1 'its file is not there any more' dcpilist --db "$db" sum libgone.so
check_fails 'an event that is none' 2 "no event 'sickles' in the selected epochs" dcpilist --db "$db" --event sickles sum
check_fails 'no procedure' 2 'which procedure?' dcpilist --db "$db"

[ $failures = 0 ]
