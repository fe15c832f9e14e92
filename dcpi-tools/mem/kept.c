#include "dcpi-tools/mem/kept.h"

#include <errno.h>

#include "base/error.h"
#include "dcpi-tools/common/database.h"
#include "dcpi-tools/emulated/counted.h"
#include "profile/memory_rows.h"

int
mem_begin_kept(const struct command_once *once, struct atomic_file *file)
{
	const struct command_request *common = &once->common;
	const int err = common->without_database ? 0 : counted_can_write(common->options.directory);

	return err ? database_cannot_write(common->options.directory, err) : command_open_report(once, file);
}

int
mem_keep(const struct command_once *once, const struct memory_profile *profile, const struct mem_kept *kept)
{
	const struct command_request *common = &once->common;
	struct memory_rows rows = {.count = 0};
	const struct counted_epoch description = {
		.label = common->label ? common->label : kept->called,
		.start_ns = kept->start_ns,
		.end_ns = kept->end_ns,
		.machine = kept->machine,
		.memory = &rows,
	};
	struct counted counted = {0};
	uint32_t epoch;
	int err;

	if (common->without_database)
		return STATUS_OK;
	err = memory_rows_make(profile, &rows);
	if (!err)
		err = counted_init(&counted);
	if (!err)
		err = counted_write(&counted, common->options.directory, &description, &epoch);
	counted_fini(&counted);
	memory_rows_fini(&rows);
	return err ? database_cannot_write(common->options.directory, err) : STATUS_OK;
}

int
mem_end_kept(const struct command_once *once, const struct memory_profile *profile, const struct mem_view *view,
             struct atomic_file *file)
{
	struct memory_report report;
	int err = profile ? 0 : -ECANCELED;

	if (!err && (!once->common.is_quiet || once->output)) {
		err = memory_report_init(&report, profile);
		if (!err)
			err = mem_objects_print(&report, view, once->json, file->stream);
		memory_report_fini(&report);
	}
	return command_close_report(once, file, err);
}
