#!/bin/bash
# library.sh [package] - libsample as another program finds it where it is installed: by pkg-config, in C and C++, shared
# and static. `package`: out of the Debian packages that `make deb` made, else out of `make install`.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

root=$scratch/root
db=$scratch/db
library_path=$root/usr/lib/$(gcc -print-multiarch)
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$library_path/pkgconfig

if [ "${1:-}" = package ]; then
	install_it()
	{
		local file

		for file in "$build"/libsample0_*.deb "$build"/libsample-dev_*.deb; do
			dpkg-deb -x "$file" "$root" || return
		done
	}
	example=$root/usr/share/doc/libsample-dev/examples/hottest.c
else
	install_it()
	{
		env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top" BUILD="$build" DESTDIR="$root" install
	}
	example=$top/libsample/api/examples/hottest.c
fi

make_database()
{
	"$build/tests/system/make_database" "$db" <<'END'
event cache-misses cache-misses events 1000003 no no\x20counters
event cpu-clock cycles ns 4000000 yes -
image user 1111111111111111 /opt/bin/warm
image user 2222222222222222 /opt/bin/hot
image kernel - [kernel]
context any / -
epoch 1795271400 before
count cpu-clock 0 0 0x1000 5000
slice 1795271400 1795272000
epoch 1795275000 nightly
count cpu-clock 0 0 0x1000 100
count cpu-clock 0 0 0x2000 200
count cpu-clock 1 0 0x1000 400
count cpu-clock 2 0 0x1010 250
unknown cpu-clock no-process 50
slice 1795275000 1795275600
symbols 2 0x1000 start_kernel
END
}

# build COMPILER PROGRAM SOURCE [OPTION...] - with what pkg-config says
build()
{
	# shellcheck disable=SC2046 # options
	"$1" -Wall -Wextra -Werror -o "$scratch/$2" "$3" $(pkg-config --cflags --libs "${@:4}" libsample)
}

# Each header alone, as the first thing in a file, by the strictest rules of both languages.
headers_stand_alone()
{
	local header

	for header in "$root"/usr/include/libsample/*.h; do
		gcc -fsyntax-only -x c -std=c99 -pedantic -Wall -Wextra -Werror -I "$root/usr/include" "$header" &&
			g++ -fsyntax-only -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I "$root/usr/include" "$header" || return
	done
}

declared()
{
	cat "$root"/usr/include/libsample/*.h | grep -oE '\bsample_[a-z_]+\(' | tr -d '(' | sort -u
}

# A C++ program that asks for more: the procedure and the source line of each point.
write_points()
{
	cat >"$scratch/points.cc" <<'END'
#include <libsample/symbols.h>
#include <libsample/error.h>
#include <cstdio>
#include <cstdlib>

int main(int, char **argv)
{
	sample_request request = {};
	sample_selection *selection;
	sample_database *database;
	char why[200] = "";

	request.size = sizeof(request);
	request.epoch = argv[2];
	int err = sample_database_open(argv[1], &database);
	if (!err)
		err = sample_selection_read(database, &request, &selection, why, sizeof(why));
	if (err) {
		std::printf("%d %s (%s)\n", err, sample_error_text(err), why);
		return 1;
	}
	for (std::size_t i = 0; i < sample_point_count(selection); i++) {
		sample_symbols *symbols;
		sample_point point;
		const char *name = nullptr, *path = "?";
		unsigned line = 0;
		uint64_t start;

		sample_point_get(selection, i, &point);
		err = sample_symbols_open(database, selection, point.image, &symbols);
		if (!err) {
			sample_symbols_find(symbols, point.offset, &start, &name);
			sample_symbols_line(symbols, point.offset, &path, &line);
		}
		char *readable = name ? sample_demangle(name) : nullptr;
		std::printf("%s %s %s:%u %llu\n", sample_image_path(selection, point.image),
		            readable ? readable : name ? name : sample_error_text(err), path, line,
		            static_cast<unsigned long long>(point.samples));
		std::free(readable);
		if (!err)
			sample_symbols_close(symbols);
	}
	sample_selection_free(selection);
	sample_database_close(database);
}
END
}

check 'the database is made' make_database || exit 1
check 'the library is installed' install_it || exit 1
check 'each header stands alone, in C and in C++' headers_stand_alone
check_equal 'the shared library has its version in its name' libsample.so.0 \
	"$(readelf -d "$library_path/libsample.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')"
check_equal 'it exports what the headers declare, under its version, and nothing else' \
	"$(declared | sed 's/$/@@LIBSAMPLE_0/')" \
	"$(nm -D --defined-only "$library_path/libsample.so" | sed -n 's/.* [^A] //p' | sort)"
check_equal 'and so does the static one' "$(declared)" \
	"$(nm -g --defined-only "$library_path/libsample.a" | awk 'NF == 3 { print $3 }' | sort)"

check_at_most 'the example has about 30 lines' 32 "$(wc -l <"$example")"
check 'it builds with the shared library' build gcc hottest "$example"
check_equal 'and prints the hottest image' '/opt/bin/hot: 400 of 1000 samples' \
	"$(LD_LIBRARY_PATH=$library_path "$scratch/hottest" "$db")"
check 'it needs that library to run' grep -q 'NEEDED.*libsample.so.0' <(readelf -d "$scratch/hottest")
rm "$library_path/libsample.so"
check 'it builds with the static library' build gcc hottest.static "$example" --static
check_equal 'and does the same without the other' '/opt/bin/hot: 400 of 1000 samples' \
	"$(DCPI_DB=$db "$scratch/hottest.static")"
check 'it says why it cannot' grep -qx 'hottest: there is no profile database here' \
	<("$scratch/hottest.static" "$scratch" 2>&1)

write_points
check 'a C++ program builds' build g++ points "$scratch/points.cc" --static
check_equal 'names of the kernel are captured ones, and a file that is gone is told' \
	$'/opt/bin/hot No such file or directory ?:0 400
/opt/bin/warm No such file or directory ?:0 100
/opt/bin/warm No such file or directory ?:0 200
[kernel] start_kernel ?:0 250' "$("$scratch/points" "$db" latest | sort)"
check_equal 'of the epoch that was asked for' '/opt/bin/warm No such file or directory ?:0 5000' \
	"$("$scratch/points" "$db" before)"
check_equal 'which must be there' "-5007 nothing in the database matches the selection" \
	"$("$scratch/points" "$db" weekly | sed 's/ (.*//')"

# Lines and readable names of a program that is there.
look_at_a_program()
{
	may_sample_or_skip 'procedures and lines of what ran here' || return
	start "$build/workloads/templates" 60
	dcpid --foreground --db "$scratch/live" --seconds 2 2>"$scratch/log"
	check 'procedures and lines of what ran here' \
		grep -qE '/templates workload::Heap<[^ ]*.*> ?::[a-z]+ .*templates\.[a-z]*:[0-9]+ [0-9]+$' <("$scratch/points" "$scratch/live" latest)
}
look_at_a_program
[ $failures = 0 ]
