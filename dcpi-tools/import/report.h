/*
 * report.h - what dcpimport says of what it imported
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

/* The same of another database that became part of this one. */
int adoption_print(const struct database_merge *adoption, const char *directory, const struct output *output);
json_t *adoption_json(const struct database_merge *adoption, const char *directory);

#endif
