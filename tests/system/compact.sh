#!/bin/bash
# compact.sh - dcpictl compact: beside a running dcpid and without one, without room for it, killed or ended in the middle
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db
size='[0-9.]+ [KM]iB'

work()
{
	timeout "$1" sh -c 'while :; do /bin/true; done'
	true
}

# says PATTERN COMMAND... - what it prints is this, whole
says()
{
	local pattern=$1 output

	shift
	output=$("$@" 2>&1)
	[[ $output =~ ^$pattern$ ]] || {
		echo "$output"
		return 1
	}
}

is_without_leftovers()
{
	[ ! -e "$db/data.mdb.compact" ]
}

test_running()
{
	local before

	work 2
	dcpictl --db "$db" flush
	before=$(samples_written "$db" all)
	check 'a running dcpid compacts, and both sizes are printed' says "$size -> $size" dcpictl --db "$db" compact
	check_at_most 'no sample is missing' "$(samples_written "$db" all)" "$before"
	check 'the log says it' grep -qE "compacted: $size -> $size" "$db.log"
	work 1
	dcpictl --db "$db" compact >"$scratch/first" &
	first=$!
	check_equal 'an epoch meanwhile is begun when it is over' 'epoch 2' "$(dcpictl --db "$db" epoch --label second)"
	wait $first
	check 'a flush after it succeeds' dcpictl --db "$db" flush
	check 'and goes to the new file' test "$(samples_written "$db" all)" -gt "$before"
	check 'the database is sound' dcpictl --db "$db" check
	check 'nothing is left over' is_without_leftovers
}

# Samples that were flushed before the kill are there after it, whatever file it is.
test_kills()
{
	local before round missing=0 unsound=0

	for round in 1 2 3 4 5 6; do
		dcpictl --db "$db" flush
		before=$(samples_written "$db" all)
		dcpictl --db "$db" compact >/dev/null 2>&1 &
		sleep "0.00$round"
		stop "$daemon" KILL 2>/dev/null
		wait $!
		start_dcpid "$db" --config "$scratch/conf" || {
			not_ok 'dcpid starts after the kill' "$(cat "$db.log")"
			return
		}
		daemon=$started
		is_without_leftovers || unsound=$((unsound + 1))
		dcpictl --db "$db" check >/dev/null || unsound=$((unsound + 1))
		[ "$(samples_written "$db" all)" -ge "$before" ] || missing=$((missing + 1))
	done
	check_equal 'after kills while it compacts the database is sound' 0 $unsound
	check_equal 'and what was flushed is there' 0 $missing
}

test_alone()
{
	local before

	before=$(samples_written "$db" all)
	: >"$db/data.mdb.compact"
	check 'without a dcpid the tool compacts itself' says "$size -> $size" dcpictl --db "$db" compact
	check_equal 'and keeps what is there' "$before" "$(samples_written "$db" all)"
	check 'what a kill had left is gone' is_without_leftovers
	check_fails 'no database is made where none is' 1 'there is no profile database here' \
		dcpictl --db "$scratch/none" compact
	check 'not even a directory' test ! -e "$scratch/none"
	check_fails 'a socket that was named is not given up for the file' 1 'dcpid is not running' \
		dcpictl --socket "$scratch/none" compact
}

test_without_room()
{
	local disk=$scratch/disk

	mount_or_skip 32m "$disk" 'a disk without room for two files' || return 0
	cp -r "$db" "$disk/db"
	dd if=/dev/zero of="$disk/filler" bs=64k 2>/dev/null
	truncate --size=-256K "$disk/filler"
	check_fails 'without room it says how much is needed' 1 \
		'the database cannot be compacted: to compact it, ' dcpictl --db "$disk/db" compact
	check 'and leaves nothing behind' test ! -e "$disk/db/data.mdb.compact"
	check 'nor harms the database' dcpictl --db "$disk/db" check
	umount "$disk"
}

# A disk that takes a second for each page would take a minute for the copy.
test_end_meanwhile()
{
	local slow=$scratch/slow begin seconds

	db=$scratch/ending
	LD_PRELOAD=$build/workloads/fail_disk.so FAIL_DISK=$slow start_dcpid "$db" --config "$scratch/conf" || {
		not_ok 'dcpid starts' "$(cat "$db.log")"
		return
	}
	work 2
	dcpictl --db "$db" flush
	echo 'slow 1000 data.mdb.compact' >"$slow"
	dcpictl --db "$db" compact >"$scratch/broken" 2>&1 &
	wait_for 20 test -e "$db/data.mdb.compact"
	begin=$EPOCHREALTIME
	stop "$started"
	check_equal 'told to end while it compacts, dcpid ends well' 0 $?
	seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	check_at_most 'and soon' 10 "$seconds"
	figure "told to end while it compacts, dcpid ends after $seconds s"
	wait $!
	check 'who waited for it hears why' grep -q 'dcpid is ending; the database is as it was' "$scratch/broken"
	check 'nothing of the copy is left over' is_without_leftovers
	check_equal 'what was sampled up to the end is in the old file' \
		"$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$db.log" | tail -n 1)" "$(samples_written "$db" all)"
	check 'which is sound' dcpictl --db "$db" check
}

may_sample_or_skip 'dcpid compacts its database' || exit 0
echo 'flush_interval = 2; slice = 4; events = ( { name = "cpu-clock"; rate = 500; } );' >"$scratch/conf"
start_dcpid "$db" --config "$scratch/conf" || {
	not_ok 'dcpid starts' "$(cat "$db.log")"
	exit 0
}
daemon=$started
test_running
test_kills
stop "$daemon"
test_alone
test_without_room
test_end_meanwhile
