/*
 * build_ids.h - the build-id of each file of a recording
 *
 * perf lists them at the recording's end, by its names of files and parts of the kernel.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_IMPORT_BUILD_IDS_H
#define DCPI_TOOLS_IMPORT_BUILD_IDS_H

#include <stddef.h>

#include "process/image_table.h"
#include "stream/perf_data.h"

struct build_ids;

struct build_ids *build_ids_new(void); /* NULL and errno (ENOMEM) */
void build_ids_free(struct build_ids *ids);

/* Add the entries that the list of the recording got since the last call. 0 or -ENOMEM. */
int build_ids_update(struct build_ids *ids, const struct perf_data_build_id *list, size_t count);

/* Give `image` the build-id that the list has for it, if it has none. */
void build_ids_complete(const struct build_ids *ids, struct image *image);

#endif
