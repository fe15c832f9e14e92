#include "dcpi-tools/label/series_json.h"

#include <sys/wait.h>

#include "dcpi-tools/common/json.h"

static json_t *
run_json(const struct series *series, size_t index)
{
	const struct series_run *run = &series->results[index];
	char label[LABEL_SIZE];

	(void)series_label(series, index, label);
	return json_pack("{s:o, s:f, s:f, s:o, s:o}", "label", json_shown(label), "elapsed_s",
	                 (double)run->elapsed_ns / 1e9, "cpu_s", (double)run->cpu_ns / 1e9, "exit_status",
	                 WIFEXITED(run->status) ? json_integer(WEXITSTATUS(run->status)) : json_null(), "signal",
	                 WIFSIGNALED(run->status) ? json_integer(WTERMSIG(run->status)) : json_null());
}

json_t *
series_json(const struct series *series, json_t *statistics)
{
	json_t *runs = json_array();
	int failed = 0;

	for (size_t i = 0; i < series->done; i++)
		failed |= json_array_append_new(runs, run_json(series, i));
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", "dcpilabel/1", "name", json_shown(series->name), "runs",
	                 json_kept(runs, failed), "statistics", statistics ? statistics : json_null());
}
