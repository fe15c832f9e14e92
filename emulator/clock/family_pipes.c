/* What was written into pipes, and when: see family.h. */
#include <sys/stat.h>

#include "emulator/clock/family_state.h"
#include "emulator/clock/host_thread.h"

#define LOCK_TRIES 100000

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

	for (unsigned i = 0; i < FAMILY_PROBES; i++) {
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
	place->writes[place->writes_begun++ % FAMILY_PIPE_WRITES] = (struct pipe_write){place->written, cycles};
	unlock_pipe(place);
}

/* The write that byte number `read` came with; when it has not returned, or is forgotten, the one that is known. */
static uint64_t
find_write(const struct family_pipe *pipe)
{
	const uint64_t first = pipe->writes_begun > FAMILY_PIPE_WRITES ? pipe->writes_begun - FAMILY_PIPE_WRITES : 0;

	for (uint64_t i = first; i < pipe->writes_begun; i++)
		if (pipe->writes[i % FAMILY_PIPE_WRITES].end >= pipe->read)
			return pipe->writes[i % FAMILY_PIPE_WRITES].cycles;
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
