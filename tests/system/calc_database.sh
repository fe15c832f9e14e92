# shellcheck shell=bash
# shellcheck disable=SC2154 # what lib.sh sets
# calc_database.sh - calc.S as several libraries, and a database with samples of them; sourced after lib.sh
#
# What is in it says dcpicalc.description. Expected texts have PLACE for the path of the scratch folder.

unset PAGER LESS NO_COLOR DCPI_CPUS

# calc_or_skip SENTENCE - can calc.S be assembled here? If not, say so as the reason of skipping SENTENCE.
calc_or_skip()
{
	[ "$(uname -m)" = x86_64 ] || {
		skip "$1" 'the code is of x86-64, and no assembler for it is here'
		return 1
	}
}

# link_calc NAME BUILD-ID [OPTION...] - calc.S as $scratch/NAME
link_calc()
{
	ld -shared -z separate-code --build-id="0x$2" "${@:3}" -o "$scratch/$1" "$scratch/calc.o"
}

# make_calc_database DB
make_calc_database()
{
	as -g -o "$scratch/calc.o" "$top/tests/system/calc.S" &&
		objcopy --redefine-sym twin_2=twin "$scratch/calc.o" &&
		link_calc libcalc.so 1111111111111111 &&
		link_calc libstripped.so 2222222222222222 -s &&
		link_calc libreplaced.so 5555555555555555 &&
		link_calc libexact.so 6666666666666666 &&
		sed "s|PLACE|$scratch|" "$top/tests/system/dcpicalc.description" | "$build/tests/system/make_database" "$1"
}

# make_hybrid_database DB - after make_calc_database: samples of two kinds of cores, of one what dcpicalc.description has
# of cycles, of the other 360 of sum in libcalc.so, and 5 elsewhere in it
make_hybrid_database()
{
	sed "s|PLACE|$scratch|; s|^event cycles cycles|event cpu_core/cycles/ cycles|; s|count cycles|count cpu_core/cycles/|" \
		"$top/tests/system/dcpicalc.description" |
		sed 's|^event page-faults|event cpu_atom/cycles/ cycles cycles 4000 yes -\n&|
			/^count page-faults/s|$|\ncount cpu_atom/cycles/ 0 0 0x1017 60\ncount cpu_atom/cycles/ 0 0 0x101e 300\ncount cpu_atom/cycles/ 0 0 0x1040 5|' |
		"$build/tests/system/make_database" "$1"
}

# with_place TOOL OPTION... - what the tool prints, with PLACE
with_place()
{
	"$@" 2>&1 | sed "s|$scratch|PLACE|g"
}
