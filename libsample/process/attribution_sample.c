#include "process/attribution_state.h"

#include <string.h>

#include "base/array.h"

#define ASK_AGAIN_NS   UINT64_C(1000000000)      /* between two looks at a file that is mapped again and again */
#define OFFSET_MAX     ((UINT64_C(1) << 44) - 1) /* the database's blocks end here */
#define VSYSCALL_START UINT64_C(0xffffffffff600000)
#define VSYSCALL_SIZE  UINT64_C(0x1000)

static int
intern_context(struct attribution *attribution, struct context_cache *cache, const char *comm, uint64_t cgroup,
               const char *label)
{
	struct context context = {.comm = comm, .cgroup = "", .label = label};
	int err;

	if (cgroup != 0)
		context.cgroup = cgroup_table_find(attribution->cgroups, cgroup);
	err = context_table_intern(attribution->context_table, &context, &cache->number);
	cache->cgroup = cgroup;
	cache->session = err ? 0 : attribution->session;
	return err;
}

/* `process` may be NULL. 0, or 1 + UNKNOWN_MEMORY. */
static int
fill_context(struct attribution *attribution, const struct record *record, struct process *process,
             struct sample_key *key)
{
	struct context_cache *cache = &attribution->nameless;
	const char *comm = "", *label = "";

	if (process) {
		cache = &process->context;
		comm = process->comm;
		label = label_text(process->label);
	} else if (record->pid == PID_IDLE && record->tid == PID_IDLE && !attribution->nested) {
		cache = &attribution->idle;
		comm = "swapper";
	}
	if (cache->session != attribution->session || cache->cgroup != record->sample.cgroup)
		if (intern_context(attribution, cache, comm, record->sample.cgroup, label))
			return 1 + UNKNOWN_MEMORY;
	key->context = cache->number;
	return 0;
}

static int
fill_image(struct mapped_image *image, uint64_t offset, struct sample_key *key)
{
	if (offset > OFFSET_MAX)
		return 1 + UNKNOWN_ADDRESS;
	if (mapped_image_number(image, &key->image))
		return 1 + UNKNOWN_MEMORY;
	key->offset = offset;
	return 0;
}

/* User code that still runs after the main thread's end is another thread's: its process lives on. */
static void
renew_grace(struct attribution *attribution, struct process *process, uint64_t time_ns)
{
	if (process->ended && time_ns > process->ended_ns + attribution->grace_ns / 2)
		process_go_on(attribution->processes, process, time_ns);
}

/* That there is no process, or no mapping, may be because nobody told. */
static int
not_told(const struct attribution *attribution, const struct record *record, enum unknown_cause cause)
{
	const bool is_doubtful =
		attribution->records_missed || attribution->finding.missed || record->time < attribution->doubt_until;

	return 1 + (int)(is_doubtful ? UNKNOWN_RECORDS : cause);
}

/* Memory without a file that a process executes is its own code, when somebody asks for it. */
static int
fill_mapped(struct attribution *attribution, struct process *process, const struct mapping *mapping, uint64_t address,
            struct sample_key *key)
{
	struct mapped_image *code;
	uint64_t offset;

	if (!attribution->makers || !code_makers_want(mapping->image))
		return fill_image(mapping->image, address - mapping->start + mapping->file_offset, key);
	code = code_makers_image(attribution->makers, process, mapping->start, address, &offset);
	return code ? fill_image(code, offset, key) : 1 + UNKNOWN_MEMORY;
}

/* A file that was mapped since somebody was asked about it. Where there is no room it is met with its next sample. */
static void
ask_about(struct attribution *attribution, uint32_t number, const struct mapped_image *image)
{
	struct seen_place *seen = &attribution->places[number];
	const uint64_t noted_ns = mapped_image_noted_ns(image);

	if (noted_ns <= seen->asked_ns || !attribution->live || attribution->file_count == SAMPLED_FILES_MAX)
		return;
	seen->asked_ns = noted_ns + ASK_AGAIN_NS;
	attribution->files[attribution->file_count++] = number;
}

/* Where the file of the image can be found, if somebody wants it. Without memory, nobody will find it. */
static void
note_place(struct attribution *attribution, uint32_t image, uint32_t pid, const struct mapping *mapping)
{
	if (image >= attribution->place_capacity) {
		const size_t before = attribution->place_capacity;
		struct seen_place *grown =
			array_grow(attribution->places, &attribution->place_capacity, image + 1, sizeof(*grown));

		if (!grown)
			return;
		attribution->places = grown;
		memset(grown + before, 0, (attribution->place_capacity - before) * sizeof(*grown));
	}
	attribution->places[image].place = (struct image_place){pid, mapping->start, mapping->end};
	ask_about(attribution, image, mapping->image);
}

static int
sample_kernel(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	struct process *process = NULL;
	const struct mapping *mapping;
	int cause;

	cause = kernel_map_find(attribution->kernel, record->sample.address, record->time, &mapping);
	if (!cause)
		cause = fill_image(mapping->image, record->sample.address - mapping->start + mapping->file_offset, key);
	if (cause)
		return cause;
	note_place(attribution, key->image, 0, mapping);
	if (!is_foreign(record->pid))
		process = process_find(attribution->processes, record->pid);
	return fill_context(attribution, record, process, key);
}

static int
sample_user(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	uint64_t address = record->sample.address;
	const struct mapping *mapping;
	struct process *process;
	int cause;

	if (is_foreign(record->pid))
		return 1 + UNKNOWN_NAMESPACE;
	process = process_find(attribution->processes, record->pid);
	if (!process)
		return not_told(attribution, record, UNKNOWN_PROCESS);
	renew_grace(attribution, process, record->time);
	mapping = address_space_find(process->space, address);
	if (mapping) {
		cause = fill_mapped(attribution, process, mapping, address, key);
		if (!cause)
			note_place(attribution, key->image, record->pid, mapping);
	} else if (address >= VSYSCALL_START && address - VSYSCALL_START < VSYSCALL_SIZE) {
		cause = fill_image(attribution->vsyscall, address - VSYSCALL_START, key);
	} else {
		cause = process->incomplete ? 1 + UNKNOWN_MEMORY : not_told(attribution, record, UNKNOWN_ADDRESS);
	}
	return cause ? cause : fill_context(attribution, record, process, key);
}

int
attribution_sample(struct attribution *attribution, const struct record *record, struct sample_key *key)
{
	switch (record->mode) {
	case CPU_MODE_USER:
		return sample_user(attribution, record, key);
	case CPU_MODE_KERNEL:
		return sample_kernel(attribution, record, key);
	case CPU_MODE_HYPERVISOR:
	case CPU_MODE_GUEST_KERNEL:
	case CPU_MODE_GUEST_USER:
		return 1 + UNKNOWN_GUEST;
	default:
		return 1 + UNKNOWN_MODE;
	}
}

struct image_place
attribution_place(const struct attribution *attribution, uint32_t number)
{
	return number < attribution->place_capacity ? attribution->places[number].place : (struct image_place){0};
}

bool
attribution_take_file(struct attribution *attribution, struct sampled_file *file)
{
	uint32_t number;

	if (attribution->file_count == 0)
		return false;
	number = attribution->files[--attribution->file_count];
	file->image = image_table_get(attribution->image_table, number);
	file->place = attribution->places[number].place;
	return true;
}

int
attribution_change_file(struct attribution *attribution, const struct image *image, uint32_t content)
{
	return mapped_images_change(attribution->images, image, content);
}
