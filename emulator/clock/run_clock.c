#include "emulator/clock/run_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/clock/host_thread.h"

#define PROBES      16 /* entries of a hash table that are tried for a process or a pipe */
#define PIPE_WRITES 32 /* that are remembered */
#define LOCK_TRIES  100000

struct run_process {
	atomic_int number;
	atomic_uint_fast64_t cycles;
	atomic_uint_fast64_t cpu_all, cpu_system;
	atomic_bool is_pinned;
	uint8_t affinity[RUN_CLOCK_AFFINITY_SIZE];
};

struct pipe_write {
	uint64_t end; /* bytes written to the pipe with this write and all before */
	uint64_t cycles;
};

/* What is not atomic is under the lock. */
struct run_pipe {
	atomic_uint_fast64_t key; /* 0: free */
	atomic_bool is_locked;
	uint64_t written, read; /* bytes */
	uint64_t write_began;   /* when the last write began */
	uint64_t room;          /* when it was last read from */
	uint64_t write_count;
	struct pipe_write writes[PIPE_WRITES];
};

/* The file. */
struct run_shared {
	struct run_process processes[RUN_CLOCK_PROCESSES];
	struct run_pipe pipes[RUN_CLOCK_PIPES];
	atomic_uint_fast64_t dilation; /* a double's bits; 0: not known */
	atomic_int_fast64_t origin_ns;
};

struct run_clock {
	struct run_shared *shared;
};

static void *
map_file(const char *directory)
{
	char path[PATH_MAX];
	void *mapped = MAP_FAILED;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", directory, RUN_CLOCK_NAME) >= (int)sizeof(path))
		return MAP_FAILED;
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return MAP_FAILED;
	if (posix_fallocate(fd, 0, sizeof(struct run_shared)) == 0)
		mapped = mmap(NULL, sizeof(struct run_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mapped;
}

struct run_clock *
run_clock_new(const char *directory)
{
	struct run_clock *run_clock = calloc(1, sizeof(*run_clock));

	if (!run_clock)
		return NULL;
	run_clock->shared = map_file(directory);
	if (run_clock->shared == MAP_FAILED)
		run_clock->shared = mmap(NULL, sizeof(struct run_shared), PROT_READ | PROT_WRITE,
		                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run_clock->shared == MAP_FAILED) {
		free(run_clock);
		errno = ENOMEM;
		return NULL;
	}
	return run_clock;
}

void
run_clock_free(struct run_clock *run_clock)
{
	if (!run_clock)
		return;
	munmap(run_clock->shared, sizeof(struct run_shared));
	free(run_clock);
}

/* NULL: it has no entry, and gets none when `may_add` is not set or all that are tried are taken. */
static struct run_process *
find_process(const struct run_clock *run_clock, pid_t process, bool may_add)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct run_process *entry =
			&run_clock->shared->processes[((unsigned)process + i) % RUN_CLOCK_PROCESSES];
		int free_number = 0;

		if (atomic_load(&entry->number) == process)
			return entry;
		if (may_add && atomic_compare_exchange_strong(&entry->number, &free_number, process))
			return entry;
	}
	return NULL;
}

void
run_clock_set_time(struct run_clock *run_clock, pid_t process, uint64_t cycles)
{
	struct run_process *entry = find_process(run_clock, process, true);
	uint_fast64_t before;

	if (!entry)
		return;
	before = atomic_load(&entry->cycles);
	while (before < cycles && !atomic_compare_exchange_weak(&entry->cycles, &before, cycles))
		;
}

uint64_t
run_clock_time(const struct run_clock *run_clock, pid_t process)
{
	const struct run_process *entry = find_process(run_clock, process, false);

	return entry ? atomic_load(&entry->cycles) : RUN_CLOCK_UNKNOWN;
}

void
run_clock_begin(struct run_clock *run_clock, pid_t process, pid_t parent, uint64_t cycles)
{
	struct run_process *entry = find_process(run_clock, process, true);
	uint8_t mask[RUN_CLOCK_AFFINITY_SIZE];

	if (!entry)
		return;
	atomic_store(&entry->cycles, cycles);
	atomic_store(&entry->cpu_all, 0);
	atomic_store(&entry->cpu_system, 0);
	atomic_store(&entry->is_pinned, false);
	if (run_clock_affinity(run_clock, parent, mask))
		run_clock_set_affinity(run_clock, process, mask);
}

void
run_clock_set_cpu_time(struct run_clock *run_clock, pid_t process, const struct cpu_time *cpu)
{
	struct run_process *entry = find_process(run_clock, process, true);

	if (!entry)
		return;
	atomic_store(&entry->cpu_all, cpu->all);
	atomic_store(&entry->cpu_system, cpu->system);
}

void
run_clock_cpu_time(const struct run_clock *run_clock, pid_t process, struct cpu_time *cpu)
{
	const struct run_process *entry = find_process(run_clock, process, false);

	*cpu = (struct cpu_time){0};
	if (entry)
		*cpu = (struct cpu_time){atomic_load(&entry->cpu_all), atomic_load(&entry->cpu_system)};
}

void
run_clock_set_affinity(struct run_clock *run_clock, pid_t process, const uint8_t mask[RUN_CLOCK_AFFINITY_SIZE])
{
	struct run_process *entry = find_process(run_clock, process, true);

	if (!entry)
		return;
	memcpy(entry->affinity, mask, RUN_CLOCK_AFFINITY_SIZE);
	atomic_store(&entry->is_pinned, true);
}

bool
run_clock_affinity(const struct run_clock *run_clock, pid_t process, uint8_t mask[RUN_CLOCK_AFFINITY_SIZE])
{
	const struct run_process *entry = find_process(run_clock, process, false);

	if (!entry || !atomic_load(&entry->is_pinned))
		return false;
	memcpy(mask, entry->affinity, RUN_CLOCK_AFFINITY_SIZE);
	return true;
}

void
run_clock_unpin(struct run_clock *run_clock, pid_t process)
{
	struct run_process *entry = find_process(run_clock, process, false);

	if (entry)
		atomic_store(&entry->is_pinned, false);
}

uint64_t
run_clock_pipe(int fd)
{
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISFIFO(file.st_mode))
		return 0;
	return ((uint64_t)file.st_dev * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)file.st_ino) | 1U << 31;
}

/* The entry of a pipe. When all that are tried are taken, it takes over another pipe's: a run may make many pipes. */
static struct run_pipe *
find_pipe(struct run_clock *run_clock, uint64_t key)
{
	struct run_pipe *first = &run_clock->shared->pipes[key % RUN_CLOCK_PIPES];

	for (unsigned i = 0; i < PROBES; i++) {
		struct run_pipe *entry = &run_clock->shared->pipes[(key + i) % RUN_CLOCK_PIPES];
		uint_fast64_t other = 0;

		if (atomic_load(&entry->key) == key || atomic_compare_exchange_strong(&entry->key, &other, key) ||
		    other == key)
			return entry;
	}
	atomic_store(&first->key, key);
	first->written = first->read = first->write_began = first->room = first->write_count = 0;
	return first;
}

/* A process that holds the lock for longer than this was killed meanwhile: its entry is used as it is. */
static struct run_pipe *
lock_pipe(struct run_clock *run_clock, uint64_t key)
{
	struct run_pipe *entry = find_pipe(run_clock, key);

	for (unsigned tries = 0; tries < LOCK_TRIES && atomic_exchange(&entry->is_locked, true); tries++)
		host_thread_pause();
	return entry;
}

static void
unlock_pipe(struct run_pipe *pipe)
{
	atomic_store(&pipe->is_locked, false);
}

void
run_clock_pipe_write_begin(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles)
{
	struct run_pipe *entry = lock_pipe(run_clock, pipe);

	entry->write_began = cycles;
	unlock_pipe(entry);
}

void
run_clock_pipe_write_end(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles, uint64_t bytes)
{
	struct run_pipe *entry = lock_pipe(run_clock, pipe);

	entry->written += bytes;
	entry->writes[entry->write_count++ % PIPE_WRITES] = (struct pipe_write){entry->written, cycles};
	unlock_pipe(entry);
}

/*
 * When byte number `pipe->read` was written. A write that has not returned yet is not in the ring of writes: its time
 * is when it began. A write that the ring has lost counts as the oldest that it has.
 */
static uint64_t
find_write(const struct run_pipe *pipe)
{
	const uint64_t first = pipe->write_count > PIPE_WRITES ? pipe->write_count - PIPE_WRITES : 0;

	for (uint64_t i = first; i < pipe->write_count; i++)
		if (pipe->writes[i % PIPE_WRITES].end >= pipe->read)
			return pipe->writes[i % PIPE_WRITES].cycles;
	return pipe->write_began;
}

uint64_t
run_clock_pipe_read(struct run_clock *run_clock, uint64_t pipe, uint64_t cycles, uint64_t bytes)
{
	struct run_pipe *entry = lock_pipe(run_clock, pipe);
	uint64_t when;

	entry->read += bytes;
	when = find_write(entry);
	entry->room = when > cycles ? when : cycles;
	unlock_pipe(entry);
	return when;
}

uint64_t
run_clock_pipe_room(struct run_clock *run_clock, uint64_t pipe)
{
	struct run_pipe *entry = lock_pipe(run_clock, pipe);
	const uint64_t room = entry->room;

	unlock_pipe(entry);
	return room;
}

bool
run_clock_pace(const struct run_clock *run_clock, double *dilation, int64_t *origin_ns)
{
	const uint64_t bits = atomic_load(&run_clock->shared->dilation);

	*origin_ns = atomic_load(&run_clock->shared->origin_ns);
	memcpy(dilation, &bits, sizeof(*dilation));
	return bits != 0;
}

void
run_clock_set_pace(struct run_clock *run_clock, double dilation, int64_t origin_ns)
{
	uint_fast64_t bits = 0, unknown = 0;

	memcpy(&bits, &dilation, sizeof(dilation));
	if (atomic_load(&run_clock->shared->dilation) != 0)
		return;
	atomic_store(&run_clock->shared->origin_ns, origin_ns);
	atomic_compare_exchange_strong(&run_clock->shared->dilation, &unknown, bits);
}

void
run_clock_shift_origin(struct run_clock *run_clock, int64_t ns)
{
	atomic_fetch_add(&run_clock->shared->origin_ns, ns);
}
