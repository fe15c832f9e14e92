#include "collectord/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/helper.h"
#include "collectord/worker.h"
#include "process/hash.h"
#include "process/jit.h"

#define WAIT_FIRST_NS (10 * SECOND_NS)
#define WAIT_MAX_NS   (600 * SECOND_NS)
#define RENEWALS_MAX  64
#define KEEP_ENDED_NS (60 * SECOND_NS) /* after the end of a process its last samples are written by then */
#define OPEN_WAIT_NS  (2 * JIT_FILES_PATIENCE_NS)
#define FLUSH_WAIT_NS (SECOND_NS / 10)     /* for files that were looked for a moment ago */
#define CLOSING_MAX   (JIT_FILES_MAX + 16) /* all files, and those that are lent or on their way */

struct jit_files_key {
	uint64_t pid, generation;
};

/* A process with the code of one image. */
struct jit_files_entry {
	struct jit_files_key key;
	struct jit_process maker;
	int fd;                                 /* O_PATH; -1: it has no file */
	bool is_new;                            /* its file is to be looked for */
	bool is_wanted;                         /* somebody waits for it to be looked at */
	bool is_busy;                           /* it is being looked at */
	bool is_known;                          /* a look was answered */
	bool is_denied;                         /* jit_files_has_map() returned false */
	bool is_alive;                          /* at the last look */
	int error;                              /* of the last look, for the file */
	uint64_t wait_ns, due_ns;               /* of the next look */
	uint64_t used_ns;                       /* when somebody last asked for it */
	uint64_t renewed_wait_ns, renewable_ns; /* not to be renewed before */
	bool is_past;                           /* the process has another image now */
	struct timespec time, read_time;        /* of the file, at the last look, and when it was last opened */
	off_t size, read_size;
	UT_hash_handle hh; /* in the order of adding */
};

struct jit_renewal {
	uint32_t pid;
	uint64_t generation;
};

/* A packet for the child; with it comes the descriptor of the file that is known, if any. */
struct jit_look_request {
	struct jit_process maker; /* its jitdump follows */
	bool finds;               /* look for a file; the known one counts when no other is found */
	bool closes;              /* only close the descriptor */
	struct silent_devices silent;
	char jitdump[PATH_MAX]; /* "": none. Its last bytes are not sent */
};

/* The answer; with it comes the descriptor of the file that was found, if any. */
struct jit_look_answer {
	int error; /* -EBUSY: it is not known whether there is a file; 0: the size and time are the file's */
	bool is_alive;
	off_t size;
	struct timespec time;
};

/* Memory that the child shares with dcpid: the device that it waits for. */
struct jit_look_progress {
	_Atomic bool asks; /* the file system of this device */
	_Atomic uint32_t major, minor;
	char procfs[PATH_MAX];
};

struct jit_files {
	const struct log *log;
	struct helper helper;         /* the thread's */
	struct silent_devices silent; /* the thread's */

	struct worker_thread worker; /* its lock: everything below */
	bool is_busy;
	uint64_t round_ns; /* CLOCK_MONOTONIC: entries that are due by then are looked at */
	struct jit_files_entry *entries;
	size_t file_count;
	int closing[CLOSING_MAX]; /* files to be closed in the child */
	size_t closing_count;
	struct jit_renewal renewals[RENEWALS_MAX];
	size_t renewal_count;
};

/* ---- the child ---- */

struct jit_look {
	struct jit_look_progress *progress;
	struct jit_look_request request;
};

/* A mapped_file_step: the device of a file is known without asking its file system. */
static int
may_ask(void *context, int fd)
{
	struct jit_look *look = context;
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) != 0)
		return -errno;
	if (helper_devices_have(&look->request.silent, status.stx_dev_major, status.stx_dev_minor))
		return -EBUSY;
	look->progress->major = status.stx_dev_major;
	look->progress->minor = status.stx_dev_minor;
	look->progress->asks = true;
	return 0;
}

/* Answer the request. Returns the file that was found, or -1; `known` is the one that came with the request. */
static int
look_for_file(struct jit_look *look, int known, struct jit_look_answer *answer)
{
	struct jit_look_request *request = &look->request;
	int found = -ENOENT;
	struct stat status;

	request->maker.jitdump = request->jitdump[0] ? request->jitdump : NULL;
	if (request->finds)
		found = jit_file_find(look->progress->procfs, &request->maker, may_ask, look);
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
	answer->is_alive = jit_process_is_alive(look->progress->procfs, &request->maker);
	return found;
}

/* A helper_work. It closes descriptors after dcpid has closed its own, so that the last close is here. */
static void
serve_looks(int socket, void *shared)
{
	struct jit_look look = {.progress = shared};
	int known = -1, found = -1;

	for (;;) {
		struct jit_look_answer answer = {0};
		const size_t size = helper_next(socket, &look.request, sizeof(look.request), &known);

		if (found >= 0)
			close(found);
		found = -1;
		if (size <= offsetof(struct jit_look_request, jitdump))
			return;
		look.request.jitdump[sizeof(look.request.jitdump) - 1] = '\0';
		if (!look.request.closes)
			found = look_for_file(&look, known, &answer);
		else if (known >= 0)
			close(known);
		if (!helper_answer(socket, &answer, sizeof(answer), found))
			return;
		if (!look.request.closes && known >= 0)
			close(known);
	}
}

/* ---- the table; with the lock held ---- */

/* The last close of a file may wait for its file system: it is left to the child. */
static void
close_later(struct jit_files *files, int fd)
{
	if (files->closing_count == CLOSING_MAX) {
		close(fd);
		return;
	}
	files->closing[files->closing_count++] = fd;
	worker_notify(&files->worker);
}

static void
close_file(struct jit_files *files, struct jit_files_entry *entry)
{
	if (entry->fd < 0)
		return;
	close_later(files, entry->fd);
	entry->fd = -1;
	files->file_count--;
}

static void
entry_free(struct jit_files *files, struct jit_files_entry *entry)
{
	close_file(files, entry);
	free(entry->maker.jitdump);
	free(entry);
}

static void
forget(struct jit_files *files, struct jit_files_entry *entry)
{
	HASH_DELETE(hh, files->entries, entry);
	entry_free(files, entry);
}

static struct jit_files_entry *
find(struct jit_files *files, uint64_t pid, uint64_t generation)
{
	const struct jit_files_key key = {pid, generation};
	struct jit_files_entry *entry;

	HASH_FIND(hh, files->entries, &key, sizeof(key), entry);
	return entry;
}

static struct jit_files_entry *
find_image(struct jit_files *files, const struct image *image)
{
	struct jit_files_entry *entry = jit_is_image(image) ? find(files, image->inode, image->inode_generation) : NULL;

	if (entry)
		entry->used_ns = monotonic_ns();
	return entry;
}

/* The entry that was not asked for for longest; of those with a file, or of all. */
static struct jit_files_entry *
find_oldest(struct jit_files *files, bool with_file)
{
	struct jit_files_entry *oldest = NULL;

	for (struct jit_files_entry *entry = files->entries; entry; entry = entry->hh.next)
		if ((!with_file || entry->fd >= 0) && (!oldest || entry->used_ns < oldest->used_ns))
			oldest = entry;
	return oldest;
}

/*
 * `entry` replaces the image that its process had. A process that reuses memory every few seconds is renewed ever more
 * seldom: each renewal is one image more in the database.
 */
static void
replace_previous(struct jit_files *files, struct jit_files_entry *entry, uint64_t time_ns)
{
	entry->renewed_wait_ns = WAIT_FIRST_NS;
	for (struct jit_files_entry *before = files->entries; before; before = before->hh.next) {
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

static struct jit_files_entry *
add(struct jit_files *files, const struct jit_process *maker)
{
	struct jit_files_entry *entry;

	if (HASH_COUNT(files->entries) >= JIT_FILES_PROCESSES_MAX)
		forget(files, find_oldest(files, false));
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = (struct jit_files_key){maker->pid, maker->generation};
	entry->fd = -1;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a forgotten entry is in none of the table's lists */
	HASH_ADD(hh, files->entries, key, sizeof(entry->key), entry);
	if (!hash_added(entry)) {
		free(entry);
		return NULL;
	}
	entry->maker = *maker;
	entry->maker.jitdump = NULL;
	replace_previous(files, entry, monotonic_ns());
	return entry;
}

void
jit_files_add(struct jit_files *files, const struct jit_process *maker)
{
	struct jit_files_entry *entry;

	worker_lock(&files->worker);
	entry = find(files, maker->pid, maker->generation);
	if (!entry)
		entry = add(files, maker);
	if (entry) {
		free(entry->maker.jitdump);
		entry->maker = *maker;
		entry->is_new = true;
		entry->wait_ns = WAIT_FIRST_NS;
		entry->used_ns = monotonic_ns();
		worker_notify(&files->worker);
	} else {
		free(maker->jitdump);
	}
	worker_unlock(&files->worker);
}

static bool
push_renewal(struct jit_files *files, const struct jit_files_entry *entry)
{
	if (files->renewal_count == RENEWALS_MAX)
		return false;
	files->renewals[files->renewal_count++] = (struct jit_renewal){entry->maker.pid, entry->maker.generation};
	return true;
}

/* `fd` is the file that was found; -1: none. */
static void
set_file(struct jit_files *files, struct jit_files_entry *entry, int fd)
{
	if (fd < 0)
		return;
	if (files->file_count >= JIT_FILES_MAX && entry->fd < 0)
		close_file(files, find_oldest(files, true));
	close_file(files, entry);
	entry->fd = fd;
	entry->read_size = -1;
	files->file_count++;
	if (entry->is_denied && push_renewal(files, entry))
		entry->is_denied = false;
}

static bool
is_unused(const struct jit_files_entry *entry)
{
	return monotonic_ns() - entry->used_ns > KEEP_ENDED_NS;
}

/* An entry that is new, or that somebody waits for, or that is due; NULL: none. */
static struct jit_files_entry *
find_due(struct jit_files *files, uint64_t time_ns)
{
	for (struct jit_files_entry *entry = files->entries; entry; entry = entry->hh.next)
		if (entry->is_new || entry->is_wanted ||
		    (entry->due_ns <= time_ns && (entry->fd < 0 || is_unused(entry))))
			return entry;
	return NULL;
}

/* ---- the thread; with the lock held ---- */

/* Without the lock. 0, or why there is no answer; `found` is the file that came with it, or -1. */
static int
ask(struct jit_files *files, const struct jit_look_request *request, int known, struct jit_look_answer *answer,
    int *found, int stop)
{
	const uint64_t deadline_ns = monotonic_ns() + JIT_FILES_PATIENCE_NS;
	const size_t size = offsetof(struct jit_look_request, jitdump) + strlen(request->jitdump) + 1;
	struct jit_look_progress *progress = files->helper.shared;
	ssize_t got;
	int err;

	*found = -1;
	progress->asks = false;
	err = helper_send(&files->helper, request, size, known);
	if (request->closes)
		close(known); /* the child has it, and closes it last */
	if (err)
		return err;
	got = helper_receive(&files->helper, answer, sizeof(*answer), found, stop, deadline_ns);
	if (got == -ETIMEDOUT && progress->asks &&
	    helper_devices_add(&files->silent, progress->major, progress->minor, &files->helper))
		log_write(files->log, LOG_LEVEL_WARNING,
		          "the file system of device %u:%u does not answer: code that processes make at run time, and "
		          "tell of there, stays without names",
		          progress->major, progress->minor);
	return got < 0 ? (int)got : 0;
}

static int
close_in_child(struct jit_files *files, int fd, int stop)
{
	static const struct jit_look_request request = {.closes = true};
	struct jit_look_answer answer;
	int found;

	return ask(files, &request, fd, &answer, &found, stop);
}

static void
take_answer(struct jit_files *files, struct jit_files_entry *entry, const struct jit_look_answer *answer, int found)
{
	entry->error = answer->error;
	entry->is_alive = answer->is_alive;
	entry->is_known |= answer->error != -EBUSY;
	set_file(files, entry, found);
	if (!answer->error) {
		entry->size = answer->size;
		entry->time = answer->time;
	}
	/* a file that was read, and a process that will have none any more */
	if ((!entry->is_alive || entry->is_past) && (entry->fd < 0 ? entry->is_known : is_unused(entry)))
		forget(files, entry);
}

/* The lock is given up meanwhile; `entry` may be gone then. */
static void
look_at(struct jit_files *files, struct jit_files_entry *entry)
{
	struct jit_look_request request = {.maker = entry->maker, .finds = entry->is_new || entry->fd < 0};
	const struct jit_files_key key = entry->key;
	const int known = entry->fd; /* only this thread closes it */
	struct jit_look_answer answer;
	int found, err;

	if (entry->maker.jitdump)
		memcpy(request.jitdump, entry->maker.jitdump, strnlen(entry->maker.jitdump, PATH_MAX - 1));
	helper_devices_renew(&files->silent, &files->helper);
	request.silent = files->silent;
	entry->is_new = entry->is_wanted = false;
	entry->due_ns = monotonic_ns() + (request.finds ? entry->wait_ns : WAIT_FIRST_NS);
	if (request.finds)
		entry->wait_ns = 2 * entry->wait_ns < WAIT_MAX_NS ? 2 * entry->wait_ns : WAIT_MAX_NS;
	entry->is_busy = files->is_busy = true;
	worker_unlock(&files->worker);
	err = ask(files, &request, known, &answer, &found, files->worker.stop_bell);
	worker_lock(&files->worker);
	files->is_busy = false;
	entry = find(files, key.pid, key.generation);
	if (entry) {
		entry->is_busy = false;
		entry->error = err;
	}
	if (entry && !err)
		take_answer(files, entry, &answer, found);
	else if (found >= 0)
		close_later(files, found);
	worker_notify(&files->worker);
}

static void *
run(void *context)
{
	struct jit_files *files = context;
	struct jit_files_entry *entry;

	worker_lock(&files->worker);
	while (!files->worker.stop) {
		if (files->closing_count > 0) {
			const int fd = files->closing[--files->closing_count];

			worker_unlock(&files->worker);
			(void)close_in_child(files, fd, files->worker.stop_bell);
			worker_lock(&files->worker);
		} else if ((entry = find_due(files, files->round_ns))) {
			look_at(files, entry);
		} else {
			worker_wait(&files->worker);
		}
	}
	worker_unlock(&files->worker);
	return NULL;
}

/* ---- its life ---- */

struct jit_files *
jit_files_new(const char *procfs, const struct log *log)
{
	struct jit_files *files = calloc(1, sizeof(*files));
	struct jit_look_progress *progress;
	int err = -ENAMETOOLONG;

	if (!files)
		return NULL;
	files->log = log;
	helper_init(&files->helper, serve_looks);
	if (strlen(procfs) >= sizeof(progress->procfs))
		goto fail;
	err = helper_share(&files->helper, sizeof(*progress));
	if (err)
		goto fail;
	progress = files->helper.shared;
	memcpy(progress->procfs, procfs, strlen(procfs));
	(void)helper_start(&files->helper); /* now, while dcpid is small; if it fails, when it is needed */
	err = worker_start(&files->worker, run, files);
	if (!err)
		return files;
fail:
	helper_fini(&files->helper);
	free(files);
	errno = -err;
	return NULL;
}

void
jit_files_free(struct jit_files *files)
{
	struct jit_files_entry *entry, *next;
	int err = 0;

	if (!files)
		return;
	worker_stop(&files->worker);
	entry = files->entries;
	HASH_CLEAR(hh, files->entries);
	for (; entry; entry = next) {
		next = entry->hh.next;
		entry_free(files, entry);
	}
	for (size_t i = 0; i < files->closing_count; i++) {
		if (err)
			close(files->closing[i]);
		else
			err = close_in_child(files, files->closing[i], -1);
	}
	helper_fini(&files->helper);
	worker_fini(&files->worker);
	free(files);
}

/* ---- what other threads ask ---- */

void
jit_files_retry(struct jit_files *files, const struct image *image)
{
	struct jit_files_entry *entry;

	worker_lock(&files->worker);
	entry = find_image(files, image);
	if (entry && entry->fd < 0 && !entry->is_denied)
		entry->is_wanted = true;
	worker_unlock(&files->worker);
}

void
jit_files_wait(struct jit_files *files, uint64_t timeout_ns)
{
	const uint64_t time_ns = monotonic_ns();
	const uint64_t until_ns = time_ns + timeout_ns;
	int err = 0;

	worker_lock(&files->worker);
	files->round_ns = time_ns;
	if (find_due(files, time_ns))
		worker_notify(&files->worker);
	while ((files->is_busy || find_due(files, time_ns)) && !err)
		err = worker_wait_until(&files->worker, until_ns);
	worker_unlock(&files->worker);
}

bool
jit_files_has_map(struct jit_files *files, const struct image *image)
{
	struct jit_files_entry *entry;
	bool has_map;

	worker_lock(&files->worker);
	entry = find_image(files, image);
	has_map = entry && (entry->fd >= 0 || !entry->is_known);
	if (entry && !has_map)
		entry->is_denied = true;
	worker_unlock(&files->worker);
	return has_map;
}

bool
jit_files_is_alive(struct jit_files *files, const struct image *image)
{
	const struct jit_files_entry *entry;
	bool is_alive;

	worker_lock(&files->worker);
	entry = find(files, image->inode, image->inode_generation);
	is_alive = entry && !entry->is_past && entry->is_alive;
	worker_unlock(&files->worker);
	return is_alive;
}

bool
jit_files_take_renewal(struct jit_files *files, uint32_t *pid, uint64_t *generation)
{
	bool any;

	worker_lock(&files->worker);
	any = files->renewal_count > 0;
	if (any) {
		const struct jit_renewal *renewal = &files->renewals[--files->renewal_count];

		*pid = renewal->pid;
		*generation = renewal->generation;
	}
	worker_unlock(&files->worker);
	return any;
}

bool
jit_files_renew(struct jit_files *files, const struct image *image)
{
	const uint64_t time_ns = monotonic_ns();
	struct jit_files_entry *entry;
	bool renews;

	worker_lock(&files->worker);
	entry = find_image(files, image);
	renews = entry && time_ns >= entry->renewable_ns && push_renewal(files, entry);
	if (renews)
		entry->renewable_ns = UINT64_MAX;
	worker_unlock(&files->worker);
	return renews;
}

/* Have the entry looked at and wait for that. NULL: it has gone; its error is -ETIMEDOUT when it took too long. */
static struct jit_files_entry *
look_now(struct jit_files *files, struct jit_files_entry *entry)
{
	const uint64_t until_ns = monotonic_ns() + OPEN_WAIT_NS;
	const struct jit_files_key key = entry->key;
	int err = 0;

	entry->is_wanted = true;
	worker_notify(&files->worker);
	while (entry && (entry->is_wanted || entry->is_busy) && !err) {
		err = worker_wait_until(&files->worker, until_ns);
		entry = find(files, key.pid, key.generation);
	}
	if (entry && err)
		entry->error = -ETIMEDOUT;
	return entry;
}

int
jit_files_open(struct jit_files *files, const struct image *image, struct jit_open_file *file)
{
	struct jit_files_entry *entry;
	int err = -ENOENT;

	worker_lock(&files->worker);
	entry = find_image(files, image);
	if (entry && entry->fd >= 0)
		entry = look_now(files, entry);
	if (entry && entry->fd >= 0) {
		err = entry->error;
		file->fd = err ? -1 : fcntl(entry->fd, F_DUPFD_CLOEXEC, 3);
		if (!err && file->fd < 0)
			err = -errno;
	}
	if (!err) {
		file->base = entry->maker.base;
		file->size = (uint64_t)entry->size;
		file->is_changed = entry->read_size != entry->size || entry->read_time.tv_sec != entry->time.tv_sec ||
		                   entry->read_time.tv_nsec != entry->time.tv_nsec;
		entry->read_size = entry->size;
		entry->read_time = entry->time;
	}
	worker_unlock(&files->worker);
	return err;
}

void
jit_files_close(struct jit_files *files, int fd)
{
	worker_lock(&files->worker);
	close_later(files, fd);
	worker_unlock(&files->worker);
}

uint64_t
jit_files_cpu_ns(const struct jit_files *files)
{
	return helper_cpu_ns(&files->helper);
}

/* ---- the flusher's thread ---- */

/* Images that were written before keep their own number. */
static void
join_nameless(struct jit_files *files, const struct flush *flush, bool is_named)
{
	static const struct image nameless = {.kind = IMAGE_ANON, .path = "[anon]"};
	const struct image **images = flush->images;

	for (uint32_t i = flush->first_image; is_named && i < flush->image_end; i++)
		if (jit_is_image(images[i]))
			jit_files_retry(files, images[i]);
	jit_files_wait(files, FLUSH_WAIT_NS);
	for (uint32_t i = flush->first_image; i < flush->image_end; i++)
		if (jit_is_image(images[i]) && (!is_named || !jit_files_has_map(files, images[i])))
			images[i] = &nameless;
}

static void
join_those_without_file(void *context, const struct flush *flush)
{
	join_nameless(context, flush, true);
}

static void
join_all(void *context, const struct flush *flush)
{
	join_nameless(context, flush, false);
}

struct flush_hook
jit_files_hook(struct jit_files *files, bool is_named)
{
	return (struct flush_hook){.context = files, .before = is_named ? join_those_without_file : join_all};
}
