#!/bin/bash
# dcpidiff on a small database, its output compared whole with tests/system/expected/dcpidiff/ - worked out by hand from
# dcpidiff.description; intervals and chances by a program of their own, which solves Wilson's equation and adds Fisher's
# fractions up - and on a program that was changed, for real
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=figure_database.sh
. "$top/tests/system/figure_database.sh"

here=$top/tests/system
db=$scratch/db
unset PAGER LESS NO_COLOR

# The library, and another build of it: elsewhere, its code 256 bytes further on, a procedure taken apart.
make_database()
{
	mkdir "$scratch/new" &&
		assemble_figure &&
		printf '.text\n.skip 0x100, 0x90\n.section .note.GNU-stack, "", @progbits\n' | as -o "$scratch/pad.o" &&
		objcopy --redefine-sym helper=helper.isra.0 "$scratch/figure.o" "$scratch/split.o" &&
		link_figure libfigure.so 1111111111111111 &&
		ld -shared -z separate-code --build-id=0x2222222222222222 -o "$scratch/new/libfigure.so" "$scratch/pad.o" \
			"$scratch/split.o" &&
		link_figure libsame.so 3333333333333333 &&
		sed "s|PLACE|$scratch|" "$here/dcpidiff.description" | "$build/tests/system/make_database" "$db"
}

diff_sets()
{
	dcpidiff --db "$db" "$@" 2>&1 | sed "s|$scratch|PLACE|g"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpidiff/$2")" "$(diff_sets "${@:3}")"
}

look_at_small_database()
{
	check 'the database is made' make_database || return
	prints 'procedures of two labels, of an image that was built anew, and of one that was not' procedures \
		--label before --label after
	prints 'images' images -i --no-header --label before --label after
	prints 'what differs, as comma-separated values' csv --csv --marked --label before --label after
	diff_sets --json --set --label before --set --label after >"$scratch/diff.json"
	# shellcheck disable=SC2016 # jq's variables
	check 'JSON is what its manual says' json_holds '
		.schema == "dcpidiff/2" and .compare == "samples" and .confidence == 95 and .differ == 4 and .row_count == 8 and
		.changed == null and .noise == null and .before.runs == 1 and
		(.before | .set == "before" and .samples == 1000 and .epochs == [1] and
			.event == {name: "cpu-clock", unit: "ns", period: 4000000}) and .after.samples == 2000 and
		(.rows[0] | .procedure == "foo::bar" and .before == null and .after.samples == 500 and .times == null and
			.after.offset == 4480 and .differs and .changed == null) and
		(.rows[1] | .procedure == "hot_loop" and .before.percent == 60 and .after.amount == 3.2e9 and .difference == -20 and
			.before.build_id == "1111111111111111" and .times_least < 1.3333 and .times_most > 1.3333) and
		(.rows[2] | .procedure == "evil\\x1b[2Jname" and .after == null and .times == 0) and
		.builds == [{before: "PLACE/libfigure.so", after: "PLACE/new/libfigure.so", by: "file name"},
			{before: "/opt/libgone-1.2.so", after: "/opt/libgone-1.3.so", by: "file name without version"}]' \
		"$scratch/diff.json"
	check 'each sample of a set is in a row' json_holds '
		([.rows[].before.samples // 0] | add) == .before.samples and
			([.rows[].after.samples // 0] | add) == .after.samples' "$scratch/diff.json"
	check_equal 'the other way round, changes have the other sign' \
		"$(jq '[.rows[].difference] | sort | map(round + 0)' -c "$scratch/diff.json")" \
		"$(diff_sets --json --label after --label before | jq '[.rows[] | -.difference] | sort | map(round + 0)' -c)"
	check_equal 'a set beside itself does not differ' 0 \
		"$(diff_sets --json --set --label before --set --label before | jq .differ)"
	check_equal 'the image that was asked for, its shares of all samples' \
		"$(grep libsame "$here/expected/dcpidiff/procedures" | cut -c1-78)" \
		"$(diff_sets --no-header --image libsame.so --label before --label after | cut -c1-78)"
	check_equal 'an image of each set' '60.00% 40.00%' "$(diff_sets --no-header \
		--set --label before --image libfigure.so --set --label after --image 2222 | awk '/hot_loop/ { print $1, $2 }')"
	check_equal 'epochs: unknown samples are part of the whole' '8010 2000' \
		"$(diff_sets --json --epoch first --epoch second | jq -r '"\(.before.samples) \(.after.samples)"')"
	check_equal 'another event' '- 100.00%' \
		"$(diff_sets --no-header --event page-faults --epoch second --epoch second | awk '{ print "-", $2 }')"
	check_equal 'a wider interval' '-24.80% -15.05%' \
		"$(diff_sets --no-header --confidence 99 --label before --label after | awk '/hot_loop/ { print $5, $6; exit }')"
	check_fails 'one set is not enough' 2 '1 set of samples, and it takes 2' dcpidiff --db "$db" --label before
	check_fails 'a database that is not there is no procedure' 1 'there is no profile database here' \
		dcpidiff "$db" nowhere.db
	check_fails 'three are too many' 2 '3 sets of samples were named, and 2 are all' \
		dcpidiff --db "$db" --label a --label b --label c
	check_fails 'a label that is none' 4 'no label matches nobody' dcpidiff --db "$db" --label before --label nobody
	check_fails 'an image of neither set' 4 'did you mean libsame.so?' \
		dcpidiff --db "$db" --label before --label after --image libsam.so
	check_fails 'an image that this set does not have' 4 'no image with samples is called that' \
		dcpidiff --db "$db" --set --label before --image 2222 --set --label after
	check_fails 'no samples of the event' 4 'no samples in what was selected for before' \
		dcpidiff --db "$db" --event page-faults --label before --label after
	check_fails 'a comparison that is none' 2 "--compare is one of 'samples', 'cpi'" \
		dcpidiff --db "$db" --compare speed --label before --label after
	check_equal 'no control character reaches the output' 0 "$(for format in --json --csv --color=never; do
		diff_sets $format --label before --label after
	done | LC_ALL=C grep -c $'[\001-\010\013-\037]')"
}

# Runs of two sides: 20,000 samples each, by 2 to 3 % of noise. `changed` is what was changed; `same` differs by more than
# sampling explains, and not by more than runs do.
look_at_runs()
{
	local run=0 label line

	{
		printf 'event cpu-clock cycles ns 4000000 yes -\nimage user 1111 /opt/runs\n'
		for label in old.1 old.2 old.3 old.4 new.1 new.2 new.3 new.4; do
			echo "context runs / $label"
		done
		echo 'epoch 1795271400 runs'
		while read -ra line; do
			for offset in 0x1000 0x2000 0x3000 0x4000; do
				echo "count cpu-clock 0 $run $offset ${line[$((offset / 0x1000 - 1))]}"
			done
			run=$((run + 1))
		done <<-END
			5000 3000 1000 11000
			5200 3150 1040 10610
			4900 2900 980 11220
			5100 2950 1010 10940
			6100 3120 1025 9755
			6250 3090 990 9670
			5900 2980 1030 10090
			6000 3220 1000 9780
		END
		printf 'slice 1795271400 1795272000\nsymbols 0 0x1000 changed 0x2000 same 0x3000 small 0x4000 rest\n'
	} | "$build/tests/system/make_database" "$scratch/runs" || return
	check_equal 'with several runs, what changed is more than noise' "$(cat "$here/expected/dcpidiff/runs")" \
		"$(dcpidiff --db "$scratch/runs" --before 'old.*' --after 'new.*' 2>&1)"
	check_equal 'which alone says that the other did not' 'same true null; same false false' "$(
		for options in '--set --label old.* --set --label new.*' '--before old.* --after new.*'; do
			set -f
			# shellcheck disable=SC2086 # words
			dcpidiff --db "$scratch/runs" --json $options |
				jq -r '.rows[] | select(.procedure == "same") | "\(.procedure) \(.differs) \(.changed)"'
			set +f
		done | paste -sd ';' | sed 's/;/; /')"
	check 'JSON has the noise' json_holds '(.noise | .percent > 2.5 and .percent < 2.6 and .tested == 4) and
		.before.runs == 4 and .changed == 2 and (.rows[] | select(.procedure == "changed") | .p > 0 and .p < 1e-5)' \
		<(dcpidiff --db "$scratch/runs" --json --before 'old.*' --after 'new.*')
	check_equal 'images have no difference, for all samples are of one' 0 \
		"$(dcpidiff --db "$scratch/runs" -i --json --before 'old.*' --after 'new.*' | jq .changed)"
	check_fails 'one side alone' 2 '--before and --after go together' dcpidiff --db "$scratch/runs" --before 'old.*'
	check_fails 'two sides and a set' 2 'are two sets: not with --set' \
		dcpidiff --db "$scratch/runs" --before 'old.*' --after 'new.*' --set --label old.1
	check_fails 'two sides and a label' 2 'are two sets of labels: not with more labels' \
		dcpidiff --db "$scratch/runs" --before 'old.*' --after 'new.*' --label old.1
	check_fails 'a side twice' 2 'each name one pattern of labels' \
		dcpidiff --db "$scratch/runs" --before 'old.*' --before 'new.*'
	check_fails 'a side that there is not' 4 'no label matches older' \
		dcpidiff --db "$scratch/runs" --before 'older.*' --after 'new.*'
}

# Two builds of one path, both gone, whose names were captured.
look_at_captured()
{
	check 'a database with captured names is made' "$build/tests/system/make_database" "$scratch/captured" <<-END || return
		event cpu-clock cycles ns 4000000 yes -
		image user 1111111111111111 /opt/gone
		image user 2222222222222222 /opt/gone
		context gone / -
		epoch 1795271400 before
		count cpu-clock 0 0 0x1010 30
		count cpu-clock 0 0 0x1110 70
		slice 1795271400 1795272000
		symbols 0 0x1000 work 0x1100 rest.isra.0
		epoch 1795275000 after
		count cpu-clock 1 0 0x2210 60
		count cpu-clock 1 0 0x2110 40
		slice 1795275000 1795275600
		symbols 1 0x2000 init 0x2100 work 0x2200 rest
	END
	check_equal 'when programs are gone, their procedures still meet by the names that were captured' \
		'30.00% 40.00% work 70.00% 60.00% rest' "$(dcpidiff --db "$scratch/captured" --no-header \
			--epoch before --epoch after | sort -k1 | awk '{ print $1, $2, $(NF - 1) }' | paste -sd ' ')"
}

# Files that have nothing in common but what is in them: a soname, a source, names of procedures.
look_at_renamed()
{
	local name number=1122334455667710

	(
		cd "$scratch" || exit
		echo 'int main(void) { return 0; }' >renamed.c
		echo 'int shared(void) { return 0; }' >shared.c
		for name in alpha omega; do
			gcc -g -Wl,--build-id=0x$((number++)) -o $name renamed.c
		done
		for name in ham egg; do
			gcc -shared -fPIC -Wl,-soname,libshared.so.1,--build-id=0x$((number++)) -o $name shared.c
		done
		for name in cat dog; do
			gcc -shared -fPIC -Wl,--build-id=0x$((number++)) -o $name shared.c
		done
	)
	check 'a database of renamed files is made' "$build/tests/system/make_database" "$scratch/renamed" <<-END || return
		event cpu-clock cycles ns 4000000 yes -
		image user 1122334455667710 $scratch/alpha
		image user 1122334455667711 $scratch/omega
		image user 1122334455667712 $scratch/ham
		image user 1122334455667713 $scratch/egg
		image user 1122334455667714 $scratch/cat
		image user 1122334455667715 $scratch/dog
		context renamed / -
		epoch 1795271400 before
		count cpu-clock 0 0 $(offset_of main "$scratch/alpha") 30
		count cpu-clock 2 0 $(offset_of shared "$scratch/ham") 30
		count cpu-clock 4 0 $(offset_of shared "$scratch/cat") 30
		slice 1795271400 1795272000
		epoch 1795275000 after
		count cpu-clock 1 0 $(offset_of main "$scratch/omega") 30
		count cpu-clock 3 0 $(offset_of shared "$scratch/egg") 30
		count cpu-clock 5 0 $(offset_of shared "$scratch/dog") 30
		slice 1795275000 1795275600
	END
	check_equal 'renamed files meet by soname, source and names of procedures' \
		'alpha omega source, cat dog procedures, ham egg soname' "$(dcpidiff --db "$scratch/renamed" --json \
			--epoch before --epoch after | jq -r '.builds[] | "\(.before) \(.after) \(.by)"' |
			sed "s|$scratch/||g" | sort | paste -sd ',' | sed 's/,/, /g')"
}

# offset_of FUNCTION FILE - where it begins in the file: code lies there at its address
offset_of()
{
	nm "$2" | awk -v name="$1" '$3 == name { print "0x" $1 }'
}

# build_changed VERSION TURNS - a program whose procedure `changed` makes TURNS times the turns of `steady`
build_changed()
{
	mkdir "$scratch/$1"
	cat >"$scratch/$1/changed.c" <<-END
		/* each turn waits for the one before: where the code lies does not matter */
		#define CHAIN(x) do { x = x * 6364136223846793005ul + 1; __asm__ volatile("" : "+r"(x)); } while (0)
		__attribute__((noinline)) static void steady(unsigned long x) { for (int i = 0; i < 100000; i++) CHAIN(x); }
		__attribute__((noinline)) static void changed(unsigned long x)
		{
			for (int i = 0; i < $2 * 100000; i++)
				CHAIN(x);
		}
		int main(void) { for (int i = 0; i < 1500; i++) { steady(i); changed(i); } return 0; }
	END
	gcc -O1 -g -o "$scratch/$1/changed" "$scratch/$1/changed.c"
}

# A program is built again with one procedure that takes four times as long.
look_at_change()
{
	may_sample_or_skip 'a program that was changed' || return
	build_changed v1 1
	build_changed v2 4
	printf 'events = ( { name = "cpu-clock"; rate = 1000; } );\n' >"$scratch/dcpid.conf"
	start_dcpid "$scratch/real" --config "$scratch/dcpid.conf" --label before || {
		not_ok 'dcpid starts' "$(cat "$scratch/real.log")"
		return
	}
	"$scratch/v1/changed"
	dcpictl --db "$scratch/real" epoch --label after >/dev/null
	"$scratch/v2/changed"
	stop "$started"
	dcpidiff --db "$scratch/real" --comm changed --epoch before --epoch after --json >"$scratch/real.json"
	# shellcheck disable=SC2016 # jq's variables
	check 'of a program that was built again, the procedure that was changed takes more of the time, and is marked' \
		json_holds '([.rows[:2][].procedure] | sort) == ["changed", "steady"] and
			(.rows[] | select(.procedure == "changed") | .differs and .difference > 10 and
				.before.build_id != .after.build_id)' "$scratch/real.json"
	# shellcheck disable=SC2016 # jq's variables
	check 'it takes about four times as long, if the other takes as long as before' json_holds '
		[.rows[] | select(.procedure == "changed" or .procedure == "steady")] | length == 2 and
			(map({(.procedure): .times}) | add | .changed / .steady | . > 2 and . < 8)' "$scratch/real.json"
	check_equal 'two builds of one name are one image' 'file name' \
		"$(jq -r '.builds[] | select(.after | endswith("/v2/changed")).by' "$scratch/real.json")"
	dcpidiff --db "$scratch/real" --comm changed --epoch before --epoch after --json changed >"$scratch/lines.json"
	# shellcheck disable=SC2016 # jq's variables
	check 'the procedure is compared by its lines, the one that changed among them' json_holds '
		.by == "lines" and (.same_build | not) and (.rows[0] | .kind == "procedure" and .differs) and
		([.rows[1:][] | select(.file == "changed.c") | .before.samples // 0] | add) == .rows[0].before.samples and
		(.rows[1:] | any(.text | contains("CHAIN(x)")))' "$scratch/lines.json"
}

look_at_small_database
look_at_runs
look_at_captured
look_at_renamed
look_at_change

[ $failures = 0 ]
