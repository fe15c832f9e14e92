#include "emulator/timing/timing.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_SIZE ((uint64_t)RECORD_VCPUS_MAX << THREAD_SHIFT)

const struct setup *
timing_map_setup(const char *directory)
{
	const struct setup *setup = MAP_FAILED;
	char path[PATH_MAX + sizeof(SETUP_NAME) + 1];
	struct stat status;
	int fd, err;

	snprintf(path, sizeof(path), "%s/" SETUP_NAME, directory);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) < 0)
		err = errno;
	else if (status.st_size != sizeof(*setup))
		err = EPROTO;
	else {
		setup = mmap(NULL, sizeof(*setup), PROT_READ, MAP_PRIVATE, fd, 0);
		err = errno;
	}
	close(fd);
	if (setup != MAP_FAILED && (setup->magic != SETUP_MAGIC || setup->size != sizeof(*setup))) {
		munmap((void *)(uintptr_t)setup, sizeof(*setup));
		setup = MAP_FAILED;
		err = EPROTO;
	}
	errno = setup == MAP_FAILED ? err : 0;
	return setup == MAP_FAILED ? NULL : setup;
}

static void
read_machine(struct timing *timing, const struct setup *setup)
{
	const struct pipeline *pipeline = &setup->pipeline;
	const struct pipeline_operation *load = &pipeline->operations[CLASS_LOAD];

	timing->is_in_order = pipeline->kind == PIPELINE_KIND_IN_ORDER;
	timing->load_cycles = load->latency;
	timing->level1_difference = (int64_t)setup->machine.levels[0].latency_cycles - load->latency;
	timing->line_bytes = setup->machine.line_bytes;
	timing->level_count = setup->machine.level_count;
	timing->misses_in_flight = setup->machine.misses_in_flight;
	if (timing->misses_in_flight == 0 || timing->misses_in_flight > THREAD_HISTORY)
		timing->misses_in_flight = THREAD_HISTORY;
	timing->write_buffer_entries = setup->machine.write_buffer_entries;
	if (timing->write_buffer_entries == 0)
		timing->write_buffer_entries = 1;
	if (timing->write_buffer_entries > THREAD_STORES)
		timing->write_buffer_entries = THREAD_STORES;
}

/* What stands before the first block: an instruction that does nothing. */
static int
add_nothing(struct timing *timing, uint16_t machine)
{
	static const uint8_t x86[] = {0x90}, aarch64[] = {0x1f, 0x20, 0x03, 0xd5}, riscv[] = {0x13, 0, 0, 0};
	const uint8_t *bytes = machine == EM_X86_64 ? x86 : machine == EM_AARCH64 ? aarch64 : riscv;
	const uint8_t size = machine == EM_X86_64 ? 1 : 4;
	const struct block *block = blocks_add(timing->blocks, 0, bytes, &size, 1, 0, 0);

	if (!block)
		return -ENOMEM;
	timing->nothing = timing_add_code(timing, block);
	if (!timing->nothing)
		return -ENOMEM;
	timing->nothing->last_line = CODE_NO_LINE; /* what was used is not known */
	edges_make_first(timing, timing->nothing);
	return 0;
}

/* Lines of 64 bytes in several sets, pages of 4 KiB and a TLB: callbacks use the filter directly. */
static bool
has_geometry(const struct timing *timing)
{
	const uint32_t both = SETUP_CACHES | SETUP_TLBS;
	const struct machine *machine = &timing->setup->machine;

	return (timing->parts & both) == both && machine->line_bytes == TIMING_LINE &&
	       machine->page_bytes == 1 << TIMING_PAGE_SHIFT && machine->data_tlb.entries &&
	       machine->levels[0].bytes / TIMING_LINE > machine->levels[0].ways;
}

static int
init_models(struct timing *timing, uint16_t machine, enum block_callbacks callbacks)
{
	const struct setup *setup = timing->setup;

	if (timing->parts & (SETUP_CACHES | SETUP_TLBS)) {
		timing->memory = memory_system_new(&setup->machine, timing->parts, setup->quantum_cycles, setup->seed);
		if (!timing->memory)
			return -errno;
	}
	timing->blocks = blocks_new(&setup->pipeline, machine, callbacks);
	if (!timing->blocks)
		return -errno;
	return predictor_init(&timing->sites, &setup->machine);
}

int
timing_init(struct timing *timing, const struct setup *setup, uint16_t machine, enum block_callbacks callbacks,
            struct clock *clock, struct recording *recording)
{
	void *threads;
	int err;

	*timing = (struct timing){.setup = setup, .parts = setup->parts, .recording = recording, .clock = clock};
	read_machine(timing, setup);
	timing->is_common = has_geometry(timing);
	pthread_mutex_init(&timing->cores_lock, NULL);
	threads = mmap(NULL, THREADS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	timing->threads = threads == MAP_FAILED ? NULL : threads;
	timing->codes = calloc(CODE_BLOCKS_MAX, sizeof(timing->codes[0]));
	err = timing->codes && timing->threads ? edges_init(&timing->edges) : -ENOMEM;
	if (!err)
		err = init_models(timing, machine, callbacks);
	if (!err)
		err = add_nothing(timing, machine);
	if (err)
		timing_fini(timing);
	return err;
}

void
timing_fini(struct timing *timing)
{
	for (unsigned i = 0; i < timing->thread_count && timing->threads; i++)
		thread_free(timing_thread(timing, i));
	thread_free_idle_cores(timing);
	pthread_mutex_destroy(&timing->cores_lock);
	free(timing->codes);
	edges_fini(&timing->edges);
	arena_fini(&timing->arena);
	if (timing->threads)
		munmap(timing->threads, THREADS_SIZE);
	predictor_fini(&timing->sites);
	memory_system_free(timing->memory);
	blocks_free(timing->blocks);
	*timing = (struct timing){.setup = NULL};
}

void
timing_publish(struct timing *timing)
{
	for (unsigned i = 0; i < timing->thread_count; i++) {
		pthread_mutex_lock(&timing->cores_lock); /* no thread gives its core away meanwhile */
		if (timing_thread(timing, i)->is_alive)
			thread_publish(timing_thread(timing, i));
		pthread_mutex_unlock(&timing->cores_lock);
	}
}

void
timing_before_fork(struct timing *timing)
{
	pthread_mutex_lock(&timing->edges.lock);
	pthread_mutex_lock(&timing->cores_lock);
	if (timing->memory)
		memory_system_before_fork(timing->memory);
	blocks_before_fork(timing->blocks);
}

void
timing_after_fork(struct timing *timing)
{
	blocks_after_fork(timing->blocks);
	if (timing->memory)
		memory_system_after_fork(timing->memory);
	pthread_mutex_unlock(&timing->cores_lock);
	pthread_mutex_unlock(&timing->edges.lock);
}

int
timing_fork(struct timing *timing, struct thread *calling)
{
	const uint64_t clock = calling ? thread_clock(calling) : 0;
	int err;

	clock_fork(timing->clock);
	err = recording_fork(timing->recording, clock);
	for (unsigned i = 0; i < timing->thread_count; i++) {
		struct thread *thread = timing_thread(timing, i);

		if (thread == calling)
			thread_fork(thread);
		else
			thread_free(thread);
	}
	return err;
}
