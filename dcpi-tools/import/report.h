/*
 * report.h - what dcpimport prints of each file that it imported
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_REPORT_H
#define DCPI_TOOLS_IMPORT_REPORT_H

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/import/perf_import.h"
#include "profile/merge_database.h"

/* As text. 0 or an error of writing. */
int import_report_print(const struct perf_import_report *report, const char *file, const struct output *output);

/* As JSON: NULL when memory ends. */
json_t *import_report_json(const struct perf_import_report *report, const char *file);

/* Print what was merged of another database; results as above. */
int import_merge_print(const struct database_merge *merged, const char *directory, const struct output *output);
json_t *import_merge_json(const struct database_merge *merged, const char *directory);

#endif
