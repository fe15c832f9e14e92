# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what tests choose from, and what lib.sh sets
# guest.sh - an arm64 guest for system tests: with a PMU, or with several nodes; sourced after lib.sh
#
# Debian's arm64 kernel under QEMU, without KVM. What it is made of is fetched once and kept, unpacked, below
# $DCPI_TEST_CACHE; remove that to get a newer kernel.

guest_cache=${DCPI_TEST_CACHE:-/var/cache/dcpi-tests}
guest_build=build-arm64
triplet=aarch64-linux-gnu
guest_programs=(shares shares_static kernel_work odds branches rough call_tree libburn_a.so)
guest_modules=(virtio_mmio 9pnet_virtio 9p zram lz4 lz4hc zstd)
guest_scripts=pmu # the folder of tests/ that has what guests run, and collect.sh, which that sources

# A guest's time is the number of its instructions (-icount), of all its CPUs, 4 ns each: a busy host changes nothing. Each
# entry is what accelerates a guest, its CPUs and its memory.
guest_of_pmu=(-accel tcg -icount 'shift=2,sleep=off' -smp 2 -m 1024) # counts a cycle each nanosecond
guest_of_one_node=(-accel tcg -icount 'shift=2,sleep=off' -smp 6 -m 1024)
# CPUs 0 to 2 are of node 0, 3 to 5 of node 1, and half of the memory of each. Threads that run at once (thread=multi) would
# wait for each other at each hinting fault, of which each makes all CPUs forget an address: for milliseconds where the host
# has fewer CPUs, or others use them. With -icount CPUs take turns, each until the next timer expires: that is the tick, of
# 4 ms, so an interrupt that a CPU sends to another, as setting a watchpoint does, would be answered after up to 20 ms. A
# network filter between nothing and nothing has a timer of each 50 us.
guest_of_two_nodes=("${guest_of_one_node[@]}"
	-netdev 'hubport,id=turns,hubid=0' -object 'filter-buffer,id=turn,netdev=turns,interval=50'
	-object 'memory-backend-ram,id=m0,size=512M' -numa 'node,nodeid=0,cpus=0-2,memdev=m0'
	-object 'memory-backend-ram,id=m1,size=512M' -numa 'node,nodeid=1,cpus=3-5,memdev=m1')

# What the guest boots, and the libraries that dcpi is built with, those of scripts/packages, and call_tree.
guest_packages()
{
	printf '%s\n' linux-image-arm64 busybox-static libstdc++6
	sed -n 's/^build: //p' "$top/scripts/packages" | tr ' ' '\n' | grep -e '^[^|]*-dev$'
}

# An apt of its own that knows only arm64 and has nothing installed but what a kernel is installed with; sources and keys
# are this system's.
apt_arm64()
{
	apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false \
		-o Dir::State::Lists="$fetching/lists" -o Dir::State::status="$fetching/status" -o Dir::Cache="$fetching/cache" \
		-o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@"
}

download()
{
	local packages

	mapfile -t packages < <(guest_packages)
	apt_arm64 update && apt_arm64 --download-only -y install "${packages[@]}"
}

# unpack FILE... - into $fetching/root; manuals, and drivers of what the guest has not, are left out
unpack()
{
	# shellcheck disable=SC2016 # the inner bash expands them
	printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I '{}' bash -c 'set -o pipefail
		dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink --no-same-owner \
			--exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale \
			--exclude="./lib/modules/*/kernel/sound" --exclude="./lib/modules/*/kernel/drivers/[!bv]*"' - '{}' "$fetching/root"
}

fetch()
{
	local fetching package tries=3

	fetching=$(mktemp -d "$guest_cache/fetching.XXXXXX") || return
	mkdir -p "$fetching"/{lists,cache/archives}/partial "$fetching"/root/usr/{lib,bin,sbin}
	ln -s usr/lib usr/bin usr/sbin "$fetching/root"
	for package in initramfs-tools linux-base kmod; do
		printf 'Package: %s\nStatus: install ok installed\nVersion: 9999\nArchitecture: all\n\n' $package
	done >"$fetching/status"
	until download; do
		[ $((tries -= 1)) -gt 0 ] && sleep 3 || break
	done && unpack "$fetching"/cache/archives/*.deb && mv "$fetching/root" "$1"
	rm -rf "$fetching"
	[ -d "$1" ]
}

# Why a guest cannot be booted here; nothing when it can.
guest_obstacle()
{
	local program

	for program in qemu-system-aarch64 $triplet-gcc $triplet-g++ cpio depmod; do
		PATH=$PATH:/sbin command -v "$program" >/dev/null || { echo "there is no $program"; return; }
	done
}

# Make the root that has Debian's packages for arm64, or find it; sets $guest_root and $guest_kernel.
guest_find_root()
{
	guest_root=$guest_cache/arm64-$(guest_packages | sha256sum | cut -c 1-12)
	mkdir -p "$guest_cache" || return
	exec {guest_lock}>"$guest_cache/arm64.lock"
	flock "$guest_lock" || return
	if [ ! -d "$guest_root" ]; then
		rm -rf "$guest_cache"/arm64-* "$guest_cache"/fetching.*
		fetch "$guest_root" || return
	fi
	flock -u "$guest_lock"
	guest_kernel=$(basename "$guest_root"/lib/modules/*)
}

# guest_compile TARGET... - build these for arm64 into $guest_build, and the workloads
guest_compile()
{
	local make=(make --no-print-directory -s -C "$top" -j"$(nproc)" BUILD="$guest_build" AR="$triplet-ar"
		CC="$triplet-gcc --sysroot=$guest_root" CXX="$triplet-g++ --sysroot=$guest_root")

	env -u MAKEFLAGS -u CFLAGS -u LDFLAGS -u CPPFLAGS "${make[@]}" "$@" \
		"${guest_programs[@]/#/$guest_build/workloads/}"
}

# Copy the shared libraries that program $1 names, and those that they name, to $ramdisk.
copy_libraries()
{
	local library

	for library in $($triplet-objdump -p "$1" 2>/dev/null | awk '$1 == "NEEDED" { print $2 }'); do
		[ -e "$ramdisk/usr/lib/$triplet/$library" ] || {
			cp -L "$guest_root/usr/lib/$triplet/$library" "$ramdisk/usr/lib/$triplet/" &&
				copy_libraries "$ramdisk/usr/lib/$triplet/$library"
		} || return
	done
}

copy_modules()
{
	local module file modules=lib/modules/$guest_kernel

	[ -e "$guest_root/$modules/modules.dep" ] || /sbin/depmod -b "$guest_root" "$guest_kernel" || return
	for module in "${guest_modules[@]}"; do
		/sbin/modprobe -d "$guest_root" -S "$guest_kernel" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
	done | sort -u | while read -r file; do
		install -D -m 644 "$file" "$ramdisk/usr/lib/${file#*/lib/}"
	done
	cp "$guest_root/$modules"/modules.{builtin,builtin.modinfo,order} "$ramdisk/usr/$modules/" &&
		/sbin/depmod -b "$ramdisk" "$guest_kernel"
}

# guest_pack WORKLOADS - make the guest's root file system, $scratch/ramdisk.cpio, whose workloads are in that folder
guest_pack()
{
	local ramdisk=$scratch/ramdisk program

	mkdir -p "$ramdisk"/{proc,sys,dev,tmp,host} "$ramdisk"/usr/{bin,sbin,lib/$triplet} "$ramdisk$1"
	ln -s usr/lib usr/bin usr/sbin "$ramdisk"
	ln -s "$triplet/ld-linux-aarch64.so.1" "$ramdisk/usr/lib/"
	cp "$guest_root/usr/bin/busybox" "$top/$guest_build"/bin/* "$ramdisk/usr/bin/"
	cp -r "$top/$guest_build/lib/dcpi" "$ramdisk/usr/lib/"
	ln -s busybox "$ramdisk/usr/bin/sh"
	(cd "$top/$guest_build/workloads" && cp --parents "${guest_programs[@]}" "$ramdisk$1/") || return
	[ "$1" = /workloads ] || ln -s "$1" "$ramdisk/workloads"
	for program in "$ramdisk"/usr/bin/dcpi* "$ramdisk"/usr/lib/dcpi/* "${guest_programs[@]/#/$ramdisk$1/}"; do
		copy_libraries "$program" || return
	done
	copy_modules || return
	install -m 755 "$top/tests/pmu/init.sh" "$ramdisk/init"
	(cd "$ramdisk" && find . | cpio -o -H newc --quiet) >"$scratch/ramdisk.cpio"
}

# guest_boot FOLDER SCRIPT [QEMU-ARGUMENT...] - a guest that runs SCRIPT of tests/$guest_scripts/; FOLDER is /host there, and
# its console is in FOLDER/console. The arguments say what accelerates it, and its CPUs and memory: $guest_of_pmu if there
# are none.
guest_boot()
{
	local machine=("${@:3}")

	[ ${#machine[@]} -gt 0 ] || machine=("${guest_of_pmu[@]}")
	mkdir -p "$1" && cp "$top/tests/$guest_scripts/collect.sh" "$1/" && cp "$top/tests/$guest_scripts/$2" "$1/guest.sh" || return
	timeout 900 qemu-system-aarch64 -M virt,gic-version=3 -cpu cortex-a72 "${machine[@]}" \
		-nographic -no-reboot -net none -kernel "$guest_root/boot/vmlinuz-$guest_kernel" \
		-initrd "$scratch/ramdisk.cpio" -append 'console=ttyAMA0 panic=-1 quiet' \
		-fsdev "local,id=host,path=$1,security_model=none" -device virtio-9p-device,fsdev=host,mount_tag=host \
		</dev/null >"$1/console" 2>&1
	grep -q '^done' "$1/console"
}

# guest_make_or_skip SENTENCE WORKLOADS TARGET... - build these targets and the guest's root file system (guest_pack), or
# skip SENTENCE, and fail; the test ends when something does not build
guest_make_or_skip()
{
	local began=$SECONDS obstacle

	obstacle=$(guest_obstacle)
	[ -z "$obstacle" ] || { skip "$1" "$obstacle"; return 1; }
	guest_find_root >"$scratch/fetch.log" 2>&1 || {
		sed 's/^/# /' "$scratch/fetch.log"
		skip "$1" 'the packages of Debian arm64 cannot be fetched'
		return 1
	}
	figure "linux $guest_kernel, Cortex-A72; found or fetched in $((SECONDS - began)) s"
	began=$SECONDS
	guest_compile "${@:3}" >"$scratch/make.log" 2>&1 || {
		not_ok 'dcpi builds for arm64' "$(cat "$scratch/make.log")"
		exit 1
	}
	check_equal 'dcpi builds for arm64 without a warning' '' "$(grep warning: "$scratch/make.log")"
	check 'the guest can be made' guest_pack "$2"
	figure "built and packed in $((SECONDS - began)) s"
}

# guests_end RESULTS PID... - wait for guests, whose folders are in RESULTS; the test ends when one did not run to its end
guests_end()
{
	local began=$SECONDS guest

	for guest in "${@:2}"; do
		wait "$guest" || {
			not_ok 'the guests run to their end' "$(tail -n 20 "$1"/*/console)"
			exit 1
		}
	done
	figure "guests ran for $((SECONDS - began)) s; they saw $(sed -n 's/\r//; s/^up //p' "$1"/*/console | paste -sd' ')"
}
