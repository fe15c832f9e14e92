# shellcheck shell=sh
# recording.sh - in the guest: what tests/pmu/record keeps in tests/recorded/
# shellcheck source=tests/pmu/collect.sh
. /host/collect.sh

# What dcpid reads of /proc and /sys, as it is before the recording: of processes only those with mappings.
snapshot()
{
	mkdir -p "$out/proc" "$out/sys/kernel"
	grep -E ' (_stext|_etext)$' /proc/kallsyms >"$out/proc/kallsyms"
	cp /proc/modules "$out/proc"
	cp /sys/kernel/notes "$out/sys/kernel"
	for maps in /proc/[0-9]*/maps; do
		process=${maps%/maps}
		[ -n "$(cat "$maps" 2>/dev/null)" ] || continue
		mkdir "$out/$process"
		cat "$process/comm" >"$out/$process/comm"
		cat "$maps" >"$out/$process/maps"
	done
}

cat >/tmp/work.sh <<'END'
/workloads/shares 1 &
/workloads/shares_static 0.5
for i in 1 2 3 4 5 6 7 8; do
	/workloads/shares 0
	/workloads/shares_static 0
done
/workloads/kernel_work 1
wait
END

limit_rate 100000
snapshot
/workloads/record_rings "$out/rings.data" 2000003,cycles 500009,instructions -- /bin/sh /tmp/work.sh \
	>"$out/rings.txt" || exit
collect profile 'events = ( { name = "cycles"; period = 2000003; }, { name = "instructions"; period = 500009; } );' \
	sh /tmp/work.sh
dcpiprof --db /tmp/profile --epoch work -i --csv >"$out/images.csv"
dcpiprof --db /tmp/profile --epoch work --image '[kernel]' --csv >"$out/kernel.csv"
take_out
