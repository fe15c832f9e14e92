/*
 * scripted_kernel.h - an opener that answers as a kernel of our choice would
 *
 * The first answer that fits an attribute counts. What no answer fits is granted when it is a software event, and
 * ENOENT otherwise: a machine without a PMU. What was asked is kept.
 */
#ifndef DCPI_TESTS_SCRIPTED_KERNEL_H
#define DCPI_TESTS_SCRIPTED_KERNEL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "event/event.h"

#define ANY (-1)

struct answer {
	int type;                /* PERF_TYPE_..., or ANY */
	int config;              /* or ANY */
	int precise;             /* precise_ip, or ANY */
	int result;              /* 0: granted */
	bool excludes_only;      /* fits only attributes that exclude something */
	bool samples_only;       /* fits only attributes that sample */
	unsigned no_multiple_of; /* fits only fixed periods that are no multiple of it; 0: any */
};

struct scripted_kernel {
	const struct answer *answers;
	size_t count;
	size_t asked;
	struct perf_event_attr attrs[32];
	int cpu; /* of the last question */
};

static inline bool
answer_fits(const struct answer *answer, const struct perf_event_attr *attr)
{
	bool excludes = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv || attr->exclude_idle ||
	                attr->exclude_host || attr->exclude_guest;

	return (answer->type == ANY || (uint32_t)answer->type == attr->type) &&
	       (answer->config == ANY || (uint64_t)answer->config == attr->config) &&
	       (answer->precise == ANY || (unsigned)answer->precise == attr->precise_ip) &&
	       (!answer->excludes_only || excludes) && (!answer->samples_only || attr->sample_period) &&
	       (!answer->no_multiple_of || (!attr->freq && attr->sample_period % answer->no_multiple_of));
}

static inline int
scripted_open(void *context, struct perf_event_attr *attr, int cpu)
{
	struct scripted_kernel *kernel = context;
	int result = attr->type == PERF_TYPE_SOFTWARE ? 0 : -ENOENT;

	assert_true(kernel->asked < sizeof(kernel->attrs) / sizeof(kernel->attrs[0]));
	kernel->attrs[kernel->asked++] = *attr;
	kernel->cpu = cpu;
	for (size_t i = 0; i < kernel->count; i++) {
		if (!answer_fits(&kernel->answers[i], attr))
			continue;
		result = kernel->answers[i].result;
		break;
	}
	return result ? result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* How many descriptors this process has open: the same before and after when nothing was left open. */
static inline unsigned
open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

#endif
