#include "memory/shared_bytes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define CONTENDED  8  /* times that a line goes from thread to thread, at least, among samples */
#define FEW        16 /* a thread that uses a byte less than a 16th as often as the most frequent one does not count */
#define ALONG      2  /* how often a thread asks for other bytes of the line, times this, is at least as often */
#define BYTE_USERS 64 /* threads that are distinguished, of one byte */

static int
compare_bytes(const void *a, const void *b)
{
	const struct memory_access *one = *(const struct memory_access *const *)a;
	const struct memory_access *other = *(const struct memory_access *const *)b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

/* What one thread did with one byte, or with several. */
struct byte_user {
	uint32_t thread;
	uint64_t reads, writes;
};

struct byte_users {
	struct byte_user users[BYTE_USERS];
	size_t count;
};

/* NULL: the thread is not among them. */
static const struct byte_user *
find_byte_user(const struct byte_users *users, uint32_t thread)
{
	for (size_t i = 0; i < users->count; i++) {
		if (users->users[i].thread == thread)
			return &users->users[i];
	}
	return NULL;
}

/* Add accesses to those that their threads have. */
static void
add_byte_users(struct byte_users *users, const struct memory_access *const *accesses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct byte_user *known = find_byte_user(users, accesses[i]->thread);
		const size_t at = known ? (size_t)(known - users->users) : users->count;

		if (at == BYTE_USERS)
			continue; /* there are too many threads */
		if (!known)
			users->users[users->count++] = (struct byte_user){.thread = accesses[i]->thread};
		if (accesses[i]->flags & MEMORY_STORE)
			users->users[at].writes += accesses[i]->weight;
		else
			users->users[at].reads += accesses[i]->weight;
	}
}

/*
 * How many threads read the byte or, with `writes`, wrote it at least a FEW-th as often as `most`: 0, 1, or 2 for
 * several. *one: the last of them.
 */
static uint32_t
count_users(const struct byte_users *users, bool writes, uint64_t most, uint32_t *one)
{
	uint32_t several = 0;

	for (size_t i = 0; i < users->count; i++) {
		const struct byte_user *user = &users->users[i];
		const uint64_t done = writes ? user->writes : user->reads;

		if (!done || done * FEW < most)
			continue;
		*one = user->thread;
		several++;
	}
	return several < 2 ? several : 2;
}

/*
 * Sum up `count` accesses to one byte. A thread that used it a few times only - wrote it first, or read it at the end -
 * does not count: lines do not go from core to core for that.
 */
static struct shared_byte
sum_byte(const struct memory_access *const *accesses, size_t count)
{
	struct shared_byte byte = {.offset = accesses[0]->offset, .thread = MEMORY_NOTHING};
	uint32_t reader = MEMORY_NOTHING, writer = MEMORY_NOTHING;
	struct byte_users users;
	uint64_t most = 0;

	users.count = 0;
	add_byte_users(&users, accesses, count);
	for (size_t i = 0; i < count; i++)
		byte.cycles +=
			accesses[i]->flags & MEMORY_TRANSFER ? (uint64_t)accesses[i]->weight * accesses[i]->cost : 0;
	for (size_t i = 0; i < users.count; i++) {
		most = users.users[i].writes > most ? users.users[i].writes : most;
		most = users.users[i].reads > most ? users.users[i].reads : most;
	}
	byte.readers = count_users(&users, false, most, &reader);
	byte.writers = count_users(&users, true, most, &writer);
	/* one thread writes it and another reads it: shared truly, as if there were two writers */
	if (byte.writers == 1 && (byte.readers > 1 || (byte.readers == 1 && reader != writer)))
		byte.writers = 2;
	byte.thread = byte.writers ? writer : reader;
	return byte;
}

/*
 * Whether threads take a line from each other, again and again: only then does a byte that one thread alone was seen to
 * use tell something. Data that is handed on once has lines of few samples.
 */
static bool
is_contended(const struct memory_access *const *in_time, size_t count)
{
	const struct memory_access *before = NULL;
	size_t switches = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(in_time[i]->flags & MEMORY_TRANSFER))
			continue;
		switches += before && in_time[i]->thread != before->thread;
		before = in_time[i];
	}
	return switches >= CONTENDED;
}

/* By which a byte's line is found. */
struct object_lines {
	uint64_t address, bytes; /* of the object; of a line */
};

static int
compare_lines(const void *a, const void *b, void *context)
{
	const struct memory_access *one = *(const struct memory_access *const *)a;
	const struct memory_access *other = *(const struct memory_access *const *)b;
	const struct object_lines *line = context;
	const uint64_t first = (line->address + one->offset) / line->bytes,
		       second = (line->address + other->offset) / line->bytes;

	if (first != second)
		return first < second ? -1 : 1;
	return one < other ? -1 : one > other; /* accesses of the profile ascend by time */
}

/*
 * Whether most of what is waited for a byte, in `count` accesses, is waited by threads that ask for truly shared bytes
 * of the line about as often (`shared`): they would wait for these if the byte was elsewhere. The kind of a mutex,
 * which is read before its lock is taken, is such a byte; so is what the lock protects.
 */
static bool
goes_along(const struct memory_access *const *accesses, size_t count, const struct byte_users *shared)
{
	uint64_t along = 0, all = 0;
	struct byte_users users;

	users.count = 0;
	add_byte_users(&users, accesses, count);
	for (size_t i = 0; i < count; i++) {
		const struct byte_user *own = find_byte_user(&users, accesses[i]->thread);
		const struct byte_user *too = own ? find_byte_user(shared, accesses[i]->thread) : NULL;
		const uint64_t cycles = (uint64_t)accesses[i]->weight * accesses[i]->cost;

		if (!(accesses[i]->flags & MEMORY_TRANSFER))
			continue;
		all += cycles;
		along += too && (too->reads + too->writes) * ALONG >= own->reads + own->writes ? cycles : 0;
	}
	return along * 2 > all;
}

/* Append the bytes of one line, to which `count` accesses are, in the order of time. */
static int
add_line(const struct memory_access **in_time, size_t count, struct shared_byte **bytes, size_t *byte_count,
         size_t *room)
{
	const bool contended = is_contended(in_time, count);
	const size_t first = *byte_count;
	struct byte_users shared;
	bool is_written = false;

	shared.count = 0;
	qsort(in_time, count, sizeof(*in_time), compare_bytes);
	for (size_t i = 0, next; i < count; i = next) {
		struct shared_byte *byte = ARRAY_APPEND(*bytes, *byte_count, *room);

		if (!byte)
			return -ENOMEM;
		for (next = i + 1; next < count && in_time[next]->offset == in_time[i]->offset; next++)
			;
		*byte = sum_byte(in_time + i, next - i);
		is_written |= byte->writers > 0;
		if (byte->writers > 1)
			add_byte_users(&shared, in_time + i, next - i);
	}
	for (size_t i = 0, at = first, next; i < count && contended && is_written; i = next, at++) {
		struct shared_byte *byte = &(*bytes)[at];

		for (next = i + 1; next < count && in_time[next]->offset == in_time[i]->offset; next++)
			;
		byte->is_false = byte->cycles && byte->writers < 2 && !goes_along(in_time + i, next - i, &shared);
	}
	return 0;
}

int
shared_bytes_list(const struct memory_profile *profile, const uint32_t *numbers, size_t access_count,
                  struct shared_byte **bytes, size_t *count)
{
	const struct memory_access **accesses = calloc(access_count + 1, sizeof(*accesses));
	struct object_lines line = {.bytes = memory_profile_line_bytes(profile)};
	size_t room = 0;
	int err = accesses ? 0 : -ENOMEM;

	*bytes = NULL;
	*count = 0;
	for (size_t i = 0; i < access_count && !err; i++)
		accesses[i] = &profile->accesses[numbers[i]];
	if (!err && access_count) {
		line.address = profile->objects[accesses[0]->object].address;
		qsort_r(accesses, access_count, sizeof(*accesses), compare_lines, &line);
	}
	for (size_t i = 0, next; i < access_count && !err; i = next) {
		const uint64_t here = (line.address + accesses[i]->offset) / line.bytes;

		for (next = i + 1; next < access_count && (line.address + accesses[next]->offset) / line.bytes == here;
		     next++)
			;
		err = add_line(accesses + i, next - i, bytes, count, &room);
	}
	free(accesses);
	if (err) {
		free(*bytes);
		*bytes = NULL;
	}
	return err;
}
