/* trace_record.h - what trace_plugin writes and compare_trace reads */
#ifndef DCPI_TESTS_TRACE_RECORD_H
#define DCPI_TESTS_TRACE_RECORD_H

#include <stdint.h>

#define TRACE_FETCH 'f'
#define TRACE_LOAD  'l'
#define TRACE_STORE 's'

struct trace_record {
	uint64_t address : 48;
	uint64_t size : 8; /* bytes */
	uint64_t kind : 8;
};

_Static_assert(sizeof(struct trace_record) == 8, "a word");

#endif
