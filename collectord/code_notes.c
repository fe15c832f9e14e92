#include "collectord/code_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectord/machine.h"
#include "process/code_file.h"
#include "process/hash.h"

#define SECOND_NS     UINT64_C(1000000000)
#define WAIT_FIRST_NS (10 * SECOND_NS)
#define WAIT_MAX_NS   (600 * SECOND_NS)
#define RENEWALS_MAX  64
#define KEEP_ENDED_NS (60 * SECOND_NS) /* the file of a process that ended: its last samples are written by then */

struct key {
	uint64_t pid, generation;
};

struct entry {
	struct key key;
	struct code_maker maker;
	int fd;                                 /* -1: it tells nothing */
	bool is_new;                            /* to be looked at */
	bool is_given;                          /* it was said to tell nothing */
	uint64_t wait_ns, due_ns;               /* of the next look */
	uint64_t used_ns;                       /* when somebody last asked for it */
	uint64_t renewed_wait_ns, renewable_ns; /* not to be renewed before */
	bool is_past;                           /* another has taken its place */
	struct timespec read_time;              /* the file's, when it was last read */
	off_t read_size;
	UT_hash_handle hh; /* in the order of meeting */
};

struct renewal {
	uint32_t pid;
	uint64_t generation;
};

struct code_notes {
	const char *procfs;
	pthread_mutex_t lock;
	struct entry *entries;
	size_t file_count, new_count;
	struct renewal renewals[RENEWALS_MAX];
	size_t renewal_count;
};

static uint64_t
now_ns(void)
{
	return machine_clock_ns(CLOCK_MONOTONIC);
}

struct code_notes *
code_notes_new(const char *procfs)
{
	struct code_notes *notes = calloc(1, sizeof(*notes));

	if (!notes)
		return NULL;
	notes->procfs = procfs;
	pthread_mutex_init(&notes->lock, NULL);
	return notes;
}

static void
close_file(struct code_notes *notes, struct entry *entry)
{
	if (entry->fd < 0)
		return;
	close(entry->fd);
	entry->fd = -1;
	notes->file_count--;
}

static void
entry_free(struct code_notes *notes, struct entry *entry)
{
	close_file(notes, entry);
	free(entry->maker.jitdump);
	free(entry);
}

static void
forget(struct code_notes *notes, struct entry *entry)
{
	notes->new_count -= entry->is_new;
	HASH_DELETE(hh, notes->entries, entry);
	entry_free(notes, entry);
}

void
code_notes_free(struct code_notes *notes)
{
	struct entry *entry, *next;

	if (!notes)
		return;
	entry = notes->entries;
	HASH_CLEAR(hh, notes->entries);
	for (; entry; entry = next) {
		next = entry->hh.next;
		entry_free(notes, entry);
	}
	pthread_mutex_destroy(&notes->lock);
	free(notes);
}

static struct entry *
find(struct code_notes *notes, uint64_t pid, uint64_t generation)
{
	const struct key key = {pid, generation};
	struct entry *entry;

	HASH_FIND(hh, notes->entries, &key, sizeof(key), entry);
	return entry;
}

static struct entry *
find_image(struct code_notes *notes, const struct image *image)
{
	struct entry *entry = code_maker_is_image(image) ? find(notes, image->inode, image->inode_generation) : NULL;

	if (entry)
		entry->used_ns = now_ns();
	return entry;
}

/* The one that nobody has asked for for longest; with a file, or any. */
static struct entry *
find_oldest(struct code_notes *notes, bool with_file)
{
	struct entry *oldest = NULL;

	for (struct entry *entry = notes->entries; entry; entry = entry->hh.next)
		if ((!with_file || entry->fd >= 0) && (!oldest || entry->used_ns < oldest->used_ns))
			oldest = entry;
	return oldest;
}

/* Whose code is renewed every few seconds is renewed ever more seldom: each time is an image more in the database. */
static void
succeed(struct code_notes *notes, struct entry *entry, uint64_t time_ns)
{
	entry->renewed_wait_ns = WAIT_FIRST_NS;
	for (struct entry *before = notes->entries; before; before = before->hh.next) {
		if (before == entry || before->is_past || before->maker.pid != entry->maker.pid ||
		    before->maker.begun_ns != entry->maker.begun_ns)
			continue;
		before->is_past = true;
		if (2 * before->renewed_wait_ns > entry->renewed_wait_ns)
			entry->renewed_wait_ns = 2 * before->renewed_wait_ns;
	}
	if (entry->renewed_wait_ns > WAIT_MAX_NS)
		entry->renewed_wait_ns = WAIT_MAX_NS;
	entry->renewable_ns = time_ns + entry->renewed_wait_ns;
}

static struct entry *
add(struct code_notes *notes, const struct code_maker *maker)
{
	struct entry *entry;

	if (HASH_COUNT(notes->entries) >= CODE_NOTES_MAX)
		forget(notes, find_oldest(notes, false));
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = (struct key){maker->pid, maker->generation};
	entry->fd = -1;
	HASH_ADD(hh, notes->entries, key, sizeof(entry->key), entry);
	if (!hash_added(entry)) {
		free(entry);
		return NULL;
	}
	entry->maker = *maker;
	entry->maker.jitdump = NULL;
	succeed(notes, entry, now_ns());
	return entry;
}

void
code_notes_meet(struct code_notes *notes, const struct code_maker *maker)
{
	struct entry *entry;

	pthread_mutex_lock(&notes->lock);
	entry = find(notes, maker->pid, maker->generation);
	if (!entry)
		entry = add(notes, maker);
	if (entry) {
		free(entry->maker.jitdump);
		entry->maker = *maker;
		notes->new_count += !entry->is_new;
		entry->is_new = true;
		entry->wait_ns = WAIT_FIRST_NS;
		entry->used_ns = now_ns();
	} else {
		free(maker->jitdump);
	}
	pthread_mutex_unlock(&notes->lock);
}

bool
code_notes_wants_look(struct code_notes *notes)
{
	bool wants;

	pthread_mutex_lock(&notes->lock);
	wants = notes->new_count > 0;
	pthread_mutex_unlock(&notes->lock);
	return wants;
}

static bool
push_renewal(struct code_notes *notes, const struct entry *entry)
{
	if (notes->renewal_count == RENEWALS_MAX)
		return false;
	notes->renewals[notes->renewal_count++] = (struct renewal){entry->maker.pid, entry->maker.generation};
	return true;
}

/* A file was found, or not: with the lock held. */
static void
take_file(struct code_notes *notes, struct entry *entry, int fd)
{
	if (fd < 0)
		return;
	if (notes->file_count >= CODE_FILES_MAX && entry->fd < 0)
		close_file(notes, find_oldest(notes, true));
	close_file(notes, entry);
	entry->fd = fd;
	entry->read_size = -1;
	notes->file_count++;
	if (entry->is_given && push_renewal(notes, entry))
		entry->is_given = false;
}

/* Look at one that is due; the lock is given up meanwhile. `entry` may be gone afterwards. */
static void
look_at(struct code_notes *notes, struct entry *entry, uint64_t time_ns)
{
	struct code_maker maker = entry->maker;
	bool lives;
	int fd;

	notes->new_count -= entry->is_new;
	entry->is_new = false;
	entry->due_ns = time_ns + entry->wait_ns;
	entry->wait_ns = 2 * entry->wait_ns < WAIT_MAX_NS ? 2 * entry->wait_ns : WAIT_MAX_NS;
	maker.jitdump = maker.jitdump ? strdup(maker.jitdump) : NULL;
	pthread_mutex_unlock(&notes->lock);
	fd = code_file_open(notes->procfs, &maker);
	lives = code_file_lives(notes->procfs, &maker);
	free(maker.jitdump);
	pthread_mutex_lock(&notes->lock);
	entry = find(notes, maker.pid, maker.generation);
	if (!entry) {
		if (fd >= 0)
			close(fd);
		return;
	}
	take_file(notes, entry, fd);
	if ((!lives || entry->is_past) && entry->fd < 0) /* nor will it tell anything any more */
		forget(notes, entry);
}

/* One that was met, or whose time has come; NULL: none. */
static struct entry *
find_due(struct code_notes *notes, uint64_t time_ns)
{
	for (struct entry *entry = notes->entries; entry; entry = entry->hh.next)
		if (entry->is_new || (entry->fd < 0 && entry->due_ns <= time_ns))
			return entry;
	return NULL;
}

/* Files of processes that ended, or have other code now, and that nobody has asked for since: they were read. */
static void
forget_ended(struct code_notes *notes, uint64_t time_ns)
{
	struct entry *entry, *next;

	for (entry = notes->entries; entry; entry = next) {
		next = entry->hh.next;
		if (time_ns - entry->used_ns > KEEP_ENDED_NS && entry->fd >= 0 &&
		    (entry->is_past || !code_file_lives(notes->procfs, &entry->maker)))
			forget(notes, entry);
	}
}

void
code_notes_look(struct code_notes *notes)
{
	const uint64_t time_ns = now_ns();
	struct entry *entry;

	pthread_mutex_lock(&notes->lock);
	for (unsigned i = 0; i < CODE_NOTES_MAX && (entry = find_due(notes, time_ns)); i++)
		look_at(notes, entry, time_ns);
	forget_ended(notes, time_ns);
	pthread_mutex_unlock(&notes->lock);
}

bool
code_notes_tells(struct code_notes *notes, const struct image *image)
{
	struct entry *entry;
	bool tells;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	if (entry && entry->fd < 0 && !entry->is_given) { /* the last look may have been seconds ago */
		look_at(notes, entry, now_ns());
		entry = find_image(notes, image);
	}
	tells = entry && entry->fd >= 0;
	if (entry && !tells)
		entry->is_given = true;
	pthread_mutex_unlock(&notes->lock);
	return tells;
}

bool
code_notes_lives(struct code_notes *notes, const struct image *image)
{
	const struct entry *entry;
	bool lives;

	pthread_mutex_lock(&notes->lock);
	entry = find(notes, image->inode, image->inode_generation);
	lives = entry && !entry->is_past && code_file_lives(notes->procfs, &entry->maker);
	pthread_mutex_unlock(&notes->lock);
	return lives;
}

bool
code_notes_take_renewal(struct code_notes *notes, uint32_t *pid, uint64_t *generation)
{
	bool any;

	pthread_mutex_lock(&notes->lock);
	any = notes->renewal_count > 0;
	if (any) {
		const struct renewal *renewal = &notes->renewals[--notes->renewal_count];

		*pid = renewal->pid;
		*generation = renewal->generation;
	}
	pthread_mutex_unlock(&notes->lock);
	return any;
}

bool
code_notes_renew(struct code_notes *notes, const struct image *image)
{
	const uint64_t time_ns = now_ns();
	struct entry *entry;
	bool renews;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	renews = entry && time_ns >= entry->renewable_ns && push_renewal(notes, entry);
	if (renews)
		entry->renewable_ns = UINT64_MAX;
	pthread_mutex_unlock(&notes->lock);
	return renews;
}

int
code_notes_open(struct code_notes *notes, const struct image *image, struct code_note *note)
{
	struct entry *entry;
	struct stat status = {0};
	int err = -ENOENT;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	if (entry && entry->fd >= 0) {
		note->fd = fcntl(entry->fd, F_DUPFD_CLOEXEC, 3);
		note->base = entry->maker.base;
		err = note->fd < 0 || fstat(entry->fd, &status) != 0 ? -errno : 0;
	}
	if (!err) {
		note->size = (uint64_t)status.st_size;
		note->lives = code_file_lives(notes->procfs, &entry->maker);
		note->is_changed = entry->read_size != status.st_size ||
		                   entry->read_time.tv_sec != status.st_mtim.tv_sec ||
		                   entry->read_time.tv_nsec != status.st_mtim.tv_nsec;
		entry->read_size = status.st_size;
		entry->read_time = status.st_mtim;
	}
	pthread_mutex_unlock(&notes->lock);
	return err;
}
