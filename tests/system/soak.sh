#!/bin/bash
# soak.sh - the soak of an hour works: 20 s of it
#
# Whether something grows takes the hour; here every load must have done its work, and the table must be there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

may_sample_or_skip 'dcpid under everything at once' || exit 0

page=$scratch/page.md
printf 'before\n<!-- soak begin -->\nold\n<!-- soak end -->\nafter\n' >"$page"
"$top/bench/soak" --seconds 20 --interval 2 --limit 16 --no-hotplug --write "$page" --csv "$scratch/soak.csv" \
	--picture "$scratch/soak.svg" 2>"$scratch/said"
status=$?
check_equal 'the soak runs to its end, and finds nothing lost, and nothing too much' 0 $status
check_equal 'the page has the new table in the place of the old one' 'before after 0' \
	"$(sed -n '1p;$p' "$page" | paste -s -d ' ') $(grep -c '^old$' "$page")"
check_at_most 'there is a record every other second, or as often as the machine can' "$(wc -l <"$scratch/soak.csv")" 4
check 'each has all columns' awk -F , '{ n[NF]++ } END { exit length(n) != 1 }' "$scratch/soak.csv"
check 'the picture is one' grep -q '</svg>' "$scratch/soak.svg"
for did in 'new images' 'flushes asked for' 'epochs' 'readers' 'that were stopped'; do
	number=$(tr '\n' ' ' <"$page" | grep -oE "[0-9]+ (more )?$did" | grep -oE '^[0-9]+')
	check "there were $did" test "${number:-0}" -gt 0
done
check_equal 'the database is sound and nothing was dropped' 2 \
	"$(grep -cE '^\| (dropped samples|complaints of dcpictl check) \| 0 \|' "$page")"
causes=$(sed -n 's/^Unknown by cause, [^{]*//p' "$page")
samples=$(tail -n 1 "$scratch/soak.csv" | cut -d , -f 3)
figure "$samples samples, unknown: $causes"
check_at_most 'at most 0.5 % of the samples are unknown, whatever the cause' 0.5 "$(jq "100 * add / $samples" <<<"$causes")"
