#!/bin/bash
# packages.sh - the Debian packages that `make deb` made: who gets what, and how much of it
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

version=$(sed -n 's/^VERSION := //p' "$top/Makefile")
architecture=$(dpkg --print-architecture)

# field PACKAGE FIELD
field()
{
	dpkg-deb --field "$build/$1_${version}_${3:-$architecture}.deb" "$2"
}

# contents PACKAGE - its files, without folders
contents()
{
	dpkg-deb --contents "$build/$1_${version}_$architecture.deb" | awk '!/^d/ { print $6 }' | sed 's/^\.//'
}

# installed FILE... - the names of what apt would install, with what these packages need and nothing that is only recommended
installed()
{
	apt-get -s -q install --no-install-recommends "$@" | awk '$1 == "Inst" { print $2 }' | sort
}

for package in dcpid dcpi-tools dcpi-emulator dcpi-web libsample0 libsample-dev; do
	check_equal "$package is there, for this architecture" "$package $architecture" \
		"$(field $package Package) $(field $package Architecture)"
	contents $package >"$scratch/$package"
done
check_equal 'they are for amd64 and arm64, and what is for all is the transitional package' $'all\namd64 arm64' \
	"$(sed -n 's/^Architecture: //p' "$top/debian/control" | sort -u)"
check_equal 'the version is that of the programs, and the changelog tells of it' "$version $version" \
	"$(field dcpid Version) $(sed -n '1s/dcpi (\(.*\)) .*/\1/p' "$top/debian/changelog")"

check_equal 'the daemon comes with its control program and what reads images for it, and with no other' \
	'/usr/bin/dcpictl /usr/lib/dcpi/dcpi-capture /usr/sbin/dcpid' \
	"$(grep -E '/(s?bin|dcpi)/[^/]*$' "$scratch/dcpid" | grep -v '/share/\|/etc/' | sort | paste -sd' ')"
check_equal 'what emulates is in one package' '/usr/bin/dcpiemu /usr/bin/dcpimem /usr/bin/dcpix' \
	"$(grep -E '/s?bin/' "$scratch/dcpi-emulator" | sort | paste -sd' ')"
check_equal 'the scripts of dcpimem come with it' 'gaps.lua handovers.lua hot.lua' \
	"$(grep -E '^/usr/share/dcpi/scripts/' "$scratch/dcpi-emulator" | sed 's|.*/||' | sort | paste -sd' ')"
check_equal 'each program, with its manual and completion, is in the same package' '' \
	"$(for package in dcpid dcpi-tools dcpi-emulator dcpi-web; do
		grep -E '/s?bin/' "$scratch/$package" | sed 's|.*/||' | while read -r program; do
			grep -q "/man[18]/$program\.[18]\.gz$" "$scratch/$package" || echo "no manual of $program in $package"
			grep -q "/completions/$program$" "$scratch/$package" || echo "no completion of $program in $package"
		done
	done)"

check_at_most 'a server gets at most 3 MB, in KiB' 3072 "$(field dcpid Installed-Size)"
figure "installed, in KiB: $(for package in dcpid dcpi-tools dcpi-emulator dcpi-web libsample0 libsample-dev; do
	printf '%s %s, ' $package "$(field $package Installed-Size)"
done | sed 's/, $//')"
check_equal 'and nothing of an emulator, a compiler or the reports' '' \
	"$(field dcpid Depends | tr ',' '\n' | grep -E 'qemu|gcc|clang|dcpi-|python|perl')"
check_equal 'the daemon itself reads no images: only dcpi-capture and dcpictl doctor need libdw, capstone and Zydis' '' \
	"$(readelf -d "$build/bin/dcpid" | grep -E 'NEEDED.*(libdw|libelf|capstone|Zydis)')"
check_equal 'nor do the reports need an emulator' '' "$(field dcpi-tools Depends | grep -o qemu)"
check 'which dcpi-emulator does' grep -q qemu <(field dcpi-emulator Depends)
if installed "$build/dcpid_${version}_$architecture.deb" >"$scratch/installed" 2>"$scratch/why" && [ -s "$scratch/installed" ]; then
	check_equal 'apt would install no emulator with dcpid' '' "$(grep -E '^(qemu|dcpi-)' "$scratch/installed")"
	figure "apt install dcpid brings: $(paste -sd' ' "$scratch/installed")"
	libraries=$(grep -v '^dcpid$' "$scratch/installed" | xargs -r apt-cache show --no-all-versions 2>/dev/null |
		awk '$1 == "Installed-Size:" { sum += $2 } END { print sum + 0 }')
	check_at_most 'and at most 12 MB of libraries, in KiB' 12288 "$libraries"
	figure "libraries that are not here yet, in KiB: $libraries"
else
	not_ok 'apt finds what dcpid needs' "$(cat "$scratch/why")"
fi
for package in dcpid dcpi-tools dcpi-emulator; do
	check_equal "$package takes the place of the single package" 'dcpi (<< 0.2.0~) dcpi (<< 0.2.0~)' \
		"$(field $package Breaks) $(field $package Replaces)"
done
check_equal 'which becomes an empty one that needs its parts' "dcpi-tools (>= $version), dcpid (>= $version)" \
	"$(field dcpi Depends all)"
[ $failures = 0 ]
