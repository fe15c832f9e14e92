/*
 * pipeline_parts.h - what the files that read a pipeline model share
 */
#ifndef DCPI_CODE_PIPELINE_PARTS_H
#define DCPI_CODE_PIPELINE_PARTS_H

#include <libconfig.h>

#include "base/config.h"
#include "code/pipeline.h"

/* The number of the unit whose name are `length` bytes at `name`, or -1. */
int pipeline_find_unit(const struct pipeline *pipeline, const char *name, size_t length);

/* Read `operations` of the file, and give those that are not there the values of the one they are most like. */
int pipeline_read_operations(const struct config_source *source, const config_setting_t *root,
                             struct pipeline *pipeline);

/* Read `match` of the file; NULL: it has none. */
int pipeline_read_matches(const struct config_source *source, const config_setting_t *list, struct pipeline *pipeline);

#endif
