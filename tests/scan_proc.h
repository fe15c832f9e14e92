/*
 * scan_proc.h - read /proc for an attribution at once, where dcpid has a child that may wait (collectord/proc_reader.h)
 */
#ifndef DCPI_TESTS_SCAN_PROC_H
#define DCPI_TESTS_SCAN_PROC_H

#include <errno.h>

#include "base/clock.h"
#include "process/attribution.h"
#include "process/cgroup_table.h"
#include "process/proc.h"

struct proc_pass {
	struct attribution *attribution;
	uint64_t (*clock_ns)(void);
	uint64_t begin_ns; /* of reading this process */
};

static inline int
proc_pass_begin(void *context, uint32_t pid)
{
	struct proc_pass *pass = context;

	(void)pid;
	pass->begin_ns = pass->clock_ns ? pass->clock_ns() : monotonic_ns();
	return 0;
}

static inline int
proc_pass_process(void *context, const struct proc_scan_process *process)
{
	const struct proc_pass *pass = context;
	const struct found_process found = {process->pid, pass->begin_ns, process->comm, process->birth};

	return attribution_found_process(pass->attribution, &found);
}

static inline int
proc_pass_mapping(void *context, uint32_t pid, const struct record_mmap *mmap)
{
	const struct proc_pass *pass = context;

	(void)pid;
	attribution_found_mapping(pass->attribution, mmap);
	return 0;
}

static inline int
proc_pass_end(void *context, uint32_t pid, int error)
{
	const struct proc_pass *pass = context;

	(void)pid;
	(void)error;
	attribution_found_process_end(pass->attribution);
	return 0;
}

static inline int
proc_pass_cgroup(void *context, uint64_t id, const char *path)
{
	const struct proc_pass *pass = context;

	return attribution_found_cgroup(pass->attribution, id, path);
}

/* Read processes and their mappings; `options` are the attribution's. 0, -ENOMEM, or the errno of /proc. */
static inline int
scan_processes(struct attribution *attribution, const struct attribution_options *options)
{
	struct proc_pass pass = {.attribution = attribution, .clock_ns = options->clock_ns};
	const struct proc_scan_visitor visitor = {
		.begin = proc_pass_begin,
		.process = proc_pass_process,
		.mapping = proc_pass_mapping,
		.end = proc_pass_end,
		.context = &pass,
	};
	int err;

	attribution_found_begin(attribution, true);
	err = proc_scan(options->procfs, 0, &visitor);
	attribution_found_end(attribution, true);
	return err;
}

/* What there was before the first record. As scan_processes(). */
static inline int
scan_proc(struct attribution *attribution, const struct attribution_options *options)
{
	const int err = attribution_begin(attribution);

	return err ? err : scan_processes(attribution, options);
}

/* Again, after records were lost. As scan_processes(). */
static inline int
rescan_proc(struct attribution *attribution, const struct attribution_options *options)
{
	struct proc_pass pass = {.attribution = attribution};
	const int err = cgroup_table_walk(options->cgroupfs, proc_pass_cgroup, &pass);

	return err == -ENOMEM ? err : scan_processes(attribution, options);
}

#endif
