#include "process/attribution_found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/attribution_state.h"
#include "process/proc_scan.h"

void
attribution_found_begin(struct attribution *attribution, bool all)
{
	struct finding *finding = &attribution->finding;

	finding->under_way++;
	if (!all)
		return;
	family_fini(&finding->family);
	finding->began_ns = monotonic_ns();
	finding->known_ns = attribution->options.clock_ns();
	finding->missed = attribution->records_missed;
	attribution->records_missed = false; /* from here on those that the reading does not make up for */
}

int
attribution_found_process(struct attribution *attribution, const struct found_process *found)
{
	struct finding *finding = &attribution->finding;
	struct process *process = process_find(attribution->processes, found->pid);
	int err = 0;

	attribution_found_whole(attribution);
	if (process && process->exec_ns > found->time_ns)
		return 0;
	finding->had_ended = process && process->ended && process->ended_ns > found->time_ns;
	if (finding->had_ended)
		finding->ended_ns = process->ended_ns;
	else
		process = process_ensure(attribution->processes, found->pid);
	if (!process)
		return -ENOMEM;
	finding->pid = found->pid;
	finding->time_ns = found->time_ns;
	finding->any = false;
	if (!finding->had_ended)
		process_rename(process, found->comm);
	if (found->birth.start_ticks)
		err = family_add(&finding->family, found->pid, &found->birth);
	return err;
}

/* What there was before goes with the first mapping: that of a process that we may not look at stays. */
static void
begin_mappings(struct finding *finding, struct process *process)
{
	if (process->mapped_ns > finding->time_ns)
		finding->newer = address_space_share(process->space);
	process_clear(process);
	process->scan_ns = finding->time_ns;
	process->one_thread = false; /* who knows */
	finding->any = true;
}

void
attribution_found_mapping(struct attribution *attribution, const struct record_mmap *mmap)
{
	struct finding *finding = &attribution->finding;
	struct process *process = finding->pid ? process_find(attribution->processes, finding->pid) : NULL;

	if (process && !finding->any)
		begin_mappings(finding, process);
	/* out of memory for a mapping: its samples will be counted as unknown */
	if (finding->pid)
		(void)attribution_map_found(attribution, finding->pid, mmap, finding->time_ns);
}

int
attribution_found_cgroup(struct attribution *attribution, uint64_t id, const char *path)
{
	return cgroup_table_set(attribution->cgroups, id, path);
}

void
attribution_found_whole(struct attribution *attribution)
{
	struct finding *finding = &attribution->finding;
	struct process *process = finding->pid ? process_find(attribution->processes, finding->pid) : NULL;

	if (process && finding->newer)
		(void)address_space_lay_over(&process->space, &attribution->budget, finding->newer);
	if (process && finding->had_ended && !process->ended)
		process_end(attribution->processes, process, finding->ended_ns);
	address_space_release(finding->newer);
	finding->newer = NULL;
	finding->pid = 0;
}

void
attribution_found_end(struct attribution *attribution, bool all)
{
	struct finding *finding = &attribution->finding;

	attribution_found_whole(attribution);
	finding->under_way--;
	if (!all)
		return;
	attribution_find_kin(attribution, &finding->family, finding->known_ns);
	family_fini(&finding->family);
	if (finding->missed)
		attribution->doubt_until = attribution->options.clock_ns();
	finding->missed = false;
	attribution->scan_ns = monotonic_ns() - finding->began_ns;
}

bool
attribution_awaits(const struct attribution *attribution, const struct record *record, unsigned cause)
{
	return attribution->finding.under_way > 0 && record->mode == CPU_MODE_USER &&
	       (cause == UNKNOWN_PROCESS || cause == UNKNOWN_ADDRESS || cause == UNKNOWN_RECORDS);
}

int
attribution_sample_late(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	const struct process *process = process_find(attribution->processes, record->pid);

	if (process && process->exec_ns > record->time)
		return 1 + UNKNOWN_RECORDS;
	return attribution_sample(attribution, record, key);
}

/* ---- by who may wait ---- */

struct scan {
	struct attribution *attribution;
	uint64_t begin_ns; /* of reading this process */
	unsigned refused;  /* processes whose maps may not be read */
};

static int
scan_begin(void *context, uint32_t pid)
{
	struct scan *scan = context;

	(void)pid;
	scan->begin_ns = scan->attribution->options.clock_ns();
	return 0;
}

static int
scan_process(void *context, const struct proc_scan_process *process)
{
	const struct scan *scan = context;
	const struct found_process found = {process->pid, scan->begin_ns, process->comm, process->birth};

	return attribution_found_process(scan->attribution, &found);
}

static int
scan_mapping(void *context, uint32_t pid, const struct record_mmap *mmap)
{
	const struct scan *scan = context;

	(void)pid;
	attribution_found_mapping(scan->attribution, mmap);
	return 0;
}

static int
scan_end(void *context, uint32_t pid, int error)
{
	struct scan *scan = context;

	(void)pid;
	scan->refused += error == -EACCES || error == -EPERM;
	attribution_found_whole(scan->attribution);
	return 0;
}

/* `log` hears of what cannot be read. */
static int
scan_processes(struct attribution *attribution, const struct log *log)
{
	struct scan scan = {.attribution = attribution};
	const struct proc_scan_visitor visitor = {
		.begin = scan_begin,
		.process = scan_process,
		.mapping = scan_mapping,
		.end = scan_end,
		.context = &scan,
	};
	int err;

	attribution_found_begin(attribution, true);
	err = proc_scan(attribution->options.procfs, &visitor);
	attribution_found_end(attribution, true);
	if (scan.refused)
		attribution_say_refused(attribution, scan.refused, log);
	return err;
}

int
attribution_scan(struct attribution *attribution)
{
	int err = attribution_begin(attribution);

	return err ? err : scan_processes(attribution, attribution->options.log);
}

int
attribution_rescan(struct attribution *attribution)
{
	int err = cgroup_table_scan(attribution->cgroups, attribution->options.cgroupfs);

	if (err == -ENOMEM)
		return err;
	return scan_processes(attribution, NULL);
}
