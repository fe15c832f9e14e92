# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # patterns with backquotes; what lib.sh sets
# call_tree_ways.sh - the stacks that tests/workloads/call_tree.c must have; sourced after lib.sh
#
# Stacks are those that stack_list prints: SAMPLES, a tab, and FILE`FUNCTION;... from the outermost frame.

# share_of_stacks FILE PATTERN - percent of the samples of that list whose stack matches
share_of_stacks()
{
	pattern=$2 awk -F'\t' '{ all += $1; if ($2 ~ ENVIRON["pattern"]) part += $1 }
		END { printf "%.2f\n", all ? 100 * part / all : 0 }' "$1"
}

# Where a frame of aarch64 is as large as the copy, its caller is known: the return address is at the frame's low end.
#
# call_tree_ways [THREAD] - a line for each way: WAY PATTERN. THREAD: how a thread's outermost function in libc is shown
call_tree_ways()
{
	local main='^call_tree`_start;libc[^;]*;(libc[^;]*;)?call_tree`main;' recursion

	recursion=$(printf 'call_tree`in_recursion;%.0s' {1..20})
	cat <<-END
		recursion ${main}${recursion}call_tree\`work_in_recursion
		tail-call ${main}call_tree\`in_tail_call;call_tree\`work_in_tail_call
		handler ${main}call_tree\`in_handler;.*call_tree\`on_signal;call_tree\`work_in_handler
		other-stack ^!stack-copy;.*call_tree\`on_signal;call_tree\`work_in_other_stack
		thread ^libc[^\`;]*${1:-\`(__)?clone3?};(libc[^;]*;)*call_tree\`in_thread;call_tree\`work_in_thread
		library ${main}call_tree\`in_library;libburn_a.so\`burn_a
		large-frame ${main}call_tree\`in_large_frame;call_tree\`work_in_large_frame
		huge-frame ^!stack-copy;(call_tree\`main;)?call_tree\`in_huge_frame;call_tree\`work_in_huge_frame
		handler-of-exception ${main}call_tree\`in_handler_of_exception([.]cold)?;call_tree\`work_in_handler_of_exception
		cleanup ${main}call_tree\`in_cleanup;call_tree\`pass_cleanup([.]cold)?;call_tree\`work_in_cleanup
		throw ${main}call_tree\`in_throw([.]cold)?(;|$)
	END
}

# check_call_tree FILE [THREAD LEAST MOST] - has each way its eleventh of the samples - between LEAST and MOST percent -, and
# nothing else any? Else the most frequent stacks are printed.
check_call_tree()
{
	local before=$failures way pattern share shares='' all=0 thrown

	while read -r way pattern; do
		share=$(share_of_stacks "$1" "$pattern")
		all=$(awk "BEGIN { print $all + $share }")
		shares+=" $way $share"
		check_at_least "$way: an eleventh of the samples has that stack" "${3:-7}" "$share"
		check_at_most "$way: and no more" "${4:-11.5}" "$share"
	done < <(call_tree_ways "${2:-}")
	thrown=$(printf 'call_tree`throw_exception([.]cold)?;%.0s' {1..6})
	figure "call_tree, percent of the samples:$shares; together $all"
	check_at_least 'a known call tree: the ways that there are have all stacks but 2 %' 98 "$all"
	check_at_least 'most of what throwing takes is found below the unwinder' 6 \
		"$(share_of_stacks "$1" 'call_tree`in_throw;'"$thrown"'libstdc[^;]*;libgcc_s')"
	[ "$failures" = "$before" ] || sort -k 1,1nr "$1" | head -n 30 | cut -c1-300 | sed 's/^/# /'
}
