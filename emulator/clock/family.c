#include "emulator/clock/family.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/clock/family_state.h"

static void *
map_file(const char *directory)
{
	char path[PATH_MAX];
	void *mapped = MAP_FAILED;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s", directory, FAMILY_NAME) < (int)sizeof(path))
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, sizeof(struct family_shared)) == 0)
		mapped = mmap(NULL, sizeof(struct family_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
		family->shared = mmap(NULL, sizeof(struct family_shared), PROT_READ | PROT_WRITE,
		                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
	munmap(family->shared, sizeof(struct family_shared));
	free(family);
}

/* NULL: it has no place, and gets none when `may_add` is not set or all are taken. */
static struct family_process *
find_process(const struct family *family, pid_t process, bool may_add)
{
	for (unsigned i = 0; i < FAMILY_PROBES; i++) {
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
