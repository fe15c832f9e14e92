/*
 * touch_record.h - reads whatever a record offers, so that the sanitizers see what is not inside the input
 */
#ifndef DCPI_TESTS_TOUCH_RECORD_H
#define DCPI_TESTS_TOUCH_RECORD_H

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "stream/record.h"

static inline void
require(int condition)
{
	if (!condition)
		abort();
}

static inline size_t
touch_text(const char *text)
{
	size_t length = strlen(text);

	require(length < RECORD_SIZE_MAX);
	return length;
}

static inline size_t
touch_record(const struct record *record)
{
	size_t sum = 0;

	require(record->mode <= CPU_MODE_GUEST_USER);
	require(record->type <= RECORD_AUX_DATA);
	switch (record->type) {
	case RECORD_SAMPLE:
		for (size_t i = 0; i < record->sample.branch_count * sizeof(struct perf_branch_entry); i++)
			sum += record->sample.branches[i];
		for (size_t i = 0; i < record->sample.call_chain_count * sizeof(uint64_t); i++)
			sum += record->sample.call_chain[i];
		for (size_t i = 0; record->sample.registers && i < record->sample.register_count * sizeof(uint64_t);
		     i++)
			sum += record->sample.registers[i];
		for (size_t i = 0; record->sample.stack && i < record->sample.stack_size; i++)
			sum += record->sample.stack[i];
		return sum;
	case RECORD_MMAP:
		require(record->mmap.build_id_size <= BUILD_ID_SIZE_MAX);
		return touch_text(record->mmap.path);
	case RECORD_COMM:
		return touch_text(record->comm.name);
	case RECORD_KSYMBOL:
		return touch_text(record->ksymbol.name);
	case RECORD_CGROUP:
		return touch_text(record->cgroup.path);
	default:
		return 0;
	}
}

#endif
