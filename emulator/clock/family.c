#include "emulator/clock/family.h"

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

#define PROBES      16 /* places that are tried for a process or a pipe */
#define PIPE_WRITES 32 /* that are remembered */
#define LOCK_TRIES  100000

struct family_process {
	atomic_int number;
	atomic_uint_fast64_t cycles;
	atomic_uint_fast64_t busy, called;
	atomic_bool is_pinned;
	uint8_t affinity[FAMILY_AFFINITY_SIZE];
};

struct pipe_write {
	uint64_t end; /* bytes, with it and all before */
	uint64_t cycles;
};

struct family_pipe {
	atomic_uint_fast64_t key; /* 0: free */
	atomic_bool is_locked;
	uint64_t written, read; /* bytes */
	uint64_t began;         /* the last write */
	uint64_t room;          /* when it was last read from */
	uint64_t writes_begun;
	struct pipe_write writes[PIPE_WRITES];
};

struct shared {
	struct family_process processes[FAMILY_PROCESSES];
	struct family_pipe pipes[FAMILY_PIPES];
	atomic_uint_fast64_t dilation; /* a double's bits; 0: not known */
	atomic_int_fast64_t origin_ns;
};

struct family {
	struct shared *shared;
};

static void *
map_file(const char *directory)
{
	char path[PATH_MAX];
	void *mapped = MAP_FAILED;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s", directory, FAMILY_NAME) < (int)sizeof(path))
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, sizeof(struct shared)) == 0)
		mapped = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return mapped;
}

struct family *
family_new(const char *directory)
{
	struct family *family = calloc(1, sizeof(*family));

	if (!family)
		return NULL;
	family->shared = map_file(directory);
	if (family->shared == MAP_FAILED)
		family->shared =
			mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (family->shared == MAP_FAILED) {
		free(family);
		errno = ENOMEM;
		return NULL;
	}
	return family;
}

void
family_free(struct family *family)
{
	if (!family)
		return;
	munmap(family->shared, sizeof(struct shared));
	free(family);
}

/* NULL: it has no place, and gets none when `may_add` is not set or all are taken. */
static struct family_process *
find_process(const struct family *family, pid_t process, bool may_add)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct family_process *place = &family->shared->processes[((unsigned)process + i) % FAMILY_PROCESSES];
		int free_number = 0;

		if (atomic_load(&place->number) == process)
			return place;
		if (may_add && atomic_compare_exchange_strong(&place->number, &free_number, process))
			return place;
	}
	return NULL;
}

void
family_set_time(struct family *family, pid_t process, uint64_t cycles)
{
	struct family_process *place = find_process(family, process, true);
	uint_fast64_t before;

	if (!place)
		return;
	before = atomic_load(&place->cycles);
	while (before < cycles && !atomic_compare_exchange_weak(&place->cycles, &before, cycles))
		;
}

uint64_t
family_time(const struct family *family, pid_t process)
{
	const struct family_process *place = find_process(family, process, false);

	return place ? atomic_load(&place->cycles) : FAMILY_UNKNOWN;
}

void
family_begin(struct family *family, pid_t process, pid_t parent, uint64_t cycles)
{
	struct family_process *place = find_process(family, process, true);
	uint8_t mask[FAMILY_AFFINITY_SIZE];

	if (!place)
		return;
	atomic_store(&place->cycles, cycles);
	atomic_store(&place->busy, 0);
	atomic_store(&place->called, 0);
	atomic_store(&place->is_pinned, false);
	if (family_affinity(family, parent, mask))
		family_set_affinity(family, process, mask);
}

void
family_set_busy(struct family *family, pid_t process, const struct family_busy *busy)
{
	struct family_process *place = find_process(family, process, true);

	if (!place)
		return;
	atomic_store(&place->busy, busy->all);
	atomic_store(&place->called, busy->called);
}

void
family_busy(const struct family *family, pid_t process, struct family_busy *busy)
{
	const struct family_process *place = find_process(family, process, false);

	*busy = (struct family_busy){0};
	if (place)
		*busy = (struct family_busy){atomic_load(&place->busy), atomic_load(&place->called)};
}

void
family_set_affinity(struct family *family, pid_t process, const uint8_t mask[FAMILY_AFFINITY_SIZE])
{
	struct family_process *place = find_process(family, process, true);

	if (!place)
		return;
	memcpy(place->affinity, mask, FAMILY_AFFINITY_SIZE);
	atomic_store(&place->is_pinned, true);
}

bool
family_affinity(const struct family *family, pid_t process, uint8_t mask[FAMILY_AFFINITY_SIZE])
{
	const struct family_process *place = find_process(family, process, false);

	if (!place || !atomic_load(&place->is_pinned))
		return false;
	memcpy(mask, place->affinity, FAMILY_AFFINITY_SIZE);
	return true;
}

uint64_t
family_pipe(int fd)
{
	struct stat file;

	if (fstat(fd, &file) < 0 || !S_ISFIFO(file.st_mode))
		return 0;
	return ((uint64_t)file.st_dev * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)file.st_ino) | 1U << 31;
}

/* The place of a pipe, which may be one that another had: there are more of them in time than places. */
static struct family_pipe *
find_pipe(struct family *family, uint64_t key)
{
	struct family_pipe *first = &family->shared->pipes[key % FAMILY_PIPES];

	for (unsigned i = 0; i < PROBES; i++) {
		struct family_pipe *place = &family->shared->pipes[(key + i) % FAMILY_PIPES];
		uint_fast64_t other = 0;

		if (atomic_load(&place->key) == key || atomic_compare_exchange_strong(&place->key, &other, key) ||
		    other == key)
			return place;
	}
	atomic_store(&first->key, key);
	first->written = first->read = first->began = first->room = first->writes_begun = 0;
	return first;
}

/* Who had the lock for so long has ended in between: what it left is taken as it is. */
static struct family_pipe *
lock_pipe(struct family *family, uint64_t key)
{
	struct family_pipe *place = find_pipe(family, key);

	for (unsigned tries = 0; tries < LOCK_TRIES && atomic_exchange(&place->is_locked, true); tries++)
		host_pause();
	return place;
}

static void
unlock_pipe(struct family_pipe *pipe)
{
	atomic_store(&pipe->is_locked, false);
}

void
family_write(struct family *family, uint64_t pipe, uint64_t cycles)
{
	struct family_pipe *place = lock_pipe(family, pipe);

	place->began = cycles;
	unlock_pipe(place);
}

void
family_wrote(struct family *family, uint64_t pipe, uint64_t cycles, uint64_t bytes)
{
	struct family_pipe *place = lock_pipe(family, pipe);

	place->written += bytes;
	place->writes[place->writes_begun++ % PIPE_WRITES] = (struct pipe_write){place->written, cycles};
	unlock_pipe(place);
}

/* The write that byte number `read` came with; when it has not returned, or is forgotten, the one that is known. */
static uint64_t
find_write(const struct family_pipe *pipe)
{
	const uint64_t first = pipe->writes_begun > PIPE_WRITES ? pipe->writes_begun - PIPE_WRITES : 0;

	for (uint64_t i = first; i < pipe->writes_begun; i++)
		if (pipe->writes[i % PIPE_WRITES].end >= pipe->read)
			return pipe->writes[i % PIPE_WRITES].cycles;
	return pipe->began;
}

uint64_t
family_read(struct family *family, uint64_t pipe, uint64_t cycles, uint64_t bytes)
{
	struct family_pipe *place = lock_pipe(family, pipe);
	uint64_t when;

	place->read += bytes;
	when = find_write(place);
	place->room = when > cycles ? when : cycles;
	unlock_pipe(place);
	return when;
}

uint64_t
family_room(struct family *family, uint64_t pipe)
{
	struct family_pipe *place = lock_pipe(family, pipe);
	uint64_t room;

	room = place->room;
	unlock_pipe(place);
	return room;
}

bool
family_pace(const struct family *family, double *dilation, int64_t *origin_ns)
{
	const uint64_t bits = atomic_load(&family->shared->dilation);

	*origin_ns = atomic_load(&family->shared->origin_ns);
	memcpy(dilation, &bits, sizeof(*dilation));
	return bits != 0;
}

void
family_set_pace(struct family *family, double dilation, int64_t origin_ns)
{
	uint_fast64_t bits = 0, unknown = 0;

	memcpy(&bits, &dilation, sizeof(dilation));
	if (atomic_load(&family->shared->dilation) != 0)
		return;
	atomic_store(&family->shared->origin_ns, origin_ns);
	atomic_compare_exchange_strong(&family->shared->dilation, &unknown, bits);
}

void
family_slip(struct family *family, int64_t ns)
{
	atomic_fetch_add(&family->shared->origin_ns, ns);
}
