#!/bin/bash
# stall_reasons.sh - reasons in order, and what samples of other events leave of them, on a database made by hand
#
# reasons.S has a loop for each reason. Each runs as often as 1000 samples say, 4,000,000 times; who waits for it has as
# many more samples as the model of a two-wide in-order core has him wait, by hand: to a load's user, a multiplication,
# a block behind a branch. What a reason may cost at most is that model's: 250 cycles from memory, 60 for the TLB, 8 for
# a misprediction, 3 for a product, 20 for a quotient.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

db=$scratch/db
image=$scratch/libreasons.so
events=(dTLB-load-misses L1-dcache-load-misses cache-misses branch-misses iTLB-load-misses L1-icache-load-misses)

if [ "$(uname -m)" != x86_64 ]; then
	skip 'reasons in order' 'the code is of x86-64, and no assembler for it is here'
	exit 0
fi

# Samples of cycles: address, samples.
cycles()
{
	cat <<-'END'
		0x1000 200000
		0x1007 1000
		0x1040 61000
		0x1047 1000
		0x104b 1000
		0x1082 1000
		0x1085 35000
		0x108c 1000
		0x10c4 6000
		0x10cc 1000
		0x1100 1000
		0x1102 1000
		0x1104 2500
		0x1108 500
		0x110e 2500
		0x1112 500
		0x1116 1000
		0x111a 1000
		0x1140 1000
		0x114a 40000
		0x1151 1000
		0x1180 50000
		0x1189 1000
		0x11c0 1000
		0x11c3 1000
		0x11c6 1000
		0x11c9 1000
		0x11d0 1000
		0x1200 50000
		0x1205 1000
		0x1207 1000
		0x1209 1000
	END
}

# epoch LABEL [EVENT SAMPLES]... - all that, and events that were counted in `pages`, `branch` and `straight`
epoch()
{
	local label=$1 event

	shift
	printf 'noevents\nevent cycles cycles cycles 4000 yes -\n'
	for event in "${events[@]}"; do
		[[ " $* " != *" $event "* ]] || printf 'event %s %s events 1000 yes -\n' "$event" "$event"
	done
	printf 'epoch %d %s\n' $((start += 1000)) "$label"
	cycles | awk '{ print "count cycles 0 0", $1, $2 }'
	while [ $# -gt 0 ]; do
		if [ "$2" -gt 0 ]; then
			printf "count $1 0 0 %s $2\n" 0x1144 0x1104 0x1200
		fi
		shift 2
	done
	printf 'slice %d %d\n' "$start" $((start + 600))
}

# The same, if a clock had told the time.
clock_epoch()
{
	epoch "$@" | sed 's/^event cycles .*/event cpu-clock cpu-clock ns 1000000 yes -/; s/^count cycles /count cpu-clock /'
}

describe()
{
	local event start=1795275000

	printf 'image user 1111111111111111 %s\ncontext - / -\n' "$image"
	epoch plain
	for event in "${events[@]}"; do
		epoch "no-$event" "$event" 0
		epoch "many-$event" "$event" 100000
	done
	epoch no-data dTLB-load-misses 0 L1-dcache-load-misses 0
	epoch some-tlb dTLB-load-misses 1000
	clock_epoch clock
	clock_epoch clock-no-tlb dTLB-load-misses 0
}

make_database()
{
	as -o "$scratch/reasons.o" "$top/tests/system/reasons.S" &&
		ld -shared -z separate-code --build-id=0x1111111111111111 -o "$image" "$scratch/reasons.o" &&
		describe | "$build/tests/system/make_database" "$db"
}

# stalls EPOCH ADDRESS - its reasons, a line each: name, low, high, culprits
stalls()
{
	dcpicalc --db "$db" --epoch "$1" --cpu in-order-2 --json "$2" "$image" | jq -r --argjson address "$(($2))" '
		.blocks[].instructions[] | select(.address == $address) |
		(.stalls[] | "\(.reason) \(.low * 10 | round / 10) \(.high * 10 | round / 10) \(.culprits)"),
		if .unexplained > 0.05 then "unexplained \(.unexplained * 10 | round / 10)" else empty end'
}

# waits SENTENCE EPOCH ADDRESS LINES
waits()
{
	check_equal "$1" "$4" "$(stalls "$2" "$3")"
}

check 'the database is made' make_database || exit 1

# At the head of a loop, its branch may have been mispredicted (8 cycles), as in the paper's figure 2. What is left when
# all others took their most is a reason's least.
waits 'a load by its own result: cache, and twice a TLB' plain 0x1000 'D-cache miss 70 198 [4096]
DTB miss 0 120 [4096]
Branch mispredict 0 8 [4103]'
waits 'a store that has another line each time: no TLB, whose 60 cycles are for 64 of them' plain 0x1040 \
	'Write buffer 52 60 []
Branch mispredict 0 8 [4171]'
waits 'who uses a quotient' plain 0x1085 'FDIV busy 15 15 [4226]'
waits 'who uses a product' plain 0x10c4 'IMUL busy 3 3 [4288]'
waits 'both ways behind a branch' plain 0x1104 'Branch mispredict 4 4 [4354]'
waits 'one as well as the other' plain 0x110e 'Branch mispredict 4 4 [4354]'
waits 'who uses what is on another page each time' plain 0x114a 'D-cache miss 0 37 [4416]
DTB miss 0 37 [4416]'
waits 'a locked addition to one place: no TLB' plain 0x1180 'Synchronization 41 49 []
Branch mispredict 0 8 [4489]'
waits 'additions, for one another alone' plain 0x11c3 ''
waits 'who is called, for its own code' plain 0x1200 'I-cache (not ITB) 0 49 []
ITB/I-cache miss 0 49 []
Branch mispredict 0 8 []'

# No samples may be three that just did not fall: 0.75 events for each 1000 executions.
waits 'without misses of the TLB it is the cache' no-dTLB-load-misses 0x114a 'D-cache miss 37 37 [4416]'
waits 'without misses of the first level it is the TLB' no-L1-dcache-load-misses 0x114a 'DTB miss 37 37 [4416]'
waits 'without misses of the last level it may be the second (15 cycles)' no-cache-misses 0x114a \
	'D-cache miss 0 15.2 [4416]
DTB miss 21.8 37 [4416]'
waits 'without any it is not known' no-data 0x114a 'unexplained 37'
waits 'by 1000 misses of the TLB, 1066 at most, it is 16 cycles at most' some-tlb 0x114a 'D-cache miss 21 37 [4416]
DTB miss 0 16 [4416]'
waits 'without mispredictions it is not known' no-branch-misses 0x1104 'unexplained 4'
waits 'who is called was not guessed wrongly then' no-branch-misses 0x1200 'I-cache (not ITB) 0 49 []
ITB/I-cache miss 0 49 []'
waits 'without misses of the ITB it is the cache' no-iTLB-load-misses 0x1200 'I-cache (not ITB) 41 49 []
Branch mispredict 0 8 []'
waits 'without misses of the I-cache it is the ITB' no-L1-icache-load-misses 0x1200 'ITB/I-cache miss 41 49 []
Branch mispredict 0 8 []'
waits 'by a clock there are the same reasons' clock 0x114a "$(stalls plain 0x114a)"
waits 'and events rule them out' clock-no-tlb 0x114a 'D-cache miss 37 37 [4416]'
for event in "${events[@]}"; do
	for address in 0x114a 0x1104 0x1200; do
		check_equal "many $event leave all reasons at $address" "$(stalls plain $address)" \
			"$(stalls "many-$event" $address)"
	done
done

dcpicalc --db "$db" --epoch plain --cpu in-order-2 pages "$image" >"$scratch/plain"
dcpicalc --db "$db" --epoch no-dTLB-load-misses --cpu in-order-2 pages "$image" >"$scratch/counted"
check 'the listing names both' grep -qF '    dD   d = D-cache miss' "$scratch/plain"
check 'or the one that is left' grep -qF '    d    d = D-cache miss' "$scratch/counted"
check 'the summary has both' grep -qE '^ \*\*\* +D-cache miss +0.0% to 88.1%' "$scratch/plain"
check 'or is sure of the one' grep -qE '^ \*\*\* +D-cache miss +88.1% to 88.1%' "$scratch/counted"
