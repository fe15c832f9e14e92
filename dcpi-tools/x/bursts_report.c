/* What dcpix --bursts says at its end: see bursts.h. */
#include "base/clock.h"
#include "dcpi-tools/x/bursts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/summary.h"
#include "dcpi-tools/common/text.h"

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
	static const char *const names[REPLICA_END_COUNT] = {
		[REPLICA_END_STEPS] = "steps", [REPLICA_END_TIME] = "time",       [REPLICA_END_CALL] = "call",
		[REPLICA_END_FAULT] = "fault", [REPLICA_END_VECTORS] = "vectors",
	};
	json_t *ends = json_object();

	for (size_t i = 0; i < REPLICA_END_COUNT; i++) {
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
