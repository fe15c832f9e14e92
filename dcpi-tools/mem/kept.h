/*
 * kept.h - what becomes of a profile that was collected: an epoch of the database, and a report
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_MEM_KEPT_H
#define DCPI_TOOLS_MEM_KEPT_H

#include <stdio.h>

#include "dcpi-tools/emu/command.h"
#include "dcpi-tools/mem/report.h"
#include "profile/epoch.h"

#define MEM_ACCESS_MAX ((size_t)1 << 20) /* that are kept */

/* Rows of options that commands share; their requests have the members once (struct command_once), by_object, limit. */
#define MEM_KEPT_ROWS(request, called)                                                                                 \
	OPTION_HEADING(2, "Where the profile is kept:"),                                                               \
		OPTION_NAME(2, "label", "LABEL", request, once.common.label, EPOCH_LABEL_SIZE - 1,                     \
	                    "Call the epoch LABEL (" called ")"),                                                      \
		OPTION_TRUE(2, "no-db", 0, request, once.common.without_database, "Nowhere: only the report")
#define MEM_OBJECTS_ROWS(request)                                                                                      \
	OPTION_TRUE(3, "each", 0, request, by_object, "A row for each object, not for each allocation site"),          \
		OPTION_COUNT(3, "limit", "N", request, limit, "At most N rows")
#define MEM_REPORT_ROWS(request)                                                                                       \
	OPTION_HEADING(3, "The report:"), MEM_OBJECTS_ROWS(request), OPTION_REPORT_JSON(3, request, once.json),        \
		OPTION_REPORT_FILE(3, request, once.output),                                                           \
		OPTION_TRUE(3, "quiet", 0, request, once.common.is_quiet, "No report unless --output names a file")

/* Before it is collected: whether it can be kept, and the report's file. STATUS_OK, or an exit status after a message.
 */
int mem_begin_kept(const struct command_once *once, struct atomic_file *file);

/*
 * Write the profile as an epoch of its own, from `start_ns` to `end_ns` (since 1970), unless it is not to be kept.
 * `called`: without --label. `machine`: it has host, kernel and processor; NULL: this machine. STATUS_OK, or an exit
 * status after a message.
 */
struct mem_kept {
	const char *called;
	uint64_t start_ns, end_ns;
	const struct epoch *machine;
};
int mem_keep(const struct command_once *once, const struct memory_profile *profile, const struct mem_kept *kept);

/* Print the report, if it is wanted; `profile` NULL: there is none, which was said. As mem_keep(). */
int mem_end_kept(const struct command_once *once, const struct memory_profile *profile, const struct mem_view *view,
                 struct atomic_file *file);

#endif
