#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/atomic_file.h"
#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/tool.h"
#include "dcpi-tools/export/report.h"

static const struct form {
	const char *name;
	int (*write)(const struct report *report, FILE *stream);
	bool is_binary;
} forms[EXPORT_FORMS] = {
	[EXPORT_PPROF] = {"pprof", write_pprof, true},
	[EXPORT_FOLDED] = {"folded", write_folded, false},
	[EXPORT_CALLGRIND] = {"callgrind", write_callgrind, false},
};

static int
write_form(const struct report *report, const struct form *form, const char *path)
{
	struct atomic_file file;
	int err;

	err = atomic_file_open(&file, path);
	if (!err && form->is_binary && isatty(fileno(file.stream))) {
		atomic_file_close(&file, -EINVAL);
		message_print(path, "a pprof profile is no text for a terminal: name a file, or a pipe behind it");
		return STATUS_USAGE;
	}
	if (!err)
		err = atomic_file_close(&file, form->write(report, file.stream));
	return err ? message_cannot(path, "write the profile", err, NULL) : STATUS_OK;
}

int
export_report_write(const struct report *report)
{
	for (unsigned form = 0; form < EXPORT_FORMS; form++) {
		const char *path = report->request->paths[form];
		const int status = path ? write_form(report, &forms[form], path) : STATUS_OK;

		if (status)
			return status;
	}
	return report->request->options.format == FORMAT_JSON ? TOOL_PRINTS : STATUS_OK;
}

static json_t *
files_json(const struct report *report)
{
	json_t *files = json_array();
	int failed = !files;

	for (unsigned form = 0; form < EXPORT_FORMS; form++)
		if (report->request->paths[form])
			failed |=
				json_array_append_new(files, json_pack("{s:s, s:o}", "format", forms[form].name, "path",
			                                               json_shown(report->request->paths[form])));
	return json_kept(files, failed);
}

static json_t *
samples_json(const struct report *report)
{
	json_t *samples = json_object();
	int failed = !samples;

	for (size_t i = 0; i < report->choice.columns.count; i++) {
		const uint16_t event = report->choice.columns.events[i];

		failed |= json_object_set_new(samples, report->choice.selection->events[event].name,
		                              json_count(report->written[event]));
	}
	return json_kept(samples, failed);
}

int
export_report_print_json(const struct report *report, FILE *stream)
{
	json_t *root;

	root = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "dcpiexport/1", "start",
	                 json_time(report->choice.selection->start_ns), "end",
	                 json_time(report->choice.selection->end_ns), "files", files_json(report), "samples",
	                 samples_json(report), "procedures", json_count(report->points.procedure_count), "offsets",
	                 json_count(report->points.count));
	return json_print(root, stream);
}
