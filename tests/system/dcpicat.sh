#!/bin/bash
# dcpicat on the small database of dcpiprof.sh, its output compared whole with tests/system/expected/dcpicat/, which is
# written by hand from dcpiprof.description; and on what runs here, where it has to add up to what dcpiprof says
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=figure_database.sh
. "$top/tests/system/figure_database.sh"

here=$top/tests/system
db=$scratch/db

cat_profile()
{
	dcpicat --db "$db" "$@" 2>&1 | sed "s|$scratch|PLACE|g"
}

prints()
{
	check_equal "$1" "$(cat "$here/expected/dcpicat/$2")" "$(cat_profile "${@:3}")"
}

check 'the database is made' make_figure_database "$db" || exit 1
prints 'every count of every image' default
prints 'names behind the counts, as they are linked' names --no-header --names --no-demangle libfigure.so '[ext4]' '[kernel]'
prints 'comma-separated values of one event, with names' csv --csv --names --event page-faults
check_equal 'what does not have the event is left out' '0x1080 30' "$(cat_profile --no-header --event page-faults libfigure.so)"
check_equal 'only some processes' '0x1234 80 0' "$(cat_profile --no-header --comm 'ev*' '*libgone.so')"
check_equal 'the label and the number of an epoch' 'epoch 1 testhost before' "$(cat_profile --epoch before | grep ^epoch)"
check_equal 'of two builds at one path, the one that is asked for' '0x1000 700 5' "$(cat_profile --no-header 4444)"

cat_profile --json --names >"$scratch/cat.json"
# shellcheck disable=SC2016 # jq's variables
check 'JSON is what its manual says' json_holds '
	.schema == "dcpicat/1" and .epochs == [2] and .start == "2026-11-21T15:30:00Z" and
	.unknown["no-process"] == 60 and ([.events[] | [.name, .selected]] | .[:2]) ==
		[["cpu-clock", 9923], ["page-faults", 50]] and
	.columns == ["offset", "cpu-clock", "page-faults", "procedure", "procedure_offset"] and
	(.images | length) == 9 and
	(.images[1] | .image == "PLACE/libfigure.so" and .kind == "user" and .build_id == "1111111111111111" and
		.samples == [7060, 30] and .rows[1] == [4100, 2000, 0, "hot_loop", 4096]) and
	(.images[6] | .image == "[ext4]" and .kind == "module" and .build_id == null and
		.rows == [[256, 300, 0, null, null]])' "$scratch/cat.json"
check 'rows add up to their image, images to the event' json_holds '
	(.images | all(.samples == [([.rows[][1]] | add), ([.rows[][2]] | add)])) and
	([.images[].samples[0]] | add) == .events[0].selected' \
	"$scratch/cat.json"
check_equal 'text, CSV and JSON have the same counts' '9923 9923 9923' "$(
	cat_profile | awk '/^0x/ { sum += $2 } END { printf "%.0f ", sum }'
	cat_profile --csv --no-header | awk -F, '{ sum += $4 } END { printf "%.0f ", sum }'
	jq '[.images[].rows[][1]] | add' "$scratch/cat.json"
)"
check_equal 'no control character reaches the output' 0 \
	"$(for format in --json --csv --names; do cat_profile $format; done | LC_ALL=C grep -c $'[\001-\010\013-\037]')"
check_fails 'an image that is none' 4 'did you mean libfigure.so?' dcpicat --db "$db" libfigur.so
check_fails 'an event that is none' 2 'did you mean page-faults?' dcpicat --db "$db" --event page-fault
check_fails 'no samples of the event' 4 'no samples in what was selected' dcpicat --db "$db" --epoch 1 --event page-faults
check_fails 'a full disk is an error' 1 'cannot write the report: No space left on device' \
	bash -c "dcpicat --db '$db' >/dev/full"
check_fails 'also for JSON' 1 'cannot write the report: No space left on device' bash -c "dcpicat --json --db '$db' >/dev/full"

# Everything that runs here for a few seconds.
look_at_this_machine()
{
	may_sample_or_skip 'what runs here adds up' || return
	start_dcpid "$scratch/here" || {
		not_ok 'dcpid starts' "$(cat "$scratch/here.log")"
		return
	}
	gzip -9 <"$build/bin/dcpid" >/dev/null
	stop "$started"
	# Several builds of one path, or processes with code made at run time, are added up.
	check_equal 'of all that runs here, every image has the samples that dcpiprof gives it' \
		"$(dcpiprof --db "$scratch/here" -i --csv --event cpu-clock --no-header |
			awk -F, '{ sum[$(NF - 1)] += $1 } END { for (image in sum) print image, sum[image] }' | sort)" \
		"$(dcpicat --db "$scratch/here" --event cpu-clock | awk '$1 == "image" { sub(/^image /, ""); image = $0 }
			$1 == "samples" { sum[image] += $2 } END { for (image in sum) print image, sum[image] }' | sort)"
}
look_at_this_machine

[ $failures = 0 ]
