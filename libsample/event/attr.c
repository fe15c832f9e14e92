#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "event/encode.h"

int
event_open_system(void *context, struct perf_event_attr *attr, int cpu)
{
	long fd;

	(void)context;
	do
		fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* What both kinds share: one clock for all, and an id in every record that says which event it is from. */
static void
attr_init(struct perf_event_attr *attr, const struct event_features *features)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	if (features->read_lost)
		attr->read_format |= PERF_FORMAT_LOST;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = 1;
}

void
event_sample_attr(const struct event *event, const struct event_features *features, struct perf_event_attr *attr)
{
	attr_init(attr, features);
	attr->type = event->encoding.type;
	attr->config = event->encoding.config;
	attr->config1 = event->encoding.config1;
	attr->config2 = event->encoding.config2;
	attr->freq = event->period == 0;
	if (attr->freq)
		attr->sample_freq = event->rate;
	else
		attr->sample_period = event->period;
	attr->sample_type |= PERF_SAMPLE_IP;
	if (features->cgroup)
		attr->sample_type |= PERF_SAMPLE_CGROUP;
	/* No flag is set that need not be: AMD's IBS, for one, refuses a precise event with any of them. */
	attr->exclude_user = !event->user;
	attr->exclude_kernel = !event->kernel;
	attr->exclude_hv = !event->user || !event->kernel;
	attr->exclude_idle = event_is_clock(&event->encoding) && !event->idle;
	attr->precise_ip = event->precise;
}

void
event_sideband_attr(const struct event_features *features, struct perf_event_attr *attr)
{
	attr_init(attr, features);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	/*
	 * Never attr->build_id: once one listener has it, Linux marks the records of those that it serves after it,
	 * `perf record COMMAND` for one, as having a build-id, too, and they trip over it.
	 */
	attr->cgroup = features->cgroup;
	attr->ksymbol = features->ksymbol;
}
