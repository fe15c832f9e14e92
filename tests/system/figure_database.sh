# shellcheck shell=bash
# shellcheck disable=SC2154 # what lib.sh sets
# figure_database.sh - figure.S as three libraries, and a database with samples of them; sourced after lib.sh
#
# What is in it says dcpiprof.description. Expected texts have PLACE for the path of the scratch folder.

# figure.S as $scratch/figure.o
assemble_figure()
{
	as -o "$scratch/figure.o" "$top/tests/system/figure.S" &&
		objcopy --redefine-sym helper_2=helper --redefine-sym evil=$'evil\033[2Jname' "$scratch/figure.o"
}

# link_figure NAME BUILD-ID [OPTION...] - figure.S as $scratch/NAME
link_figure()
{
	ld -shared -z separate-code --build-id="0x$2" "${@:3}" -o "$scratch/$1" "$scratch/figure.o"
}

# make_figure_database DB
make_figure_database()
{
	assemble_figure &&
		link_figure libfigure.so 1111111111111111 &&
		link_figure libstripped.so 2222222222222222 -s &&
		link_figure libreplaced.so 3333333333333333 &&
		sed "s|PLACE|$scratch|" "$top/tests/system/dcpiprof.description" | "$build/tests/system/make_database" "$1"
}
