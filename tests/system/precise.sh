#!/bin/bash
# Samples are moved back by the skid of how they were taken, not of where: a loop whose head waits, sampled by a timer,
# by a counter and by what records precisely, and a recording of a real PMU.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# shellcheck source=calc_database.sh
. "$top/tests/system/calc_database.sh"

calc_or_skip 'what is moved back' || exit 0

as -o "$scratch/calc.o" "$top/tests/system/calc.S" && objcopy --redefine-sym twin_2=twin "$scratch/calc.o" &&
	link_calc libcalc.so 1111111111111111 || exit 1

intel='Intel(R)\x20Xeon(R)\x20(GenuineIntel\x20family\x206\x20model\x2063)'
amd='AMD\x20EPYC\x20(AuthenticAMD\x20family\x2025\x20model\x2017)'
arm='ARM\x20implementer\x200x41,\x20part\x200xd0c'

# epoch_of CPU EVENT UNIT TYPE PRECISE - all samples lie in sum's loop, most at its head
epoch_of()
{
	start=$((start + 1000))
	cat <<-END
		noevents
		event $2 $2 $3 4000 yes -
		sampled $2 $4 $5
		cpu $1
		epoch $start -
		count $2 0 0 0x1017 9000
		count $2 0 0 0x101a 600
		count $2 0 0 0x1021 30
		slice $start $((start + 600))
	END
}

# database NAME CPU EVENT UNIT TYPE PRECISE [...] - one epoch for each five
database()
{
	local name=$1 start=1795275000

	shift
	{
		printf 'event %s %s %s 4000 yes -\n' "$2" "$2" "$3"
		printf 'image user 1111111111111111 %s\ncontext figure / -\n' "$scratch/libcalc.so"
		while [ $# -gt 0 ]; do
			epoch_of "${@:1:5}"
			shift 5
		done
	} | "$build/tests/system/make_database" "$scratch/$name"
}

# The line that says what was moved, and the loop's instructions with their samples, in tens: a few of those that are
# moved from the head belong to who entered the loop.
moved()
{
	dcpicalc "$@" sum libcalc.so |
		sed -nE 's/^Model: .*, out of order/out of order/p; s/^0010(1[7a-f]|2[14]) .* +([0-9]+)( .*)?$/\1 \2/p' |
		awk '/^out/ { print; next } { print $1, int(($2 + 5) / 10) * 10 }'
}

# The taken branch behind the loop is what a late sample at its head waited for.
late()
{
	printf 'out of order; samples are moved back by 1 instruction%s\n17 600\n1a 0\n1e 30\n21 0\n24 9000' "$1"
}

there()
{
	printf 'out of order; samples are where they were taken (precise)\n17 9000\n1a 600\n1e 0\n21 30\n24 0'
}

# is_moved SENTENCE EXPECTED NAME CPU EVENT UNIT TYPE PRECISE
is_moved()
{
	check "a database: $1" database "${@:3}"
	check_equal "$1" "$2" "$(moved --db "$scratch/$3" --epoch all)"
}

hardware=0 software=1 raw=4 dynamic=10
is_moved 'a timer is late by one instruction' "$(late '')" timer "$intel" cpu-clock ns $software 0
is_moved 'also where perf asked for a precise one' "$(late '')" timer3 "$intel" cpu-clock:ppp ns $software 3
is_moved 'of a counter nobody knows it, which is said' "$(late " as a timer's (a counter's skid is unknown here)")" \
	pmu "$intel" cycles cycles $hardware 0
is_moved 'PEBS records the next instruction' "$(late ' (precise, of the next one)')" pebs1 "$intel" cycles:p cycles \
	$hardware 1
is_moved 'at its second level the one that it is of' "$(there)" pebs2 "$intel" cycles cycles $hardware 2
is_moved 'and at its third' "$(there)" pebs3 "$intel" cpu_core/cycles:ppp/ cycles $raw 3
is_moved 'IBS, which AMD has for each level, knows no other' "$(there)" ibs1 "$amd" cycles:p cycles $hardware 1
is_moved 'also under its own name' "$(there)" ibs_op "$amd" ibs_op// cycles $dynamic 0
is_moved "SPE lies where it is" "$(there)" spe "$arm" arm_spe_0// cycles $dynamic 0
is_moved "Arm's counters take levels of precision and have none" \
	"$(late " as a timer's (a counter's skid is unknown here)")" arm "$arm" cycles:ppp cycles $hardware 3

sed 's/^name = .*/name = "late";/; s/^timer_skid = .*/timer_skid = 1;\npmu_skid = 0;/' "$top/config/cpus/generic.conf" \
	>"$scratch/late.conf"
check_equal "what a model says of a counter is taken" "$(there | sed 's/ (precise)//')" \
	"$(moved --db "$scratch/pmu" --cpu "$scratch/late.conf")"
is_moved 'epochs that differ are told, and the newest decides' \
	"$(there | sed 's/ (precise)/&; older epochs have others/; s/9000/18000/; s/600/1200/; s/30$/60/')" \
	both "$intel" cycles cycles $hardware 0 "$intel" cycles cycles $hardware 3
check 'JSON says it, too' json_holds '.model | .skid == 1 and .skid_of == "unknown"' \
	<(dcpicalc --db "$scratch/pmu" --json sum libcalc.so)
check 'and of precise samples' json_holds '.model | .skid == 0 and .skid_of == "precise"' \
	<(dcpicalc --db "$scratch/pebs3" --json sum libcalc.so)

# A Haswell's cycles:pp (its kernel had no build-ids, its libc is nowhere): two samples lie at 0x12bd80 of libc, where
# ours has the head of a loop under the recorded path and build-id.
# shellcheck disable=SC2016 # the inner shell's variables
recorded_loop()
{
	local libc=/lib64/libc-2.23.so

	cat >"$scratch/libc.S" <<-'END'
		.text
		.org 0x12ad60
		.globl copy
		.type copy, @function
		copy:
		test %rdx, %rdx
		je 2f
		nop
		.p2align 5
		1: movups (%rsi), %xmm0
		movups %xmm0, (%rdi)
		add $16, %rdi
		add $16, %rsi
		sub $16, %rdx
		ja 1b
		2: ret
		.size copy, . - copy
	END
	as -o "$scratch/libc.o" "$scratch/libc.S" &&
		ld -shared -z separate-code --build-id=0xfbfced183a751237f751009c9cecfec1161a427f -o "$scratch/libc.so" "$scratch/libc.o" &&
		dcpimport --db "$scratch/haswell" "$top/tests/recorded/perf_data/lost_samples-4.4.data" >/dev/null &&
		unshare -m bash -c '
			mount -t tmpfs none /mnt && cp -a /lib64/. /mnt && cp "$1" "/mnt/${2##*/}" && mount --bind /mnt /lib64 &&
				dcpicalc --db "$3" --event cycles:pp copy "$2"' _ "$scratch/libc.so" "$libc" "$scratch/haswell"
}

sentence='recorded samples of a loop'\''s head stay there'
if [ "$(id -u)" != 0 ]; then
	skip "$sentence" 'a mount namespace needs root'
else
	recorded=$(recorded_loop 2>&1)
	check "$sentence" grep -qE '^12bd80 movups +\(%rsi\),%xmm0 +2( |$)' <<<"$recorded"
	check 'and it is said that they are precise' grep -qF 'samples are where they were taken (precise)' <<<"$recorded"
	check 'the model is of the CPU that recorded them' grep -q '^Model: *Intel Haswell' <<<"$recorded"
fi

[ $failures = 0 ]
