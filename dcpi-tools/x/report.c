#include "dcpi-tools/x/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/x/bursts.h"

/* Instructions a second: how fast the emulator was. */
static double
speed_of(const struct x_report *report)
{
	const double seconds = run_seconds(report->run);

	return seconds > 0 ? (double)report->counted->totals[0] / seconds : 0;
}

static void
print_what_is_missing(const struct x_report *report, FILE *stream)
{
	const struct counts_summary *summary = report->summary;
	const struct counted *counted = report->counted;

	if (counted->anonymous[0])
		fprintf(stream,
		        "dcpix: %" PRIu64 " of them (%.2f %%) were in code without a file, or that its file does not "
		        "have, and have no place\n",
		        counted->anonymous[0], share_percent(counted->anonymous[0], counted->totals[0]));
	if (summary->unfollowed)
		fprintf(stream, "dcpix: %" PRIu64 " program%s could not be followed, and %s not counted\n",
		        summary->unfollowed, summary->unfollowed == 1 ? " that was started" : "s that were started",
		        summary->unfollowed == 1 ? "is" : "are");
	if (summary->running)
		fprintf(stream, "dcpix: %" PRIu64 " %s from now on is not counted\n", summary->running,
		        summary->running == 1 ? "process still runs; what it does"
		                              : "processes still run; what they do");
	if (summary->uncounted)
		fprintf(stream, "dcpix: %" PRIu64 " block%s of instructions found no room, and %s not counted\n",
		        summary->uncounted, text_plural(summary->uncounted), summary->uncounted == 1 ? "is" : "are");
	if (summary->damaged)
		fprintf(stream, "dcpix: the counts of %" PRIu64 " %s were damaged and are incomplete\n",
		        summary->damaged, summary->damaged == 1 ? "process" : "processes");
}

int
x_report_print_text(const struct x_report *report, FILE *stream)
{
	const uint32_t images = image_table_count(report->counted->images);
	char *database = text_shown(report->database);

	fprintf(stream,
	        "dcpix: %" PRIu64 " instructions, %" PRIu64 " %s, %" PRIu32
	        " image%s, %zu edge%s; %.2f s, %.0f million instructions/s\n",
	        report->counted->totals[0], report->summary->processes,
	        report->summary->processes == 1 ? "process" : "processes", images, text_plural(images),
	        report->counted->edges.count, text_plural(report->counted->edges.count), run_seconds(report->run),
	        speed_of(report) / 1e6);
	print_what_is_missing(report, stream);
	fprintf(stream, "dcpix: epoch %" PRIu32 " of %s, event executions\n", report->epoch, database ? database : "?");
	free(database);
	return fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
}

int
x_report_print_json(const struct x_report *report, FILE *stream)
{
	const struct counts_summary *summary = report->summary;
	const int status = report->run->status;
	json_t *root = json_object();
	int err = 0;

	err |= json_object_set_new(root, "schema", json_string("dcpix/1"));
	err |= json_object_set_new(root, "database", json_shown(report->database));
	err |= json_object_set_new(root, "epoch", json_count(report->epoch));
	err |= json_object_set_new(root, "event", json_string("executions"));
	err |= json_object_set_new(root, "instructions", json_count(report->counted->totals[0]));
	err |= json_object_set_new(root, "without_file", json_count(report->counted->anonymous[0]));
	err |= json_object_set_new(root, "uncounted_blocks", json_count(summary->uncounted));
	err |= json_object_set_new(root, "processes", json_count(summary->processes));
	err |= json_object_set_new(root, "still_running", json_count(summary->running));
	err |= json_object_set_new(root, "not_followed", json_count(summary->unfollowed));
	err |= json_object_set_new(root, "damaged", json_count(summary->damaged));
	err |= json_object_set_new(root, "images", json_count(image_table_count(report->counted->images)));
	err |= json_object_set_new(root, "edges", json_count(report->counted->edges.count));
	err |= json_object_set_new(root, "seconds", json_real(run_seconds(report->run)));
	err |= json_object_set_new(root, "instructions_per_second", json_real(speed_of(report)));
	err |= json_object_set_new(root, "program",
	                           WIFEXITED(status) ? json_pack("{s:i}", "exit", WEXITSTATUS(status))
	                                             : json_pack("{s:i}", "signal", WTERMSIG(status)));
	if (err) {
		json_decref(root);
		return -ENOMEM;
	}
	return json_print(root, stream);
}

static double
step_us(const struct bursts_summary *summary)
{
	return summary->steps ? (double)summary->stopped_ns / 1e3 / (double)summary->steps : 0;
}

int
bursts_print_text(const struct bursts_request *request, const struct bursts_summary *summary, const char *database,
                  uint32_t epoch, FILE *stream)
{
	char *shown = text_shown(database), *comm = text_shown(summary->comm);

	fprintf(stream, "dcpix: %" PRIu64 " bursts, %" PRIu64 " steps of %s (process %d) in %.1f s%s\n",
	        summary->bursts, summary->steps, comm ? comm : "?", (int)request->pid,
	        (double)summary->elapsed_ns / (double)SECOND_NS, summary->has_ended ? ", when it ended" : "");
	fprintf(stream,
	        "dcpix: a thread stood still for %.2f %% of the time, %.1f us a step; dcpix ran for %.2f %% (limit of "
	        "both "
	        "%g %%)\n",
	        share_percent(summary->stopped_ns, summary->elapsed_ns), step_us(summary),
	        share_percent(summary->own_ns, summary->elapsed_ns), request->budget_percent);
	if (summary->asleep || summary->in_call)
		fprintf(stream,
		        "dcpix: of %" PRIu64 " moments, no thread was running at %" PRIu64
		        ", and it entered the kernel at %" PRIu64 "\n",
		        summary->moments, summary->asleep, summary->in_call);
	if (epoch)
		fprintf(stream, "dcpix: epoch %" PRIu32 " of %s, event bursts\n", epoch, shown ? shown : "?");
	free(comm);
	free(shown);
	return fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
}

/* Why bursts came to their end. */
static json_t *
json_ends(const struct bursts_summary *summary)
{
	static const char *const names[SHADOW_END_COUNT] = {
		[SHADOW_END_STEPS] = "steps", [SHADOW_END_TIME] = "time",       [SHADOW_END_CALL] = "call",
		[SHADOW_END_FAULT] = "fault", [SHADOW_END_VECTORS] = "vectors",
	};
	json_t *ends = json_object();

	for (size_t i = 0; i < SHADOW_END_COUNT; i++) {
		if (names[i] && json_object_set_new(ends, names[i], json_count(summary->ends[i])) < 0) {
			json_decref(ends);
			return NULL;
		}
	}
	return ends;
}

int
bursts_print_json(const struct bursts_request *request, const struct bursts_summary *summary,
                  const struct counted *counted, const char *database, uint32_t epoch, FILE *stream)
{
	json_t *root = json_object();
	int err = 0;

	err |= json_object_set_new(root, "schema", json_string("dcpix/1"));
	err |= json_object_set_new(root, "database", json_shown(database));
	err |= json_object_set_new(root, "epoch", epoch ? json_count(epoch) : json_null());
	err |= json_object_set_new(root, "event", json_string("bursts"));
	err |= json_object_set_new(root, "process", json_count((uint64_t)request->pid));
	err |= json_object_set_new(root, "comm", json_shown(summary->comm));
	err |= json_object_set_new(root, "ended", json_boolean(summary->has_ended));
	err |= json_object_set_new(root, "moments", json_count(summary->moments));
	err |= json_object_set_new(root, "asleep", json_count(summary->asleep));
	err |= json_object_set_new(root, "in_call", json_count(summary->in_call));
	err |= json_object_set_new(root, "bursts", json_count(summary->bursts));
	err |= json_object_set_new(root, "steps", json_count(summary->steps));
	err |= json_object_set_new(root, "ends", json_ends(summary));
	err |= json_object_set_new(root, "without_file", json_count(counted->anonymous[0]));
	err |= json_object_set_new(root, "edges", json_count(counted->edges.count));
	err |= json_object_set_new(root, "seconds", json_real((double)summary->elapsed_ns / (double)SECOND_NS));
	err |= json_object_set_new(root, "stopped_percent",
	                           json_real(share_percent(summary->stopped_ns, summary->elapsed_ns)));
	err |= json_object_set_new(root, "own_percent", json_real(share_percent(summary->own_ns, summary->elapsed_ns)));
	err |= json_object_set_new(root, "budget_percent", json_real(request->budget_percent));
	err |= json_object_set_new(root, "step_us", json_real(step_us(summary)));
	if (err) {
		json_decref(root);
		return -ENOMEM;
	}
	return json_print(root, stream);
}
