#!/bin/bash
# dcpistats on a small database, its output compared whole with tests/system/expected/dcpistats/: figure 3 of the paper,
# with what the tool adds
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

here=$top/tests/system
db=$scratch/db

stats()
{
	dcpistats --db "$db" "$@" 2>&1 | sed "s|$scratch|PLACE|g; /^==*\$/s/.*/=====/"
}

# prints SENTENCE EXPECTED-FILE OPTION... - dcpistats with these options prints that
prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpistats/$2")" "$(stats "${@:3}")"
}

refuses()
{
	check_fails "$1" "$2" "$3" dcpistats --db "$db" "${@:4}"
}

# The first columns of the rows, without blanks: range%, sum and procedure.
rows()
{
	stats --no-header "$@" | awk '{ print $1, $2, $10 }'
}

# Figure 3 as the paper has it, but for blanks; its last column is the procedure, p and the image are ours.
figure_3()
{
	sed 's/  */ /g; s/^ //; s/ $//' <<-'END'
		Number of samples of type cycles
		set 1 = 860301   set 2 = 862645   set 3 = 871952   set 4 = 870780            TOTAL      7144601
		set 5 = 942929   set 6 = 893154   set 7 = 890969   set 8 = 951871

		Statistics calculated using the sample counts for each procedure from 8 different sample set(s)
		=====
		  range%        sum     sum%     N       mean    std-dev        min        max     procedure
		  11.32%  441040.00    6.17%     8   55130.00   21168.70   38155.00   88075.00     smooth_
		   1.44%   72385.00    1.01%     8    9048.12     368.74    8578.00    9622.00     fftb_
		   1.39%   71129.00    1.00%     8    8891.12     327.68    8467.00    9453.00     fftf_
		   0.94% 4242079.00   59.37%     8  530259.87   14097.11  515253.00  555180.00     parmvr_
		   0.68%  378622.00    5.30%     8   47327.75    1032.09   46206.00   48786.00     putb_
		   0.65%  410929.00    5.75%     8   51366.13    1161.61   50420.00   53110.00     vslv1p_
	END
}

look_at_figure()
{
	check_equal 'figure 3 of the paper, to the digit' "$(figure_3)" "$(stats --label 'run*' --limit 6 |
		sed '/^Sets:/,$d' | awk 'NF > 10 && $1 ~ /%/ { print $1, $2, $3, $4, $5, $6, $7, $8, $10; next } { print }' |
		sed '$d; s/  */ /g; s/^ //; s/ $//')"
	prints 'procedures of eight labels' figure --label 'run*'
	prints 'images' by-image --label 'run*' -i --all
	prints 'instructions, as comma-separated values' by-instruction --label 'run[1-3]' --by-instruction --csv --limit 3
	check_equal 'labels in the order of their numbers' 'run1 run2 run3 run4 run5 run6 run7 run8' \
		"$(stats --label '*n*[0-9]' --json | jq -r '[.sets[].title] | join(" ")')"
	check_equal 'of one image' 'exp' "$(rows --label 'run*' --image libm.so | cut -d' ' -f3)"
	check_equal 'what varies more than sampling alone' 7 "$(stats --label 'run*' --noise sampling --json |
		jq '[.rows[] | select(.marked)] | length')"
	check_equal 'and more than 50 percent' 0 "$(stats --label 'run*' --noise 50 --json |
		jq '[.rows[] | select(.marked)] | length')"
	check_equal 'sorted by another column' 'parmvr_ exp' "$(rows --label 'run*' --sort sum --limit 2 |
		cut -d' ' -f3 | paste -sd' ')"
	check_equal 'without what has little' 'exp parmvr_ putb_ smooth_ vslv1p_' \
		"$(rows --label 'run*' --cutoff 5 | cut -d' ' -f3 | sort | paste -sd' ')"
}

look_at_sets()
{
	check_equal 'epochs are sets' 'epoch 1 7144601,epoch 2 671714,epoch 3 40400' "$(stats --epoch all --all --json |
		jq -r '[.sets[] | "\(.title) \(.samples)"] | join(",")')"
	check_equal 'periods that differ are scaled by' '1 2' "$(stats --label run1 --label slow.1 --json |
		jq -r '[.sets[].factor + 0] | join(" ")')"
	check_equal 'and then are no difference, but for halves of odd counts' '0.01% 0.00% 0.00% 0.00% 0.00% 0.00%' \
		"$(rows --label run1 --label slow.1 --image wave5 | cut -d' ' -f1 | paste -sd' ')"
	prints 'stretches of time, by their length' by-time --normalize time --since @1795290000 --until @1795290100 \
		--since @1795290100
	# 0.1 of the first, 3000 of 30400 of the second: (0.1 - 0.09868) / (0.1 + 0.09868)
	check_equal 'by their totals, unknown samples lack in the rows' '0.66% 0.66% 0.66% 0.66%' \
		"$(stats --normalize total --since @1795290000 --until @1795290100 --since @1795290100 --no-header --all |
			awk '{ print $1 }' | paste -sd' ')"
	check_equal 'stretches that meet in a slice share it' \
		'Shared:   sets 1 and 2 have samples in common: what the database keeps of a stretch of time is taken whole' \
		"$(stats --since @1795290000 --until @1795290150 --since @1795290150 | grep ^Shared:)"
	check_equal 'databases are sets' 'PLACE/db PLACE/db 0 0 0 0' "$(dcpistats "$db" "$db" --json |
		jq -r '[.sets[].title, (.rows[].range_percent + 0)] | join(" ")' | sed "s|$scratch|PLACE|g")"
	check_equal 'groups of labels' 'run[12] 1722946,run[34] 1742732' "$(stats --set --label 'run[12]' --set --label 'run[34]' \
		--json | jq -r '[.sets[] | "\(.title) \(.samples)"] | join(",")')"
	stats --label 'run*' --json >"$scratch/run.json"
	check 'JSON is what its manual says' json_holds '
		.schema == "dcpistats/1" and .event == "cycles" and .by == "procedure" and .normalize == "none" and
		.total == 7144601 and .p == 0.01 and .tested == 7 and .too_few_samples == 1 and (.scaled_by_period | not) and
		.noise_percent > 2 and .noise_percent < 4 and
			.noise_least_percent < 2 and .noise_most_percent > 4 and .noise_most_percent < 5 and (.sets | length) == 8 and
		(.sets[7] | .title == "run8" and .samples == 951871 and .factor == 1 and .period == 62000 and
			.start == "2026-11-21T14:18:20Z" and .first_epoch == 1 and .outlier_percent == null) and
		(.rows[0] | .procedure == "smooth_" and .image == "/usr/bin/wave5" and .build_id == "5ec95f51" and
			.sum == 441040 and .mean == 55130 and .min == 38155 and .max == 88075 and .sets == 8 and
			(.range_percent * 100 | round) == 1132 and (.p * 10000 | round) == 2 and .marked and
			.counts == [38155, 42504, 40898, 38996, 87637, 58272, 46503, 88075]) and
		([.rows[1:][] | .marked] | any | not)' "$scratch/run.json"
	check_equal 'no control character reaches the output' 0 "$(for format in --json --csv --color=never; do
		stats --label '*day*' --label 'slow.1' --all $format; done | LC_ALL=C grep -c $'[\001-\010\013-\037]')"
}

# describe_runs KNOWN - eight runs of 10 to 80 s, in one slice of ten minutes but for run 3, which has half of its 30 s in
# the next; all take 1000 samples a second in `work`, but run 8 takes 1200. KNOWN=no: as before the times of runs were kept.
describe_runs()
{
	local run begin=0 seconds rate

	printf 'event cycles cycles cycles 62000 yes -\nimage kernel 1111 /opt/runs\nepoch 1795270000 -\n'
	for ((run = 1; run <= 8; run++)); do
		echo "context runs - run.$run"
	done
	for ((run = 1; run <= 8; run++)); do
		rate=$((run == 8 ? 1200 : 1000))
		seconds=$((run == 3 ? 15 : run * 10))
		echo "count cycles 0 $((run - 1)) 0x1000 $((seconds * rate))"
		echo "count cycles 0 $((run - 1)) 0x2000 $((seconds * 100))"
		[ "$1" = no ] || echo "ran run.$run $((1795270000 + begin)) $((1795270000 + begin + seconds)) $seconds"
		begin=$((begin + seconds))
	done
	printf 'slice 1795270000 1795270600\ncount cycles 0 2 0x1000 15000\ncount cycles 0 2 0x2000 1500\n'
	[ "$1" = no ] || echo 'ran run.3 1795270600 1795270615 15'
	printf 'slice 1795270600 1795271200\nsymbols 0 0x1000 work 0x2000 rest\n'
}

# rates FILE - what JSON says that each set has of `work`, normalized, as part of what set 1 has
rates()
{
	jq -r '.sets as $sets | [.rows[] | select(.procedure == "work") | .counts | to_entries[] | .value * $sets[.key].factor] |
		[.[] / .[0] | . * 1000 | round] | join(" ")' "$1"
}

look_at_runs()
{
	describe_runs yes | "$build/tests/system/make_database" "$scratch/runs" || return
	describe_runs no | "$build/tests/system/make_database" "$scratch/older" || return
	dcpistats --db "$scratch/runs" --label 'run.*' --normalize time --json >"$scratch/runs.json"
	check_equal 'runs of 10 to 80 s in one slice differ by their rates, not by their lengths, nor does a border of slices matter' \
		'1000 1000 1000 1000 1000 1000 1000 1200' "$(rates "$scratch/runs.json")"
	check_equal 'as JSON says, by the time of runs' 'runs 10 20 30 40 50 60 70 80' \
		"$(jq -r '[.sets[0].time_of, (.sets[].time_ns / 1e9)] | join(" ")' "$scratch/runs.json")"
	dcpistats --db "$scratch/runs" --label 'run.*' --normalize time >"$scratch/printed"
	check_equal 'and the text' 'Time:     counts are divided by how long the runs of a set lasted' "$(grep ^Time: "$scratch/printed")"
	check 'for each set' grep -qE '^ +3 run.3: .*, epoch 1, 30.000 s, counts times' "$scratch/printed"
	dcpistats --db "$scratch/runs" --set --label 'run.[12]' --set --label 'run.[45]' --normalize time --json >"$scratch/runs.json"
	check_equal 'runs of several labels add up' '30 90 1000 1000' \
		"$(jq -r '[.sets[].time_ns / 1e9] | join(" ")' "$scratch/runs.json") $(rates "$scratch/runs.json")"
	check_equal 'what has no label is divided by its slices' 'runs 10 slices 1200' "$(dcpistats --db "$scratch/runs" \
		--set --label run.1 --set --epoch 1 --normalize time --json | jq -r '[.sets[] | .time_of, .time_ns / 1e9] | join(" ")')"
	check 'and the text says both' grep -q '^Time: .* lasted, without a label by the length of its slices$' \
		<(dcpistats --db "$scratch/runs" --set --label run.1 --set --epoch 1 --normalize time)
	check_equal 'where the times of runs are not known, slices are divided by' 'slices 600 600 1200 600 600 600 600 600' \
		"$(dcpistats --db "$scratch/older" --label 'run.*' --normalize time --json |
			jq -r '[.sets[0].time_of, (.sets[].time_ns / 1e9)] | join(" ")')"
	check 'which the text says' grep -q '^Time: .* slices .*: how long runs lasted is not known of set 1 (run.1) and 7 more$' \
		<(dcpistats --db "$scratch/older" --label 'run.*' --normalize time)
	check_equal 'of all sets, when it is not known of one' 'slices slices' "$(dcpistats --set --db "$scratch/runs" --label run.1 \
		--set --db "$scratch/older" --label run.1 --normalize time --json | jq -r '[.sets[].time_of] | join(" ")')"
}

# What is usual of runs on this machine decides where the rows of a program are few: ten other runs vary by half a
# percent, and what varies by five is more than noise then. By the program that worked out the other p-values.
look_at_history()
{
	local run=0 label counts count offset

	{
		printf 'event cycles cycles cycles 62000 yes -\nimage user 1111 /opt/runs\nepoch 1795270000 runs\n'
		while read -r label counts; do
			echo "context runs - $label"
			offset=0
			for count in $counts; do
				offset=$((offset + 0x1000))
				echo "count cycles 0 $run $offset $count"
			done
			run=$((run + 1))
		done <<-END
			build.1 895670 396822 249627 802018 302045
			build.2 900592 398674 248823 803594 302943
			build.3 901473 397040 248563 807680 300365
			build.4 890646 399799 248255 796979 299122
			build.5 896148 401328 249905 797171 300737
			sort.1 702324 496714 599384 348627 449688
			sort.2 696390 500041 599909 349574 448114
			sort.3 698891 497817 596747 350315 448003
			sort.4 703277 501433 595205 350381 448017
			sort.5 700093 500087 595228 349673 449540
			two.1 12100 300
			two.2 13200 310
			two.3 11400 295
			two.4 12900 290
			two.5 11900 305
		END
		printf 'slice 1795270000 1795270100\nsymbols 0 0x1000 a 0x2000 b 0x3000 c 0x4000 d 0x5000 e\n'
	} | "$build/tests/system/make_database" "$scratch/history" || return
	dcpistats --db "$scratch/history" --label 'two.*' --json >"$scratch/two.json"
	check 'runs of other programs, not of this one, say what is usual on a machine' json_holds '
		.prior.programs == 2 and .prior.runs == 10 and .prior.percent > 0.74 and .prior.percent < 0.77 and
		(.rows[0] | .procedure == "a" and .p > 0.031 and .p < 0.033)' "$scratch/two.json"
	check 'and the line of noise says so' grep -q 'and 0.7[56]%, by 10 runs of 2 other programs here' \
		<(dcpistats --db "$scratch/history" --label 'two.*')
}

look_at_plots()
{
	stats --label 'run*' --plot "$scratch/plot.gnuplot" >"$scratch/printed"
	check 'a script for gnuplot' grep -q "set ytics ('smooth_' 0, 'fftb_' 1," "$scratch/plot.gnuplot"
	check_equal 'the table is printed as well' "$(stats --label 'run*')" "$(cat "$scratch/printed")"
	check_equal 'a point for each set of each row' 56 "$(grep -cE '^-?[0-9.e-]+ [0-6] [1-8]$' "$scratch/plot.gnuplot")"
	check 'a picture' stats --label 'run*' --plot "$scratch/plot.svg"
	check 'that is one' grep -q '<svg' "$scratch/plot.svg"
	check 'on a white ground' has_white_ground "$scratch/plot.svg"
	for picture in poster growth soak; do
		check "as docs/$picture.svg is" has_white_ground "$top/docs/$picture.svg"
	done
	check 'with the names of the rows' grep -q 'smooth_' "$scratch/plot.svg"
	refuses 'a picture of no kind that is known' 2 'that ends in .svg, .png, .pdf or .gnuplot' --label 'run*' \
		--plot "$scratch/plot.doc"
	refuses 'a picture that cannot be written' 1 'cannot write the plot' --label 'run*' --plot /nowhere/plot.svg
}

look_at_refusals()
{
	refuses 'one set' 2 '1 set of samples, and it takes 2' --label run1
	refuses 'sets of two kinds' 2 'several labels and several epochs: begin each set with --set' \
		--label run1 --label run2 --epoch 1 --epoch 2
	refuses 'a database behind a --set' 2 'with --set, a database is named by --db' --set --label run1 "$db"
	refuses 'no such label' 4 'no label matches walk*; there are' --label 'walk*'
	refuses 'no such image' 4 'no image with samples is called that in any of the sets' --label 'run*' --image nothing
	refuses 'no such event' 2 "no event 'cycle' in the selected epochs; did you mean cycles?" --label 'run*' --event cycle
	refuses 'a wrong normalization' 2 "--normalize 'weight' is not one of none, total, time" --normalize weight
	refuses 'a wrong order' 2 "--sort 'size' is not one of range, sum, p, deviation" --sort size
	refuses 'a wrong noise' 2 'is not a number from 0 to 1000' --noise much
	refuses 'no database' 1 'there is no profile database here' --db "$scratch/nowhere"
}

mkdir "$db"
"$build/tests/system/make_database" "$db" <"$here/dcpistats.description" || exit 1
look_at_figure
look_at_sets
look_at_runs
look_at_history
look_at_plots
look_at_refusals

[ $failures = 0 ]
