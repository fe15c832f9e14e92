#include "process/attribution_state.h"

#include <errno.h>
#include <limits.h>

#define HUGE_PAGE_SIZE (UINT64_C(2) << 20)

/* Text that a program has copied to huge pages: it is still the file's. */
static bool
is_huge_text(const struct process *process, const struct record_mmap *mmap, const struct mapped_image *image)
{
	return mapped_image_kind(image) == IMAGE_ANON && mmap->start % HUGE_PAGE_SIZE == 0 &&
	       mmap->length % HUGE_PAGE_SIZE == 0 &&
	       address_space_is_file(process->space, mmap->start, mmap->start + mmap->length);
}

static int
map_image(struct attribution *attribution, struct process *process, const struct record_mmap *mmap, uint64_t time_ns)
{
	struct mapped_image *mapped;
	struct image image;
	char buffer[PATH_MAX];
	uint64_t file_offset;
	int err = 0;

	image_of_mapping(mmap, &attribution->vdso, &image, buffer);
	if (attribution->live)
		image_of_memory_file(mmap, &image);
	mapped = mapped_image_get(attribution->images, &image);
	if (!mapped)
		return -ENOMEM;
	mapped_image_note(mapped, time_ns);
	file_offset = image.kind == IMAGE_USER ? mmap->file_offset : 0;
	if (!is_huge_text(process, mmap, mapped))
		err = address_space_insert(&process->space, &attribution->budget, mmap->start,
		                           mmap->start + mmap->length, file_offset, mapped);
	mapped_image_release(mapped);
	return err;
}

/* What a mapping record says. 0 or -ENOMEM. */
static int
attribution_map(struct attribution *attribution, uint32_t pid, const struct record_mmap *mmap, uint64_t time_ns)
{
	struct process *process;
	int err;

	if (is_foreign(pid) || mmap->is_data || mmap->length == 0 || mmap->length > UINT64_MAX - mmap->start)
		return 0;
	process = process_ensure(attribution->processes, pid);
	if (!process)
		return -ENOMEM;
	process->mapped_ns = time_ns;
	err = map_image(attribution, process, mmap, time_ns);
	if (!err && attribution->makers)
		err = code_makers_map(attribution->makers, process, mmap->path);
	if (err)
		process->incomplete = true;
	return err;
}

/* Memory that takes the place of a file's text: it begins and ends as huge pages do, and the file goes on behind it,
 * further on by at least as much. What lies before it, if anything does, is the same text. */
static bool
is_text_in_memory(struct address_space *space, const struct mapping *memory, const struct mapping *behind)
{
	uint64_t length = memory->end - memory->start;
	const struct mapping *before;

	if (mapped_image_kind(memory->image) != IMAGE_ANON || mapped_image_kind(behind->image) != IMAGE_USER ||
	    memory->end != behind->start || memory->start % HUGE_PAGE_SIZE != 0 || length % HUGE_PAGE_SIZE != 0 ||
	    behind->file_offset < length)
		return false;
	before = memory->start ? address_space_find(space, memory->start - 1) : NULL;
	return !before || (before->image == behind->image &&
	                   behind->file_offset - before->file_offset == behind->start - before->start);
}

/* What was moved to huge pages before we looked is the file's, as it is when it moves later. */
static int
map_huge_text(struct attribution *attribution, struct process *process, uint64_t start)
{
	const struct mapping *behind = address_space_find(process->space, start);
	const struct mapping *memory = start ? address_space_find(process->space, start - 1) : NULL;

	if (!behind || !memory || !is_text_in_memory(process->space, memory, behind))
		return 0;
	return address_space_insert(&process->space, &attribution->budget, memory->start, memory->end,
	                            behind->file_offset - (memory->end - memory->start), behind->image);
}

int
attribution_map_found(struct attribution *attribution, uint32_t pid, const struct record_mmap *mmap, uint64_t time_ns)
{
	int err = attribution_map(attribution, pid, mmap, time_ns);
	struct process *process = process_find(attribution->processes, pid);

	return err || !process ? err : map_huge_text(attribution, process, mmap->start);
}

static int
apply_comm(struct attribution *attribution, const struct record *record)
{
	const char *comm = record->comm.name ? record->comm.name : "";
	struct process *process;

	if (is_foreign(record->pid))
		return 0;
	if (!record->comm.is_exec && record->tid != record->pid)
		return 0; /* a thread has named itself */
	process = process_ensure(attribution->processes, record->pid);
	if (!process)
		return -ENOMEM;
	if (record->comm.is_exec) {
		process_exec(process, comm);
		process->exec_ns = record->time;
	} else {
		process_rename(process, comm);
	}
	return 0;
}

static int
apply_thread(struct attribution *attribution, const struct record *record)
{
	struct process *process = process_ensure(attribution->processes, record->pid);

	if (!process)
		return -ENOMEM;
	process->one_thread = false;
	return 0;
}

static int
apply_fork(struct attribution *attribution, const struct record *record)
{
	struct process *parent, *child;

	if (is_foreign(record->pid))
		return 0;
	if (record->pid == record->task.parent_pid)
		return apply_thread(attribution, record);
	child = process_renew(attribution->processes, record->pid);
	if (!child)
		return -ENOMEM;
	child->parent = record->task.parent_pid;
	child->begun_ns = child->exec_ns = record->time;
	parent = process_find(attribution->processes, record->task.parent_pid);
	if (!parent)
		return 0;
	process_rename(child, parent->comm);
	child->space = address_space_share(parent->space);
	child->incomplete = parent->incomplete;
	return 0;
}

static int
apply_exit(struct attribution *attribution, const struct record *record)
{
	struct process *process;

	if (record->tid != record->pid)
		return 0;
	process = process_find(attribution->processes, record->pid);
	if (!process)
		return 0;
	process_end(attribution->processes, process, record->time);
	if (process->one_thread) /* what it still does, it does in the kernel */
		process_clear(process);
	return 0;
}

/* /proc was read about the process after this happened to it. */
static bool
is_known(struct attribution *attribution, const struct record *record)
{
	const struct process *process = process_find(attribution->processes, record->pid);

	return process && record->time < process->scan_ns;
}

static int
apply_to_process(struct attribution *attribution, const struct record *record)
{
	switch (record->type) {
	case RECORD_MMAP:
		return attribution_map(attribution, record->pid, &record->mmap, record->time);
	case RECORD_COMM:
		return apply_comm(attribution, record);
	case RECORD_FORK:
		return apply_fork(attribution, record);
	case RECORD_EXIT:
		return apply_exit(attribution, record);
	default:
		return 0;
	}
}

int
attribution_apply(struct attribution *attribution, const struct record *record)
{
	int err;

	if (attribution->options.elsewhere && record->type == RECORD_MMAP && record->pid == PID_FOREIGN)
		return record->mode == CPU_MODE_KERNEL ? kernel_map_place(attribution->kernel, &record->mmap) : 0;
	switch (record->type) {
	case RECORD_KSYMBOL:
		return kernel_map_apply(attribution->kernel, record);
	case RECORD_CGROUP:
		return cgroup_table_set(attribution->cgroups, record->cgroup.id,
		                        record->cgroup.path ? record->cgroup.path : "");
	default:
		err = is_known(attribution, record) ? 0 : apply_to_process(attribution, record);
		if (!err)
			attribution_follow_label(attribution, record);
		return err;
	}
}
