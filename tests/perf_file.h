/*
 * perf_file.h - how a perf.data begins
 *
 * As tools/perf/Documentation/perf.data-file-format.txt has it, in the byte order of the machine that wrote it.
 */
#ifndef DCPI_TESTS_PERF_FILE_H
#define DCPI_TESTS_PERF_FILE_H

#include <stdint.h>

struct perf_file_section {
	uint64_t offset, size;
};

struct perf_file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct perf_file_section attrs, data, event_types;
	uint64_t features[4];
};

#endif
