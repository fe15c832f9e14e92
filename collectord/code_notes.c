#include "collectord/code_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/helper.h"
#include "collectord/silent_devices.h"
#include "collectord/worker_thread.h"
#include "process/hash.h"
#include "process/jit.h"

#define WAIT_FIRST_NS (10 * SECOND_NS)
#define WAIT_MAX_NS   (600 * SECOND_NS)
#define RENEWALS_MAX  64
#define KEEP_ENDED_NS (60 * SECOND_NS) /* the file of a process that ended: its last samples are written by then */
#define OPEN_WAIT_NS  (2 * CODE_NOTES_PATIENCE_NS)
#define GONE_MAX      (CODE_FILES_MAX + 16) /* all files, and those that are lent or on their way */

struct key {
	uint64_t pid, generation;
};

struct entry {
	struct key key;
	struct jit_process maker;
	int fd;                                 /* O_PATH; -1: it tells nothing */
	bool is_new;                            /* what it tells is to be looked for */
	bool is_wanted;                         /* somebody waits for it to be looked at */
	bool is_busy;                           /* it is being looked at */
	bool is_known;                          /* a look was answered */
	bool is_given;                          /* it was said to tell nothing */
	bool lives;                             /* at the last look */
	int error;                              /* of the last look, for the file */
	uint64_t wait_ns, due_ns;               /* of the next look */
	uint64_t used_ns;                       /* when somebody last asked for it */
	uint64_t renewed_wait_ns, renewable_ns; /* not to be renewed before */
	bool is_past;                           /* another has taken its place */
	struct timespec time, read_time;        /* the file's, at the last look, and when it was last read */
	off_t size, read_size;
	UT_hash_handle hh; /* in the order of meeting */
};

struct renewal {
	uint32_t pid;
	uint64_t generation;
};

/* A packet for the child; a descriptor comes with it: the file that is known. */
struct look_request {
	struct jit_process maker; /* its jitdump follows */
	bool finds;               /* one that is known counts when no other is found */
	bool closes;              /* nothing is asked */
	struct silent_devices silent;
	char jitdump[PATH_MAX]; /* "": none. Its last bytes are not sent */
};

/* With it comes the file that was found. */
struct look_answer {
	int error; /* -EBUSY: it is not known what there is; 0: what follows is the file's */
	bool lives;
	off_t size;
	struct timespec time;
};

/* Memory that the child and we share. */
struct looker {
	_Atomic bool asks; /* the file system of this device */
	_Atomic uint32_t major, minor;
	char procfs[PATH_MAX];
};

struct code_notes {
	const struct log *log;
	pthread_t thread;
	int stop_bell;
	struct helper helper;         /* the thread's */
	struct silent_devices silent; /* the thread's */

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t changed;
	bool stop, is_busy;
	uint64_t round_ns; /* CLOCK_MONOTONIC: entries that are due by then are looked at */
	struct entry *entries;
	size_t file_count;
	int gone[GONE_MAX]; /* files that nobody wants any more */
	size_t gone_count;
	struct renewal renewals[RENEWALS_MAX];
	size_t renewal_count;
};

/* ---- the child ---- */

struct look {
	struct looker *looker;
	struct look_request request;
};

/* A mapped_file_step: whose device it is is known without asking. */
static int
may_ask(void *context, int fd)
{
	struct look *look = context;
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) != 0)
		return -errno;
	if (silent_devices_have(&look->request.silent, status.stx_dev_major, status.stx_dev_minor))
		return -EBUSY;
	look->looker->major = status.stx_dev_major;
	look->looker->minor = status.stx_dev_minor;
	look->looker->asks = true;
	return 0;
}

/* Answer the request; a file that was found, or -1. `known` is the one that came with it. */
static int
look_for(struct look *look, int known, struct look_answer *answer)
{
	struct look_request *request = &look->request;
	int found = -ENOENT;
	struct stat status;

	request->maker.jitdump = request->jitdump[0] ? request->jitdump : NULL;
	if (request->finds)
		found = jit_file_find(look->looker->procfs, &request->maker, may_ask, look);
	if (found < 0 && known < 0)
		answer->error = found;
	else
		answer->error = may_ask(look, found < 0 ? known : found);
	if (!answer->error && fstat(found < 0 ? known : found, &status) != 0)
		answer->error = -errno;
	if (!answer->error) {
		answer->size = status.st_size;
		answer->time = status.st_mtim;
	}
	answer->lives = jit_process_is_alive(look->looker->procfs, &request->maker);
	return found;
}

/* What it has it closes last of all: after we have, or have taken what it found. */
static void
look_for_all(int socket, void *shared)
{
	struct look look = {.looker = shared};
	int known = -1, found = -1;

	for (;;) {
		struct look_answer answer = {0};
		const size_t size = helper_next(socket, &look.request, sizeof(look.request), &known);

		if (found >= 0)
			close(found);
		found = -1;
		if (size <= offsetof(struct look_request, jitdump))
			return;
		look.request.jitdump[sizeof(look.request.jitdump) - 1] = '\0';
		if (!look.request.closes)
			found = look_for(&look, known, &answer);
		else if (known >= 0)
			close(known);
		if (!helper_answer(socket, &answer, sizeof(answer), found))
			return;
		if (!look.request.closes && known >= 0)
			close(known);
	}
}

/* ---- what is known; with the lock held ---- */

/* The last to have a file may have to wait for the end of its file system: the child is, not we. */
static void
let_go(struct code_notes *notes, int fd)
{
	if (notes->gone_count == GONE_MAX) {
		close(fd);
		return;
	}
	notes->gone[notes->gone_count++] = fd;
	pthread_cond_broadcast(&notes->changed);
}

static void
close_file(struct code_notes *notes, struct entry *entry)
{
	if (entry->fd < 0)
		return;
	let_go(notes, entry->fd);
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
	HASH_DELETE(hh, notes->entries, entry);
	entry_free(notes, entry);
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
	struct entry *entry = jit_is_image(image) ? find(notes, image->inode, image->inode_generation) : NULL;

	if (entry)
		entry->used_ns = monotonic_ns();
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
add(struct code_notes *notes, const struct jit_process *maker)
{
	struct entry *entry;

	if (HASH_COUNT(notes->entries) >= CODE_NOTES_MAX)
		forget(notes, find_oldest(notes, false));
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = (struct key){maker->pid, maker->generation};
	entry->fd = -1;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was forgotten is in none of the table's lists */
	HASH_ADD(hh, notes->entries, key, sizeof(entry->key), entry);
	if (!hash_added(entry)) {
		free(entry);
		return NULL;
	}
	entry->maker = *maker;
	entry->maker.jitdump = NULL;
	succeed(notes, entry, monotonic_ns());
	return entry;
}

void
code_notes_meet(struct code_notes *notes, const struct jit_process *maker)
{
	struct entry *entry;

	pthread_mutex_lock(&notes->lock);
	entry = find(notes, maker->pid, maker->generation);
	if (!entry)
		entry = add(notes, maker);
	if (entry) {
		free(entry->maker.jitdump);
		entry->maker = *maker;
		entry->is_new = true;
		entry->wait_ns = WAIT_FIRST_NS;
		entry->used_ns = monotonic_ns();
		pthread_cond_broadcast(&notes->changed);
	} else {
		free(maker->jitdump);
	}
	pthread_mutex_unlock(&notes->lock);
}

static bool
push_renewal(struct code_notes *notes, const struct entry *entry)
{
	if (notes->renewal_count == RENEWALS_MAX)
		return false;
	notes->renewals[notes->renewal_count++] = (struct renewal){entry->maker.pid, entry->maker.generation};
	return true;
}

/* A file was found, or not. */
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

static bool
is_unused(const struct entry *entry)
{
	return monotonic_ns() - entry->used_ns > KEEP_ENDED_NS;
}

/* One that was met, or that somebody waits for, or whose time has come; NULL: none. */
static struct entry *
find_due(struct code_notes *notes, uint64_t time_ns)
{
	for (struct entry *entry = notes->entries; entry; entry = entry->hh.next)
		if (entry->is_new || entry->is_wanted ||
		    (entry->due_ns <= time_ns && (entry->fd < 0 || is_unused(entry))))
			return entry;
	return NULL;
}

/* ---- the thread; with the lock held ---- */

/* Without the lock. 0, or why there is no answer; `found` is a file that comes with it, or -1. */
static int
ask(struct code_notes *notes, const struct look_request *request, int known, struct look_answer *answer, int *found,
    int stop)
{
	const uint64_t deadline_ns = monotonic_ns() + CODE_NOTES_PATIENCE_NS;
	const size_t size = offsetof(struct look_request, jitdump) + strlen(request->jitdump) + 1;
	struct looker *looker = notes->helper.shared;
	ssize_t got;
	int err;

	*found = -1;
	looker->asks = false;
	err = helper_send(&notes->helper, request, size, known);
	if (request->closes)
		close(known); /* the child has it, too */
	if (err)
		return err;
	got = helper_receive(&notes->helper, answer, sizeof(*answer), found, stop, deadline_ns);
	if (got == -ETIMEDOUT && looker->asks &&
	    silent_devices_add(&notes->silent, looker->major, looker->minor, &notes->helper))
		log_write(notes->log, LOG_LEVEL_WARNING,
		          "the file system of device %u:%u does not answer: code that processes make at run time, and "
		          "tell of there, stays without names",
		          looker->major, looker->minor);
	return got < 0 ? (int)got : 0;
}

static int
hand_over(struct code_notes *notes, int fd, int stop)
{
	static const struct look_request request = {.closes = true};
	struct look_answer answer;
	int found;

	return ask(notes, &request, fd, &answer, &found, stop);
}

static void
take_answer(struct code_notes *notes, struct entry *entry, const struct look_answer *answer, int found)
{
	entry->error = answer->error;
	entry->lives = answer->lives;
	entry->is_known |= answer->error != -EBUSY;
	take_file(notes, entry, found);
	if (!answer->error) {
		entry->size = answer->size;
		entry->time = answer->time;
	}
	/* what was told and read, and what will tell nothing any more */
	if ((!entry->lives || entry->is_past) && (entry->fd < 0 ? entry->is_known : is_unused(entry)))
		forget(notes, entry);
}

/* The lock is given up meanwhile; `entry` may be gone then. */
static void
look_at(struct code_notes *notes, struct entry *entry)
{
	struct look_request request = {.maker = entry->maker, .finds = entry->is_new || entry->fd < 0};
	const struct key key = entry->key;
	const int known = entry->fd; /* it is closed by this thread alone */
	struct look_answer answer;
	int found, err;

	if (entry->maker.jitdump)
		memcpy(request.jitdump, entry->maker.jitdump, strnlen(entry->maker.jitdump, PATH_MAX - 1));
	silent_devices_renew(&notes->silent, &notes->helper);
	request.silent = notes->silent;
	entry->is_new = entry->is_wanted = false;
	entry->due_ns = monotonic_ns() + (request.finds ? entry->wait_ns : WAIT_FIRST_NS);
	if (request.finds)
		entry->wait_ns = 2 * entry->wait_ns < WAIT_MAX_NS ? 2 * entry->wait_ns : WAIT_MAX_NS;
	entry->is_busy = notes->is_busy = true;
	pthread_mutex_unlock(&notes->lock);
	err = ask(notes, &request, known, &answer, &found, notes->stop_bell);
	pthread_mutex_lock(&notes->lock);
	notes->is_busy = false;
	entry = find(notes, key.pid, key.generation);
	if (entry) {
		entry->is_busy = false;
		entry->error = err;
	}
	if (entry && !err)
		take_answer(notes, entry, &answer, found);
	else if (found >= 0)
		let_go(notes, found);
	pthread_cond_broadcast(&notes->changed);
}

static void *
run(void *context)
{
	struct code_notes *notes = context;
	struct entry *entry;

	pthread_mutex_lock(&notes->lock);
	while (!notes->stop) {
		if (notes->gone_count > 0) {
			const int fd = notes->gone[--notes->gone_count];

			pthread_mutex_unlock(&notes->lock);
			(void)hand_over(notes, fd, notes->stop_bell);
			pthread_mutex_lock(&notes->lock);
		} else if ((entry = find_due(notes, notes->round_ns))) {
			look_at(notes, entry);
		} else {
			pthread_cond_wait(&notes->changed, &notes->lock);
		}
	}
	pthread_mutex_unlock(&notes->lock);
	return NULL;
}

/* ---- its life ---- */

static int
start(struct code_notes *notes, const char *procfs)
{
	struct looker *looker;
	int err;

	if (strlen(procfs) >= sizeof(looker->procfs))
		return -ENAMETOOLONG;
	notes->stop_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (notes->stop_bell < 0)
		return -errno;
	err = helper_share(&notes->helper, sizeof(*looker));
	if (err)
		return err;
	looker = notes->helper.shared;
	memcpy(looker->procfs, procfs, strlen(procfs));
	(void)helper_start(&notes->helper); /* now, while dcpid is small; else when it is needed */
	return -worker_thread_start(&notes->thread, run, notes);
}

static void
destroy(struct code_notes *notes)
{
	helper_fini(&notes->helper);
	pthread_mutex_destroy(&notes->lock);
	pthread_cond_destroy(&notes->changed);
	if (notes->stop_bell >= 0)
		close(notes->stop_bell);
	free(notes);
}

struct code_notes *
code_notes_new(const char *procfs, const struct log *log)
{
	struct code_notes *notes = calloc(1, sizeof(*notes));
	int err;

	if (!notes)
		return NULL;
	notes->log = log;
	notes->stop_bell = -1;
	helper_init(&notes->helper, look_for_all);
	pthread_mutex_init(&notes->lock, NULL);
	worker_condition_init(&notes->changed);
	err = start(notes, procfs);
	if (!err)
		return notes;
	destroy(notes);
	errno = -err;
	return NULL;
}

void
code_notes_free(struct code_notes *notes)
{
	const uint64_t one = 1;
	struct entry *entry, *next;
	int err = 0;

	if (!notes)
		return;
	pthread_mutex_lock(&notes->lock);
	notes->stop = true;
	pthread_cond_broadcast(&notes->changed);
	pthread_mutex_unlock(&notes->lock);
	if (write(notes->stop_bell, &one, sizeof(one)) < 0)
		log_write(notes->log, LOG_LEVEL_WARNING, "cannot stop the looking for maps of code");
	pthread_join(notes->thread, NULL);
	entry = notes->entries;
	HASH_CLEAR(hh, notes->entries);
	for (; entry; entry = next) {
		next = entry->hh.next;
		entry_free(notes, entry);
	}
	for (size_t i = 0; i < notes->gone_count; i++) {
		if (err)
			close(notes->gone[i]);
		else
			err = hand_over(notes, notes->gone[i], -1);
	}
	destroy(notes);
}

/* ---- what others ask ---- */

void
code_notes_ask(struct code_notes *notes, const struct image *image)
{
	struct entry *entry;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	if (entry && entry->fd < 0 && !entry->is_given)
		entry->is_wanted = true;
	pthread_mutex_unlock(&notes->lock);
}

static struct timespec
moment_of(uint64_t time_ns)
{
	return (struct timespec){.tv_sec = (time_t)(time_ns / SECOND_NS), .tv_nsec = (long)(time_ns % SECOND_NS)};
}

void
code_notes_settle(struct code_notes *notes, uint64_t timeout_ns)
{
	const uint64_t time_ns = monotonic_ns();
	const struct timespec until = moment_of(time_ns + timeout_ns);
	int err = 0;

	pthread_mutex_lock(&notes->lock);
	notes->round_ns = time_ns;
	if (find_due(notes, time_ns))
		pthread_cond_broadcast(&notes->changed);
	while ((notes->is_busy || find_due(notes, time_ns)) && !err)
		err = pthread_cond_timedwait(&notes->changed, &notes->lock, &until);
	pthread_mutex_unlock(&notes->lock);
}

bool
code_notes_tells(struct code_notes *notes, const struct image *image)
{
	struct entry *entry;
	bool tells;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	tells = entry && (entry->fd >= 0 || !entry->is_known);
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
	lives = entry && !entry->is_past && entry->lives;
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
	const uint64_t time_ns = monotonic_ns();
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

/* Until the entry was looked at, or has gone (NULL), or it was too long. */
static struct entry *
look_now(struct code_notes *notes, struct entry *entry)
{
	const struct timespec until = moment_of(monotonic_ns() + OPEN_WAIT_NS);
	const struct key key = entry->key;
	int err = 0;

	entry->is_wanted = true;
	pthread_cond_broadcast(&notes->changed);
	while (entry && (entry->is_wanted || entry->is_busy) && !err) {
		err = pthread_cond_timedwait(&notes->changed, &notes->lock, &until);
		entry = find(notes, key.pid, key.generation);
	}
	if (entry && err)
		entry->error = -ETIMEDOUT;
	return entry;
}

int
code_notes_open(struct code_notes *notes, const struct image *image, struct code_note *note)
{
	struct entry *entry;
	int err = -ENOENT;

	pthread_mutex_lock(&notes->lock);
	entry = find_image(notes, image);
	if (entry && entry->fd >= 0)
		entry = look_now(notes, entry);
	if (entry && entry->fd >= 0) {
		err = entry->error;
		note->fd = err ? -1 : fcntl(entry->fd, F_DUPFD_CLOEXEC, 3);
		if (!err && note->fd < 0)
			err = -errno;
	}
	if (!err) {
		note->base = entry->maker.base;
		note->size = (uint64_t)entry->size;
		note->is_changed = entry->read_size != entry->size || entry->read_time.tv_sec != entry->time.tv_sec ||
		                   entry->read_time.tv_nsec != entry->time.tv_nsec;
		entry->read_size = entry->size;
		entry->read_time = entry->time;
	}
	pthread_mutex_unlock(&notes->lock);
	return err;
}

void
code_notes_close(struct code_notes *notes, int fd)
{
	pthread_mutex_lock(&notes->lock);
	let_go(notes, fd);
	pthread_mutex_unlock(&notes->lock);
}

uint64_t
code_notes_cpu_ns(const struct code_notes *notes)
{
	return helper_cpu_ns(&notes->helper);
}
