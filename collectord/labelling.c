/* Labels of process trees for clients, and beyond the end of this dcpid: see daemon_internal.h. */
#include "collectord/daemon_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "collectord/kept_labels.h"
#include "collectord/machine.h"

#define KEEP_INTERVAL_NS UINT64_C(1000000000)

static int
start_label(struct daemon *daemon, const struct request *request, const struct peer_process *process)
{
	const enum label_start start = request->pid ? LABEL_AT_ONCE : LABEL_AT_EXEC;

	return sampler_label(collection_sampler(daemon->collection), process->pid, request->label, start,
	                     process->time_ns);
}

void
daemon_label(struct daemon *daemon, uint64_t client, const struct request *request, const struct peer_process *process)
{
	char why[128];
	int err = start_label(daemon, request, process);

	if (err == -EBUSY) { /* those that wait begin with a drain */
		(void)collection_drain(daemon->collection);
		err = start_label(daemon, request, process);
	}
	if (!err) {
		daemon_watch_idle(daemon); /* before what is labelled runs: it may be over in some milliseconds */
		if (machine_clock_ns(CLOCK_MONOTONIC) - daemon->labels_kept_ns >= KEEP_INTERVAL_NS)
			daemon_keep_labels(daemon); /* else the next flush does: there may be very many */
		control_reply(daemon->control, client,
		              json_pack("{s:b,s:I}", "ok", 1, "pid", (json_int_t)process->pid));
		return;
	}
	snprintf(why, sizeof(why), "the process cannot be labelled: %s",
	         err == -EBUSY ? "too many are waiting for it" : error_text(err));
	control_reply(daemon->control, client, control_failure(why));
}

static int
compare_labels(const void *left, const void *right)
{
	const struct labelled_process *a = left, *b = right;

	return strcmp(a->label, b->label);
}

json_t *
daemon_labels_json(const struct daemon *daemon)
{
	struct labelled_processes labelled = {0};
	json_t *labels = json_array();
	size_t next;

	if (sampler_labelled(collection_sampler(daemon->collection), &labelled))
		return labels;
	if (labelled.count)
		qsort(labelled.list, labelled.count, sizeof(*labelled.list), compare_labels);
	for (size_t i = 0; i < labelled.count; i = next) {
		for (next = i + 1;
		     next < labelled.count && compare_labels(&labelled.list[i], &labelled.list[next]) == 0;)
			next++;
		json_array_append_new(labels, json_pack("{s:s,s:I}", "label", labelled.list[i].label, "processes",
		                                        (json_int_t)(next - i)));
	}
	labelled_processes_fini(&labelled);
	return labels;
}

static const char *
labels_path(const struct daemon *daemon, char path[PATH_MAX + 8])
{
	snprintf(path, PATH_MAX + 8, "%s.labels", daemon->socket);
	return path;
}

/* Say it once, not every 10 s. */
static void
note_error(struct daemon *daemon, const char *path, int err)
{
	if (err && err != daemon->labels_error)
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING,
		          "%s: cannot keep which processes have labels: %s; a dcpid that is started anew will not know",
		          path, error_text(err));
	daemon->labels_error = err;
}

void
daemon_keep_labels(struct daemon *daemon)
{
	const struct sampler *sampler = collection_sampler(daemon->collection);
	const uint64_t changes = sampler_label_changes(sampler);
	struct labelled_processes labelled = {0};
	char path[PATH_MAX + 8];
	int err;

	if (changes == daemon->labels_kept)
		return;
	err = sampler_labelled(sampler, &labelled);
	if (!err) {
		err = kept_labels_write(labels_path(daemon, path), &labelled);
		labelled_processes_fini(&labelled);
	}
	note_error(daemon, labels_path(daemon, path), err);
	daemon->labels_kept_ns = machine_clock_ns(CLOCK_MONOTONIC);
	if (!err)
		daemon->labels_kept = changes;
}

void
daemon_take_labels(struct daemon *daemon)
{
	struct labelled_processes labelled = {0};
	char path[PATH_MAX + 8];
	int err = kept_labels_read(labels_path(daemon, path), &labelled);

	if (err == -ENOENT)
		return;
	if (!err) {
		err = sampler_label_again(collection_sampler(daemon->collection), &labelled);
		labelled_processes_fini(&labelled);
	}
	if (err)
		log_write(&daemon->logging->log, LOG_LEVEL_WARNING, "%s: cannot label again what runs on: %s", path,
		          error_text(err));
}
