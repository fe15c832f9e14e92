#!/bin/bash
# emulate_errors.sh - dcpiemu: what cannot be run, or kept, is said in a sentence with a status, and nothing else is lost
# shellcheck disable=SC2016 # what other shells are to expand
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

if ! command -v qemu-x86_64 >/dev/null; then
	skip 'what cannot be emulated is said' 'qemu-user is not installed'
	exit 0
fi
export DCPI_MACHINES=$top/config/machines
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
tool=$(command -v dcpiemu)
cd "$scratch" || exit
ulimit -c 0

# emulate ARGUMENT... - on the teaching machine, without a profile
emulate()
{
	dcpiemu run --machine in-order-2 --no-db "$@"
}

# elf FILE CLASS MACHINE - a program's first bytes: CLASS 1 is 32 bits, MACHINE the low byte, in octal
elf()
{
	printf '%b' '\0177ELF\0'"$2"'\01\01\0\0\0\0\0\0\0\0\0\02\0\0'"$3"'\0\01\0\0\0' >"$1"
	head -c 100 /dev/zero >>"$1"
	chmod 755 "$1"
}

# programs in DB
images()
{
	dcpiprof --db "$1" -i --json "${@:2}" | jq -r '.rows[].image'
}

programs()
{
	elf arm 2 267
	elf old 1 3
	elf other 2 25
	printf '#!/nowhere/sh\n' >script
	chmod 755 script
	echo text >plain
	mkdir only
	ln -s "$(command -v qemu-x86_64)" only

	check_fails 'no emulator' 1 'qemu-x86_64: the emulator that runs the program is not installed: apt install qemu-user' \
		env DCPI_QEMU=/nowhere PATH=/nowhere "$tool" run --machine in-order-2 --no-db "$(type -P true)"
	check_fails 'none for the architecture' 1 'qemu-aarch64: the emulator' \
		env DCPI_QEMU=/nowhere PATH="$scratch/only" "$tool" run --machine in-order-2 --no-db ./arm
	mkdir without
	cp "$(type -P true)" without/qemu-x86_64
	check_fails 'an emulator without plugins' 1 'install the package dcpi-qemu' \
		env DCPI_QEMU=/nowhere PATH="$scratch/without" "$tool" run --machine in-order-2 --no-db "$(type -P true)"
	check_fails 'a 32-bit program' 1 'it is no 64-bit ELF program' emulate ./old
	check_fails 'a processor that nobody knows' 1 'a processor that is not known here' emulate ./other
	check_fails 'a file that is no program' 1 './plain: cannot run it: Permission denied' emulate ./plain
	check_fails 'a script without its interpreter' 1 "/nowhere/sh: cannot run it, the script's interpreter" emulate ./script
	check_fails 'no such program' 1 'nonesuch: cannot run it: No such file' emulate nonesuch
	check_fails 'a program that the emulator refuses' 1 'the emulator did not start the program' emulate --cpu nonsense true
}

machines()
{
	sed 's/^clock_mhz.*/clock_mhz = -3.0;/' "$DCPI_MACHINES/in-order-2.conf" >wrong.conf
	check_fails 'a wrong value of a machine, with file and line' 2 \
		"./wrong.conf:$(grep -n ^clock_mhz wrong.conf | cut -d : -f 1): clock_mhz is -3" \
		dcpiemu run --machine ./wrong.conf --no-db true
	printf 'cores = {' >broken.conf
	check_fails 'a file that is no description' 2 './broken.conf:1: ' dcpiemu run --machine ./broken.conf --no-db true
	check_fails 'a name that is nearly one' 2 'e5-2699v3' dcpiemu run --machine e5-2699v --no-db true
	check_fails 'this machine, before it was measured' 2 "'dcpiemu calibrate' describes this one" \
		env XDG_CONFIG_HOME="$scratch" "$tool" run --machine host --no-db true
	check_fails 'no machine' 2 "'dcpiemu machines' lists" dcpiemu run --no-db true
	check_fails 'more threads than cores' 2 '--threads takes 1 to 4' emulate --threads 5 true
	check_fails 'a part of a thread' 2 "--threads '1.5' is not a whole number from 1 to" emulate --threads 1.5 true
	check_fails 'a sweep of none' 2 'no machine has so many cores' \
		dcpiemu sweep --machine in-order-2 --threads 5..6 --no-db true
	check_fails 'a list of threads that is none' 2 'ranges of them' \
		dcpiemu sweep --machine in-order-2 --threads 4..1 --no-db true
	check_fails 'a picture of a kind that is not drawn, before anything runs' 2 'ends in .svg' \
		dcpiemu sweep --machine in-order-2 --threads 1 --no-db --plot curves.txt false
	check_fails 'a report that cannot be written is refused before the program runs' 1 'cannot write the report' \
		emulate --output nowhere/report touch ran
	check_fails 'so is a picture' 1 'cannot write the plot' \
		dcpiemu sweep --machine in-order-2 --threads 1 --no-db --plot nowhere/curves.svg touch ran
	check_fails 'and it did not run' 1 '' test -e ran
	check_fails 'what cannot happen is not sampled' 2 'event cycles cannot happen' emulate --model caches --event cycles true
	check_fails 'a command that is none' 2 'did you mean sweep?' dcpiemu swep
}

# What it could not keep; the program itself is run all the same, but where that is known before.
places()
{
	check_fails 'a database that cannot be written, before the program runs' 1 'cannot write the profile database' \
		dcpiemu run --machine in-order-2 --db /dev/null/db false
	check_fails 'no place for the record' 1 'TMPDIR names another place' env TMPDIR=/nowhere "$tool" run \
		--machine in-order-2 --no-db true
	check_fails 'a sweep ends at a program that fails' 1 'in-order-2/1: the program ended with status 3' \
		dcpiemu sweep --machine in-order-2 --threads 1,2 --no-db -- sh -c 'exit 3'
	check_equal 'nothing is left behind' '' "$(ls "$TMPDIR")"
}

small_disks()
{
	local status

	mount_or_skip 64M "$scratch/narrow" 'a disk without room for the record is refused' || return
	check_fails 'a disk without room for the record is refused' 1 'No space left on device' \
		env TMPDIR="$scratch/narrow" "$tool" run --machine in-order-2 --no-db true
	mount -o remount,size=1M "$scratch/narrow"
	check 'a first run is kept' dcpiemu run --machine in-order-2 --quiet --db narrow/db true
	head -c 2M /dev/zero >narrow/filler 2>/dev/null
	dcpiemu run --machine in-order-2 --quiet --db narrow/db -- sh -c 'echo ran' >out 2>err
	status=$?
	check_equal 'a full disk under the database: the program ran, and the status tells' 'ran 1' "$(cat out) $status"
	check 'so does a sentence' grep -q 'narrow/db: cannot write the profile database: No space left' err
	check 'and what was there, is' dcpictl check --db narrow/db
	check_equal 'all of it' "$(images narrow/db --epoch 1)" "$(images narrow/db --epoch latest)"
	umount "$scratch/narrow"
}

# A disk that fills while the program runs: the record of a process that finds no room is a hole that cannot be filled.
filling_disk()
{
	local status

	mount_or_skip 256M "$scratch/filling" 'a disk that fills under the record is said' || return
	TMPDIR=$scratch/filling dcpiemu run --machine in-order-2 --db filled -- sh -c \
		'echo begun; gzip -c /bin/sh | wc -c >out; cat /dev/zero >filling/filler; xz -c /bin/sh >/dev/null' \
		>out2 2>err
	status=$?
	umount "$scratch/filling"
	check 'a disk that fills under the record is said' grep -q 'the disk is full: what was recorded is not all' err
	check_equal 'nor is the status a good one' yes "$([ $status != 0 ] && echo yes)"
	check 'what was recorded before is kept' grep -q /gzip <(images filled)
}

# Guest and plugin live in one address space: a program can do that, and what it did to the record is not believed.
overwritten_record()
{
	local status

	cat >overwrite.c <<-'END'
	#include <stdio.h>
	#include <string.h>
	int main(void) { FILE *maps = fopen("/proc/thread-self/maps", "r"); char line[600]; int found = 0;
		unsigned long from, to, offset;
		while (maps && fgets(line, sizeof(line), maps))
			if (strstr(line, "/record.") && sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && offset > 0) {
				memset((void *)from, 0xff, to - from < 65536 ? to - from : 65536); found = 1; }
		return found ? 0 : 42; }
	END
	gcc -O1 -o overwrite overwrite.c
	dcpiemu run --machine in-order-2 --db overwritten ./overwrite >/dev/null 2>err
	status=$?
	if [ $status = 42 ]; then
		skip 'a program that writes over the record is told' 'it does not find the record'
		return
	fi
	check_equal 'a program that writes over the record is told' 1 $status
	check 'by a sentence' grep -q 'the record of the run is damaged' err
	check 'and the database is sound' dcpictl check --db overwritten
}

# So it can with the emulator, and all that the plugin holds in memory: it dies of that, as programs do.
overwritten_emulator()
{
	local status

	cat >smother.c <<-'END'
	#include <stdio.h>
	#include <string.h>
	__attribute__((noinline)) int work(int n) { int s = 0; for (volatile int i = 0; i < n; i++) s += i; return s; }
	int main(void) { FILE *maps = fopen("/proc/thread-self/maps", "r"); char line[600], mode[5];
		unsigned long from[4000], to[4000]; int count = 0, found = 0; work(300000); setvbuf(maps, NULL, _IONBF, 0);
		while (maps && count < 4000 && fgets(line, sizeof(line), maps))
			if (sscanf(line, "%lx-%lx %4s", &from[count], &to[count], mode) == 3 && mode[1] == 'w' &&
				(strstr(line, "dcpi-timing.so") || strstr(line, "[heap]"))) count++;
		for (int i = 0; i < count; i++) { memset((void *)from[i], 0xff, to[i] - from[i]); found = 1; }
		return found ? work(300000) && 0 : 42; }
	END
	gcc -O1 -w -o smother smother.c
	timeout 120 dcpiemu run --machine in-order-2 --quiet --db smothered ./smother >/dev/null 2>err
	status=$?
	if [ $status = 42 ]; then
		skip 'a program that writes over the emulator ends badly' 'it does not find the emulator'
		return
	fi
	check 'a program that writes over the emulator ends badly' test $status != 0 -a $status != 124
	check 'what it did before is kept' test "$(dcpiprof --db smothered --json | jq \
		'[.rows[] | select(.procedure == "work") | .counts.executions] | add')" -ge 900000
	check 'and that database is sound, too' dcpictl check --db smothered
}

# The program's end is its own, and its profile is there.
ends()
{
	local pid status

	# not beyond the stack's top: the emulator's own memory may be next to it
	cat >smash.c <<-'END'
	#include <string.h>
	__attribute__((noinline)) int work(int n) { int s = 0; for (volatile int i = 0; i < n; i++) s += i; return s; }
	int main(int argc, char **argv) { volatile char *end = (char *)&argc; int s = work(300000);
		for (int i = -64; i < 256; i++) end[i] = (char)(s | 0x41); return argc; }
	END
	gcc -O1 -w -o smash smash.c
	dcpiemu run --machine in-order-2 --quiet --db ends --json --output ends.json ./smash >/dev/null 2>&1
	check_equal 'a program that overwrites its stack dies as it would' 139 $?
	check 'what it missed until then is counted at each level' jq -e \
		'.levels | .[0].code_missed > 0 and .[0].code_missed >= .[2].code_missed' ends.json
	check 'and what it did is in the profile' test "$(dcpiprof --db ends --json | jq \
		'[.rows[] | select(.procedure == "work") | .counts.executions] | add')" -ge 900000
	dcpiemu run --machine in-order-2 --quiet --db killed -- sh -c 'kill -KILL $$' >/dev/null 2>&1
	check_equal 'a signal that kills it kills dcpiemu' 137 $?
	check 'and the profile is there' grep -q /dash <(images killed)
	start dcpiemu run --machine in-order-2 --quiet --db told -- sh -c 'echo >running; exec sleep 100' >/dev/null 2>&1
	pid=$started
	wait_for 60 test -e running
	stop "$pid" TERM >/dev/null 2>&1
	status=$?
	check_equal 'a signal that dcpiemu gets is the program'"'"'s' 143 $status
	check 'and its profile is there, too' grep -q /dash <(images told)
	mkdir late
	printf '#!/bin/sh\necho >begun\nexec sleep 100\n' >late/qemu-x86_64
	chmod 755 late/qemu-x86_64
	start env DCPI_QEMU="$scratch/late" "$tool" run --machine in-order-2 --db early true 2>err
	wait_for 60 test -e begun
	stop "$started" TERM
	check_equal 'also before it has begun' 143 $?
	check_equal 'which is said' 'dcpiemu: interrupted before anything was executed' "$(cat err)"
	# it is known from its own first instructions on, which the second sleep waits for
	dcpiemu run --machine in-order-2 --no-db --output left sh -c 'sleep 15 </dev/null >/dev/null 2>&1 & sleep 1'
	check 'a process that outlives it is told' grep -q 'Missing:   1 process still runs' left
	emulate --quiet sh -c 'exit 42'
	check_equal 'the exit status is its own' 42 $?
}

programs
machines
places
small_disks
filling_disk
ends
overwritten_record
overwritten_emulator
[ $failures = 0 ]
