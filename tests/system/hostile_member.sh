#!/bin/bash
# hostile_member.sh - who may read a database may read it, and do nothing to it, whatever he tries
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'a hostile member of the group' || exit 0

member=64998
group=64999
db=$scratch/db
log=$scratch/log
chmod a+x "$scratch"

as_member()
{
	setpriv --reuid=$member --regid=$group --clear-groups "$@"
}

if ! as_member true 2>/dev/null; then
	skip 'a hostile member of the group' 'needs root to become another user'
	exit 0
fi

cat >"$scratch/conf" <<-'END'
	flush_interval = 1; size_limit_mib = 16;
	events = ( { name = "cpu-clock"; rate = 1000; } );
END
start setpriv --regid=$group --clear-groups "$(command -v dcpid)" --foreground --db "$db" --socket "$db/control" \
	--config "$scratch/conf" 2>"$log"
dcpid=$started
wait_for 20 dcpictl --db "$db" flush || {
	not_ok 'dcpid starts' "$(cat "$log")"
	exit 0
}

# ---- what he may do

# So that there is something.
for _ in {1..30}; do dcpiprof --db "$db" >/dev/null; done
dcpictl --db "$db" flush >/dev/null
check 'a member reads' as_member dcpiprof --db "$db"
check 'and asks for the status' as_member dcpictl --db "$db" status
check_equal 'of all files he may read the counts and the promise to readers' 'data.mdb readers.lock' \
	"$(cd "$db" && for file in *.mdb *.lock; do as_member test -r "$file" && echo "$file"; done | xargs)"
check_equal 'and write none' '' "$(cd "$db" && for file in . *; do as_member test -w "$file" && [ ! -S "$file" ] && echo "$file"; done)"

# ---- twenty readers beside a writer that commits ten times a second

# check reads the whole database, and compares the totals of slices with the sums of their counts. Each reads 25 times,
# and as long as the writer has not committed often enough for that to mean anything.
read_as_twenty()
{
	local reader

	for reader in {1..20}; do
		(
			reads=0
			while [ $((reads += 1)) -le 25 ] || [ ! -e "$scratch/enough" ]; do
				as_member dcpictl --db "$db" check || echo "ended with $?"
			done
		) >"$scratch/reader.$reader" 2>&1 &
	done
	wait
}

start read_as_twenty
readers=$started
flushes=0
while kill -0 "$readers" 2>/dev/null; do
	dcpictl --db "$db" flush >/dev/null && flushes=$((flushes + 1))
	if [ $flushes -ge 40 ] || [ $SECONDS -ge 120 ]; then : >"$scratch/enough"; fi
	sleep 0.05
done
figure "20 readers read $(cat "$scratch"/reader.* | wc -l) times beside $flushes flushes"
check_at_least 'the writer goes on beside them' 40 $flushes
check_at_least 'twenty readers find the totals of every version equal to its counts' 500 \
	"$(cat "$scratch"/reader.* | grep -c ': no damage found$')"
check_equal 'and are told nothing else' '' "$(grep -hv ': no damage found$' "$scratch"/reader.* | head -n 3)"

# ---- what he tries

# Locks of all that can be locked, descriptors of all that can be opened, connections that say nothing.
# shellcheck disable=SC2016 # perl's own
start as_member perl -MFcntl -MSocket -e '
	my ($db) = @ARGV;
	$| = 1;
	for my $name (glob("$db/*")) {
		for my $mode (O_RDWR, O_RDONLY) {
			my $file;
			next if -S $name || !sysopen($file, $name, $mode);
			print "WRITES $name\n" if $mode == O_RDWR;
			my $all = pack("s s x4 q q l x4", F_RDLCK, 0, 0, 0, 0); # to the end of all files
			fcntl($file, F_SETLK, $all) or print "cannot lock $name\n";
			push @files, $file;
		}
	}
	for (1 .. 100) {
		my $socket;
		socket($socket, AF_UNIX, SOCK_STREAM, 0) or die $!;
		connect($socket, pack_sockaddr_un("$db/control"));
		push @files, $socket;
	}
	print "ready\n";
	sleep 1000' "$db" >"$scratch/hostile" 2>&1
hostile=$started
wait_for 20 grep -q ready "$scratch/hostile"
check_equal 'he can open nothing to write' ready "$(cat "$scratch/hostile")"
check 'connections of his that say nothing make nobody wait' timeout 4 dcpictl --db "$db" status
before=$(stat -c %s "$db/data.mdb")
sleep 10
held=$(stat -c %s "$db/data.mdb")
check 'what he locks does not keep dcpid from writing' \
	wait_for 20 eval "[ \"\$(stat -c %Y '$db/data.mdb')\" -ge $(date +%s) ]"
check_equal 'dcpid goes on' running "$(kill -0 "$dcpid" && echo running)"
check_at_most 'the file stays below its limit' $((17 << 20)) "$held"
figure "locked for 10 s, the file went from $((before >> 10)) KiB to $((held >> 10)) KiB"
check 'others read' as_member dcpiprof --db "$db"
stop "$hostile"

# ---- and it is whole

dcpictl --db "$db" quit
wait "$dcpid"
check_equal 'dcpid ends well' 0 $?
check 'nothing was put aside' eval "! ls -d '$db'/damaged-* 2>/dev/null"
check 'the database is sound' dcpictl --db "$db" check
check_equal 'and has every sample' "$(sed -n 's/.*: \([0-9]*\) samples in .*/\1/p' "$log" | tail -n 1)" "$(samples_written "$db" all)"
