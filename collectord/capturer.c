#include "collectord/capturer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "collectord/capture_account.h"
#include "collectord/capture_child.h"
#include "collectord/kernel_text.h"
#include "collectord/machine.h"
#include "collectord/sampled_blocks.h"
#include "process/image_table.h"
#include "profile/kernel_names.h"

#define AGAIN_FIRST_NS  (10 * SECOND_NS)
#define AGAIN_MAX_NS    (3600 * SECOND_NS)
#define AGAIN_DOUBLINGS 9
#define SHARE           8 /* of the overhead's limit */
#define ADVANCE_S       4
#define ADVANCE_MIN_NS  (SECOND_NS / 20)
#define CREDIT          2                 /* times the advance, for volatile images */
#define START_NS        (60 * SECOND_NS)  /* in which the advance is the start's */
#define POOR_NS         SECOND_NS         /* at least, between two looks when there is nothing to spend */
#define RESULTS_MAX     ((size_t)4 << 20) /* bytes that wait for the flusher */
#define STORED_MAX      16                /* results after one flush: each is a transaction */
#define EXTENTS_MAX     64                /* images whose extent is looked up after one flush */
#define TRIES_MAX       4
#define FULL_WAIT_NS    (600 * SECOND_NS)
#define YOUNG_NS        (30 * SECOND_NS) /* after an image was seen first: a build may be run and deleted by then */
#define DRAIN_STEP_NS   (SECOND_NS / 10)
#define GRANULE_SIZE    (CAPTURED_BLOCK_SIZE / 64) /* bytes: a request has 64 granules of a block */
#define SHOWN_SIZE      1024

/* An image that gets samples. */
struct capturer_image {
	const struct image *image;
	struct image_place place; /* the process that ran it last */
	uint64_t size;            /* of its file; 0: not known */
	uint64_t text_size;       /* of a module; 0: not known */
	bool is_wanted;           /* of a kind that can be captured at all */
	bool is_volatile;         /* its file may soon be gone */
	bool is_packaged;         /* its file stays until a package is upgraded, or the machine starts again */
	bool has_names;           /* the database has, or is about to have, names and layout */
	bool has_extent;          /* `known` is what the database has */
	bool is_busy;             /* being captured, and the result not stored yet */
	bool is_answered;         /* that result has come */
	bool is_given_up;
	bool is_roots;     /* its file is (process/mapped_file.h) */
	bool is_outranked; /* the database has what root's file of that build-id gave: this one may add nothing */
	uint32_t *known;   /* blocks that the database has */
	size_t known_count;
	uint64_t samples;
	uint64_t fresh;   /* samples in granules that were not requested */
	size_t granules;  /* that have samples */
	size_t requested; /* of them, those that were requested */
	unsigned rounds;
	uint64_t seen_ns;  /* CLOCK_MONOTONIC: first */
	uint64_t due_ns;   /* likewise: not before */
	uint64_t asked_ns; /* likewise, when it was captured last, or seen first */
};

/* The images of one session. */
struct capturer_session {
	struct capturer_session *next;
	const struct image_table *images;
	struct capturer_image *entries; /* by number */
	size_t count, capacity;
	struct sampled_blocks blocks;
};

/* The outcome of a run, until it is stored. */
struct capturer_result {
	struct capturer_result *next;
	struct image image; /* its path is `path` */
	char *path;
	uint32_t number; /* that it had in its session */
	bool had_extent; /* the request said what there was */
	bool is_whole;   /* requested as if there were nothing: neither names nor text */
	bool had_known;  /* there was text */
	bool had_places; /* and places of samples */
	bool was_packaged;
	unsigned tries;    /* to store it */
	uint64_t spent_ns; /* that it cost up to now */
	struct capture_work work;
	struct capture_outcome outcome;
};

struct capturer {
	struct capturer_options options;
	struct byte_writer request;      /* the thread's, as the next */
	struct capturer_result *running; /* what the process fills in; NULL: none runs */

	/* the lock of options.thread: everything below */
	struct capturer_session *sessions;
	struct capturer_result *results; /* the oldest first */
	size_t result_bytes;
	int64_t allowance_ns;           /* processor time that may be spent; debts are paid by waiting */
	struct capture_account account; /* of packages */
	uint64_t cpu_ns;                /* that all runs used */
	uint64_t refilled_ns;           /* CLOCK_MONOTONIC */
	uint64_t began_ns;              /* likewise */
	int64_t advanced_ns;            /* the most that was spent in advance while it started */
	uint64_t full_until_ns;
	uint64_t taken, failed, bytes;
	uint64_t asked_until_ns; /* CLOCK_MONOTONIC: the thread asks again by then; 0: images cannot make it ask earlier
	                          */
	bool has_unpaid;         /* images wait for more samples to pay for them */
	bool has_due;            /* a flush has made something due: the thread is woken at the end of the hook */
	bool kernel_is_closed;
	bool lacks_extents; /* of more images than one flush looks up */
	bool is_full_said, is_refused_said;
};

/* ---- sessions and their images; with the lock held ---- */

/* NULL: there is none. */
static struct capturer_session *
find_session(struct capturer *capturer, const struct image_table *images)
{
	struct capturer_session *session = capturer->sessions;

	while (session && session->images != images)
		session = session->next;
	return session;
}

static void
free_session(struct capturer_session *session)
{
	for (size_t i = 0; i < session->count; i++)
		free(session->entries[i].known);
	free(session->entries);
	sampled_blocks_fini(&session->blocks);
	free(session);
}

static bool
is_same_image(const struct image *a, const struct image *b)
{
	struct image_identity one, other;
	const bool has_one = image_identity(a, &one), has_other = image_identity(b, &other);

	if (has_one && has_other)
		return memcmp(&one, &other, sizeof(one)) == 0;
	return has_one == has_other && a->kind == b->kind && strcmp(a->path, b->path) == 0;
}

/* The entry of the result's image and its session, or NULL: the session has ended meanwhile. */
static struct capturer_image *
find_entry(struct capturer *capturer, const struct capturer_result *result, struct capturer_session **found)
{
	for (struct capturer_session *session = capturer->sessions; session; session = session->next) {
		*found = session;
		if (result->number < session->count &&
		    is_same_image(session->entries[result->number].image, &result->image))
			return &session->entries[result->number];
		/* another session has the image under another number */
		for (size_t i = 0; i < session->count; i++)
			if (is_same_image(session->entries[i].image, &result->image))
				return &session->entries[i];
	}
	return NULL;
}

/* The image with its build-id, if it is a file whose build-id is known by now: so the database has it. */
static struct image
complete_image(const struct capturer *capturer, const struct image *image)
{
	struct image complete = *image;

	if (capturer->options.files)
		(void)file_ids_complete(capturer->options.files, &complete);
	return complete;
}

/* The request failed: all places of the entry are new again. */
static void
reset_places(struct capturer_session *session, struct capturer_image *entry)
{
	sampled_blocks_reset(&session->blocks, (uint32_t)(entry - session->entries));
	entry->fresh = entry->samples > CAPTURE_MORE_SAMPLES ? entry->samples : CAPTURE_MORE_SAMPLES;
	entry->requested = 0;
}

/* Set when the entry may be captured next. */
static void
postpone(struct capturer_image *entry)
{
	const unsigned doublings = entry->rounds < AGAIN_DOUBLINGS ? entry->rounds : AGAIN_DOUBLINGS;
	const uint64_t again_ns = AGAIN_FIRST_NS << doublings;

	entry->rounds++;
	entry->asked_ns = machine_clock_ns(CLOCK_MONOTONIC);
	entry->due_ns = entry->asked_ns + (again_ns < AGAIN_MAX_NS ? again_ns : AGAIN_MAX_NS);
}

/* Whether an image's file may soon be gone while the database lacks its names, or its text where samples are. */
static bool
is_at_risk(const struct capturer_image *entry)
{
	return entry->is_volatile && !entry->is_outranked &&
	       (!entry->has_names || (entry->fresh && !entry->known_count));
}

/* ---- the event loop: images with samples ---- */

static bool
is_wanted(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_USER:
		return image->path[0] == '/';
	case IMAGE_VDSO:
		return image->build_id_size > 0;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return true;
	default:
		return false;
	}
}

/*
 * Is the file that was mapped another than ours of that path? A container has paths of its own, and an upgrade leaves
 * the old file without one. A file of ours that runs is in the kernel's cache of names: only that is looked at, so that
 * no file system that does not answer is waited for; a path that is not there is another's. Without an inode, or before
 * linux 5.12, it is not known: false. *size is set when the file is ours.
 */
static bool
is_elsewhere(const struct image *image, uint64_t *size)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
	struct statx status;
	int fd, err;

	if (image->inode == 0)
		return false;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, image->path, &how, sizeof(how));
	if (fd < 0)
		return errno != EINVAL && errno != ENOSYS && errno != EPERM;
	err = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &status);
	close(fd);
	if (err == 0 && status.stx_ino == image->inode)
		*size = status.stx_size;
	/* Devices cannot be compared: the kernel's records and stat have different ones for a subvolume of btrfs. */
	return err == 0 && status.stx_ino != image->inode;
}

/* Does the file lie outside the directories of packages? *size as is_elsewhere() sets it. */
static bool
is_volatile(const struct image *image, uint64_t *size)
{
	static const char *const directories[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/snap/", "/nix/"};

	if (image->kind != IMAGE_USER || image_is_memory_file(image)) /* it may hold no program */
		return false;
	if (image->deleted)
		return true;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strncmp(image->path, directories[i], strlen(directories[i])) == 0)
			return is_elsewhere(image, size);
	return true;
}

/* Without memory, the next call adds them. */
static void
add_entries(struct capturer_session *session, size_t count)
{
	struct capturer_image *grown = array_grow(session->entries, &session->capacity, count, sizeof(*grown));
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (!grown)
		return;
	session->entries = grown;
	for (; session->count < count; session->count++) {
		const struct image *image = image_table_get(session->images, (uint32_t)session->count);
		struct capturer_image *entry = &grown[session->count];

		*entry = (struct capturer_image){
			.image = image,
			.is_wanted = is_wanted(image),
			.seen_ns = now_ns,
			.asked_ns = now_ns,
		};
		entry->is_volatile = is_volatile(image, &entry->size);
		entry->is_packaged = !entry->is_volatile && !image_is_memory_file(image) && image->kind == IMAGE_USER;
	}
}

void
capturer_track_images(struct capturer *capturer, const struct image_table *images,
                      const struct attribution *attribution)
{
	const size_t count = image_table_count(images);
	struct capturer_session *session;
	bool is_new;

	capture_thread_lock(capturer->options.thread);
	session = find_session(capturer, images);
	if (!session) {
		session = calloc(1, sizeof(*session));
		if (!session) {
			capture_thread_unlock(capturer->options.thread);
			return;
		}
		session->images = images;
		session->next = capturer->sessions;
		capturer->sessions = session;
	}
	is_new = session->count < count;
	if (is_new)
		add_entries(session, count);
	for (size_t i = 0; i < session->count; i++)
		session->entries[i].place = attribution_place(attribution, (uint32_t)i);
	if (is_new)
		capture_thread_notify(capturer->options.thread);
	capture_thread_unlock(capturer->options.thread);
}

/* ---- the budget; with the lock held ---- */

static int64_t
advance_ns(const struct capturer_options *options)
{
	const uint64_t limit_ns = options->overhead_limit_ppm * options->cpu_count * 1000; /* a second */

	return (int64_t)(ADVANCE_S * limit_ns > ADVANCE_MIN_NS ? ADVANCE_S * limit_ns : ADVANCE_MIN_NS);
}

/* The debt at which volatile images are not captured any more. */
static int64_t
credit_ns(const struct capturer *capturer)
{
	return -CREDIT * advance_ns(&capturer->options);
}

/* Nanoseconds of processor time in one of the clock. */
static double
share(const struct capturer_options *options)
{
	return (double)options->overhead_limit_ppm / 1e6 * (double)options->cpu_count / SHARE;
}

/* What may be spent grows with the time. */
static void
refill(struct capturer *capturer, uint64_t now_ns)
{
	const struct capturer_options *options = &capturer->options;
	const int64_t most = advance_ns(options);

	capturer->allowance_ns += (int64_t)((double)(now_ns - capturer->refilled_ns) * share(options));
	capturer->refilled_ns = now_ns;
	if (capturer->allowance_ns > most)
		capturer->allowance_ns = most;
}

/* When there will be more than `least_ns` to spend: until then nothing is looked at. */
static uint64_t
affordable_ns(const struct capturer *capturer, uint64_t now_ns, int64_t least_ns)
{
	const double lacking_ns = (double)(least_ns - capturer->allowance_ns) / share(&capturer->options);

	if (lacking_ns > AGAIN_MAX_NS)
		return now_ns + AGAIN_MAX_NS;
	return now_ns + (lacking_ns > POOR_NS ? (uint64_t)lacking_ns : POOR_NS);
}

/* Charge what a run cost. While dcpid starts, what time has not paid for yet is charged to the start. */
static void
spend(struct capturer *capturer, struct capturer_result *result, uint64_t cost_ns)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	int64_t advanced_ns;

	result->spent_ns += cost_ns;
	refill(capturer, now_ns);
	capturer->allowance_ns -= (int64_t)cost_ns;
	if (result->was_packaged)
		capture_account_spend(&capturer->account, cost_ns);
	advanced_ns = advance_ns(&capturer->options) - capturer->allowance_ns;
	if (now_ns - capturer->began_ns < START_NS && advanced_ns > capturer->advanced_ns)
		capturer->advanced_ns = advanced_ns;
}

static struct capture_work
entry_work(const struct capturer_image *entry)
{
	return (struct capture_work){
		.file_size = entry->size,
		.granule_count = entry->granules - entry->requested,
	};
}

/* Is there anything to spend, and room for a result? */
static bool
may_capture(const struct capturer *capturer, uint64_t now_ns)
{
	return capturer->allowance_ns > credit_ns(capturer) && capturer->result_bytes < RESULTS_MAX &&
	       now_ns >= capturer->full_until_ns;
}

/* ---- the choice; with the lock held ---- */

enum capturer_rank {
	RANK_NONE, /* nothing is to be captured */
	RANK_VOLATILE,
	RANK_NAMES,
	RANK_MORE,
};

/* How soon it is the entry's turn: the lower the sooner. */
static enum capturer_rank
rank(const struct capturer *capturer, const struct capturer_image *entry)
{
	if (!entry->is_wanted || entry->is_busy || entry->is_given_up || entry->is_outranked)
		return RANK_NONE;
	if (capturer->kernel_is_closed && image_is_of_kernel(entry->image))
		return RANK_NONE;
	if (is_at_risk(entry))
		return RANK_VOLATILE;
	if (!entry->has_extent)
		return RANK_NONE;
	if (!entry->has_names)
		return RANK_NAMES;
	return entry->fresh ? RANK_MORE : RANK_NONE;
}

/*
 * When the entry may be captured; UINT64_MAX for as long as samples have not paid for an image of a package: packages
 * keep their files, so these burden neither the start nor a short run, and cost little beside sampling in a long one.
 * Some samples at new places can wait, of any image: there are always some, of dcpid itself as well.
 */
static uint64_t
entry_due_ns(const struct capturer *capturer, const struct capturer_image *entry)
{
	const struct capture_work work = entry_work(entry);
	const uint64_t first_ns = capture_account_affords(&capturer->account, &work)
	                                  ? capturer->began_ns + capturer->options.packages_wait_ns
	                                  : UINT64_MAX;
	const bool is_first = !entry->has_names || entry->known_count == 0;
	const bool is_enough =
		is_first ? entry->fresh >= CAPTURE_FIRST_SAMPLES
			 : entry->fresh >= CAPTURE_MORE_SAMPLES && entry->fresh >= entry->samples / CAPTURE_MORE_PART;
	const bool can_wait = !is_enough && (entry->has_names || !is_at_risk(entry));
	const uint64_t due_ns = can_wait ? entry->asked_ns + AGAIN_MAX_NS : entry->due_ns;

	return entry->is_packaged && due_ns < first_ns ? first_ns : due_ns;
}

/*
 * The next entry to be captured, of those that can be paid for, with its session. NULL: none before *due_ns;
 * UINT64_MAX: until something changes.
 */
static struct capturer_image *
choose(struct capturer *capturer, uint64_t now_ns, struct capturer_session **chosen_session, uint64_t *due_ns)
{
	const enum capturer_rank worst = capturer->allowance_ns > 0 ? RANK_MORE : RANK_VOLATILE;
	struct capturer_image *chosen = NULL;
	enum capturer_rank best = RANK_NONE;

	*due_ns = UINT64_MAX;
	capturer->has_unpaid = false;
	for (struct capturer_session *session = capturer->sessions; session; session = session->next)
		for (size_t i = 0; i < session->count; i++) {
			struct capturer_image *entry = &session->entries[i];
			const enum capturer_rank value = rank(capturer, entry);
			uint64_t entry_ns;

			if (value == RANK_NONE)
				continue;
			entry_ns = entry_due_ns(capturer, entry);
			capturer->has_unpaid |= entry_ns == UINT64_MAX;
			if (entry_ns <= now_ns && value > worst)
				entry_ns = affordable_ns(capturer, now_ns, 0);
			if (entry_ns > now_ns) {
				*due_ns = entry_ns < *due_ns ? entry_ns : *due_ns;
			} else if (!chosen || value < best || (value == best && entry->samples > chosen->samples)) {
				best = value;
				chosen = entry;
				*chosen_session = session;
			}
		}
	return chosen;
}

/* The entry may have become due: the thread is to be woken if it would ask for work only later. */
static void
note_due(struct capturer *capturer, const struct capturer_image *entry)
{
	uint64_t due_ns;

	if (rank(capturer, entry) == RANK_NONE)
		return;
	due_ns = entry_due_ns(capturer, entry);
	capturer->has_unpaid |= due_ns == UINT64_MAX;
	capturer->has_due |= due_ns < capturer->asked_until_ns;
}

/* ---- one run; with the lock held ---- */

static void
free_result(struct capturer_result *result)
{
	capture_outcome_fini(&result->outcome);
	free(result->path);
	free(result);
}

/* Text of a module ends with its last function, as the names in the database have it; 0: not known. */
static uint64_t
place_end(const struct capturer_image *entry)
{
	if (entry->image->kind != IMAGE_MODULE)
		return entry->place.end;
	return entry->text_size > 0 && entry->place.start > 0 ? entry->place.start + entry->text_size : 0;
}

/* Encode the request for the entry, and make the result that it will fill. NULL: no memory. */
static struct capturer_result *
begin_result(struct capturer *capturer, struct capturer_session *session, struct capturer_image *entry)
{
	struct request_place *places = malloc(REQUEST_PLACES_MAX * sizeof(*places)); /* few of them are used */
	struct capturer_result *result = calloc(1, sizeof(*result));
	struct capture_request request = {
		.image = complete_image(capturer, entry->image),
		.pid = entry->place.pid,
		.start = entry->place.start,
		.end = place_end(entry),
		.names = !entry->has_names,
		.places = places,
		.known = entry->known,
		.known_count = entry->known_count,
	};

	if (!places || !result)
		goto fail;
	result->path = strdup(entry->image->path);
	if (!result->path)
		goto fail;
	request.place_count = sampled_blocks_request(&session->blocks, (uint32_t)(entry - session->entries), places,
	                                             REQUEST_PLACES_MAX);
	result->image = *entry->image;
	result->image.path = result->path;
	result->number = (uint32_t)(entry - session->entries);
	result->had_extent = entry->has_extent;
	result->had_known = entry->known_count > 0;
	result->is_whole = request.names && !result->had_known;
	result->had_places = request.place_count > 0;
	result->was_packaged = entry->is_packaged;
	result->work = entry_work(entry);
	writer_reset(&capturer->request);
	if (capture_request_encode(&request, &capturer->request))
		goto fail;
	free(places);
	entry->is_busy = true;
	entry->fresh = 0;
	entry->requested = entry->granules;
	return result;
fail:
	free(places);
	if (result)
		free_result(result);
	return NULL;
}

/* Errors that another try will not do away with. */
static bool
is_hopeless(int err)
{
	return err == -DCPI_EDAMAGED || err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG || err == -EFBIG ||
	       err == -E2BIG;
}

static void
say_failure(const struct capturer *capturer, const struct capturer_result *result)
{
	const struct capture_outcome *outcome = &result->outcome;
	char shown[SHOWN_SIZE];

	escape_text(result->path, shown, sizeof(shown));
	if (outcome->error == -ECHILD && outcome->signal)
		log_write(capturer->options.log, LOG_LEVEL_WARNING,
		          "%s: its names and text are not captured: " CAPTURE_PROGRAM " died of it (%s)", shown,
		          strsignal(outcome->signal));
	else
		log_write(capturer->options.log, LOG_LEVEL_WARNING, "%s: its names and text are not captured: %s",
		          shown, outcome->error == -ECHILD ? CAPTURE_PROGRAM " failed" : error_text(outcome->error));
}

static void
note_failure(struct capturer *capturer, const struct capturer_result *result)
{
	struct capturer_session *session;
	struct capturer_image *entry = find_entry(capturer, result, &session);
	const int err = result->outcome.error;

	if (!entry)
		return;
	entry->is_busy = false;
	postpone(entry);
	if (image_is_of_kernel(entry->image) && (err == -EACCES || err == -EPERM || err == -ENODEV)) {
		log_write(capturer->options.log, LOG_LEVEL_INFO, "the kernel's code is not captured: /proc/kcore: %s",
		          error_text(err));
		capturer->kernel_is_closed = true;
		return;
	}
	if (err == -EPERM && !capturer->is_refused_said) {
		log_write(capturer->options.log, LOG_LEVEL_WARNING,
		          CAPTURE_PROGRAM " cannot lock itself up (%s): names and text of programs are not captured",
		          error_text(err));
		capturer->is_refused_said = true;
	}
	if (is_hopeless(err)) {
		entry->is_given_up = true;
		capturer->failed++;
		say_failure(capturer, result);
		return;
	}
	reset_places(session, entry);
}

/* The entry stays busy until the result is stored. Takes the result over. */
static void
note_success(struct capturer *capturer, struct capturer_result *result)
{
	struct capturer_result **last = &capturer->results;
	struct capturer_session *session;
	struct capturer_image *entry = find_entry(capturer, result, &session);

	capturer->taken++;
	if (entry)
		entry->is_answered = true;
	while (*last)
		last = &(*last)->next;
	*last = result;
	capturer->result_bytes += result->outcome.size;
}

/* A capture_user's: the lock is given up while a process is started, or the kernel's text is read. */
static bool
begin_capture(void *context, uint64_t now_ns, struct capture_child *child, uint64_t *due_ns)
{
	struct capturer *capturer = context;
	struct capturer_session *session = NULL;
	struct capturer_image *entry = NULL;
	struct capturer_result *result;

	refill(capturer, now_ns);
	capturer->asked_until_ns = 0;
	if (may_capture(capturer, now_ns)) {
		entry = choose(capturer, now_ns, &session, due_ns);
		capturer->asked_until_ns = entry ? 0 : *due_ns;
	} else { /* unless a result is stored, when it may again */
		*due_ns = affordable_ns(capturer, now_ns, credit_ns(capturer));
		if (*due_ns < capturer->full_until_ns)
			*due_ns = capturer->full_until_ns;
	}
	if (!entry)
		return false;
	result = begin_result(capturer, session, entry);
	if (!result) {
		postpone(entry);
		*due_ns = now_ns;
		return false;
	}
	capturer->running = result;
	capture_thread_unlock(capturer->options.thread);
	if (image_is_of_kernel(&result->image)) {
		const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		kernel_text_run("/proc", &capturer->request, &result->outcome);
		child->own_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
		child->has_ended = true;
	} else {
		capture_child_start(child, capture_thread_program(capturer->options.thread), &capturer->request, -1,
		                    &result->outcome);
	}
	capture_thread_lock(capturer->options.thread);
	return true;
}

/* A capture_user's. */
static void
end_capture(void *context, const struct capture_child *child)
{
	struct capturer *capturer = context;
	struct capturer_result *result = capturer->running;

	capturer->running = NULL;
	capturer->cpu_ns += image_is_of_kernel(&result->image) ? child->own_ns : result->outcome.cpu_ns;
	spend(capturer, result, result->outcome.cpu_ns + child->own_ns);
	if (result->outcome.error) {
		note_failure(capturer, result);
		free_result(result);
	} else {
		note_success(capturer, result);
	}
}

/* ---- its life ---- */

struct capturer *
capturer_new(const struct capturer_options *options)
{
	struct capturer *capturer = calloc(1, sizeof(*capturer));

	if (!capturer)
		return NULL;
	capturer->options = *options;
	capturer->request = (struct byte_writer)BYTE_WRITER_INIT;
	capturer->allowance_ns = advance_ns(options);
	capture_account_init(&capturer->account, advance_ns(options));
	capturer->began_ns = capturer->refilled_ns = machine_clock_ns(CLOCK_MONOTONIC);
	capture_thread_add(options->thread, &(struct capture_user){capturer, begin_capture, end_capture});
	return capturer;
}

void
capturer_free(struct capturer *capturer)
{
	if (!capturer)
		return;
	while (capturer->sessions) {
		struct capturer_session *session = capturer->sessions;

		capturer->sessions = session->next;
		free_session(session);
	}
	while (capturer->results) {
		struct capturer_result *result = capturer->results;

		capturer->results = result->next;
		free_result(result);
	}
	writer_fini(&capturer->request);
	free(capturer);
}

/* Is a volatile image being captured, or about to be? With the lock held. */
static bool
is_urgent(const struct capturer *capturer, uint64_t now_ns)
{
	for (const struct capturer_session *session = capturer->sessions; session; session = session->next)
		for (size_t i = 0; i < session->count; i++) {
			const struct capturer_image *entry = &session->entries[i];

			if (!entry->is_wanted || entry->is_given_up || entry->is_answered)
				continue;
			if (entry->is_busy && entry->is_volatile)
				return true; /* it is not at risk: its requested places are not fresh any more */
			if (is_at_risk(entry) && entry_due_ns(capturer, entry) <= now_ns &&
			    may_capture(capturer, now_ns))
				return true;
		}
	return false;
}

void
capturer_drain(struct capturer *capturer, uint64_t timeout_ns)
{
	const uint64_t until_ns = machine_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	uint64_t now_ns;

	capture_thread_lock(capturer->options.thread);
	while ((now_ns = machine_clock_ns(CLOCK_MONOTONIC)) < until_ns && is_urgent(capturer, now_ns))
		(void)capture_thread_wait_until(capturer->options.thread,
		                                until_ns < now_ns + DRAIN_STEP_NS ? until_ns : now_ns + DRAIN_STEP_NS);
	capture_thread_unlock(capturer->options.thread);
}

void
capturer_stats(struct capturer *capturer, struct capturer_stats *stats)
{
	capture_thread_lock(capturer->options.thread);
	*stats = (struct capturer_stats){
		.taken = capturer->taken,
		.failed = capturer->failed,
		.cpu_ns = capturer->cpu_ns,
		.bytes = capturer->bytes,
		.limit = capturer->options.limit,
		.is_full = capturer->full_until_ns > machine_clock_ns(CLOCK_MONOTONIC),
		.kernel_is_closed = capturer->kernel_is_closed,
	};
	for (const struct capturer_session *session = capturer->sessions; session; session = session->next)
		for (size_t i = 0; i < session->count; i++)
			stats->waiting += rank(capturer, &session->entries[i]) != RANK_NONE;
	capture_thread_unlock(capturer->options.thread);
}

uint64_t
capturer_start_cpu_ns(struct capturer *capturer)
{
	uint64_t start_cpu_ns;

	capture_thread_lock(capturer->options.thread);
	start_cpu_ns = (uint64_t)capturer->advanced_ns;
	capture_thread_unlock(capturer->options.thread);
	return start_cpu_ns;
}

bool
capturer_expects_flush(struct capturer *capturer)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool expects;

	capture_thread_lock(capturer->options.thread);
	expects = capturer->result_bytes > RESULTS_MAX / 2 || capturer->lacks_extents;
	for (const struct capturer_session *session = capturer->sessions; session && !expects; session = session->next)
		for (size_t i = 0; i < session->count && !expects; i++) {
			const struct capturer_image *entry = &session->entries[i];

			expects = entry->is_volatile && entry->is_wanted && !entry->is_given_up &&
			          now_ns - entry->seen_ns < YOUNG_NS;
		}
	capture_thread_unlock(capturer->options.thread);
	return expects;
}

/* ---- the flusher's hook ---- */

static void
end_session(void *context, const struct image_table *images)
{
	struct capturer *capturer = context;
	struct capturer_session **at;

	capture_thread_lock(capturer->options.thread);
	for (at = &capturer->sessions; *at && (*at)->images != images;)
		at = &(*at)->next;
	if (*at) {
		struct capturer_session *session = *at;

		*at = session->next;
		free_session(session);
	}
	capture_thread_unlock(capturer->options.thread);
}

/* Everything must be captured again. */
static void
begin_database(void *context)
{
	struct capturer *capturer = context;

	capture_thread_lock(capturer->options.thread);
	for (struct capturer_session *session = capturer->sessions; session; session = session->next)
		for (size_t i = 0; i < session->count; i++) {
			struct capturer_image *entry = &session->entries[i];

			free(entry->known);
			entry->known = NULL;
			entry->known_count = 0;
			entry->has_extent = entry->has_names = entry->is_outranked = false;
			entry->rounds = 0;
			entry->due_ns = 0;
			entry->requested = 0;
			sampled_blocks_reset(&session->blocks, (uint32_t)i);
		}
	capture_thread_notify(capturer->options.thread);
	capture_thread_unlock(capturer->options.thread);
}

/*
 * Note in the entry what the database has of its image; takes the extent's blocks over. Of files with one build-id,
 * root's counts: if this file is root's, what others gave counts as nothing, and is captured anew.
 */
static void
set_extent(struct capturer_image *entry, struct captured_extent *extent)
{
	const enum image_kind kind = entry->image->kind;

	if (entry->is_roots && !extent->is_roots) {
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
	}
	entry->is_outranked = kind == IMAGE_USER && extent->is_roots && !entry->is_roots;
	free(entry->known);
	entry->known = extent->blocks;
	entry->known_count = extent->count < REQUEST_KNOWN_MAX ? extent->count : REQUEST_KNOWN_MAX;
	entry->has_extent = true;
	entry->has_names = extent->has_layout && (extent->has_symbols || image_is_of_kernel(entry->image));
	memset(extent, 0, sizeof(*extent));
}

/* Look up what the database has of images that are in it by now. */
static void
read_extents(struct capturer *capturer, struct profile *profile, const struct image_table *images)
{
	/* the session's table grows meanwhile, on the event loop's thread; its images stay */
	const struct image *wanted[EXTENTS_MAX];
	uint32_t numbers[EXTENTS_MAX], in_database;
	struct capturer_session *session;
	size_t count = 0;

	capture_thread_lock(capturer->options.thread);
	session = find_session(capturer, images);
	for (size_t i = 0; session && i < session->count && count < EXTENTS_MAX; i++) {
		const struct capturer_image *entry = &session->entries[i];

		if (entry->is_wanted && !entry->has_extent && !entry->is_busy) {
			wanted[count] = entry->image;
			numbers[count++] = (uint32_t)i;
		}
	}
	capturer->lacks_extents = count == EXTENTS_MAX;
	capture_thread_unlock(capturer->options.thread);
	for (size_t i = 0; i < count; i++) {
		const struct image image = complete_image(capturer, wanted[i]);
		struct captured_extent extent;
		struct capturer_image *entry;
		uint64_t text_size = 0;

		if (profile_find_image(profile, &image, &in_database) ||
		    profile_get_extent(profile, in_database, &extent))
			continue;
		if (image.kind == IMAGE_MODULE)
			text_size = kernel_names_text_size(profile, &image);
		capture_thread_lock(capturer->options.thread);
		entry = &session->entries[numbers[i]];
		if (!entry->is_busy) {
			entry->is_roots = image.is_roots;
			entry->text_size = text_size;
			set_extent(entry, &extent);
			note_due(capturer, entry);
		}
		capture_thread_unlock(capturer->options.thread);
		free(extent.blocks);
	}
}

static void
note_samples(struct capturer *capturer, const struct flush *flush)
{
	const struct tally_entry *entries = flush->entries;
	const size_t count = flush->entry_count, first_sum = flush->first_sum;
	struct capturer_session *session;
	uint64_t samples = 0;
	size_t next;

	for (size_t i = 0; i < count; i++)
		samples += entries[i].event < first_sum ? entries[i].count : 0;
	capture_thread_lock(capturer->options.thread);
	capturer->has_due |= capture_account_earn(&capturer->account, samples) && capturer->has_unpaid;
	session = find_session(capturer, flush->table);
	for (size_t first = 0; session && first < count; first = next) {
		const uint32_t image = entries[first].image;
		struct capturer_image *entry = image < session->count ? &session->entries[image] : NULL;
		const bool is_noted = entry && entry->is_wanted && !entry->is_given_up;
		const uint64_t fresh = entry ? entry->fresh : 0;
		uint64_t granule = UINT64_MAX; /* of the last sample */
		bool is_new = false;

		for (next = first; next < count && entries[next].image == image; next++) {
			const struct tally_entry *sampled = &entries[next];

			if (!is_noted || sampled->event >= first_sum)
				continue;
			entry->samples += sampled->count;
			if (sampled->offset / GRANULE_SIZE != granule) {
				const enum sampled_granule seen =
					sampled_blocks_add(&session->blocks, image, sampled->offset);

				granule = sampled->offset / GRANULE_SIZE;
				entry->granules += seen == GRANULE_NEW;
				is_new = seen != GRANULE_REQUESTED &&
				         !(image_is_of_kernel(entry->image) &&
				           kernel_text_is_known((uint32_t)(sampled->offset / CAPTURED_BLOCK_SIZE),
				                                entry->known, entry->known_count));
			}
			if (is_new)
				entry->fresh += sampled->count;
		}
		if (is_noted && entry->fresh > fresh)
			note_due(capturer, entry);
	}
	capture_thread_unlock(capturer->options.thread);
}

/*
 * If the request did not say which text the database has, names are stored again, but blocks are not, so that none is
 * there twice. What root's file gave, and replaces what others gave, has to be whole: a result that was requested as an
 * addition is refused, and everything is requested again. 0, -ENOENT when the image itself is not in the database yet,
 * -EDQUOT, ...
 */
static int
store_result(struct capturer *capturer, struct profile *profile, struct capturer_result *result,
             struct captured_extent *extent, bool *is_refused)
{
	const struct image image = complete_image(capturer, &result->image);
	struct captured *captured = &result->outcome.reply.captured;
	const bool is_roots = captured->owner == CAPTURED_ROOTS;
	uint32_t number;
	int err;

	*is_refused = false;
	err = profile_find_image(profile, &image, &number);
	if (!err && (!result->had_known || is_roots)) {
		bool is_empty, replaces;

		err = profile_get_extent(profile, number, extent);
		is_empty = extent->count == 0 && !extent->has_symbols && !extent->has_layout;
		replaces = !err && is_roots && !extent->is_roots && !is_empty;
		if (replaces && !result->is_whole) {
			*is_refused = true;
			return 0;
		}
		*is_refused =
			!err && !replaces && !result->had_known && extent->count > 0 && captured->parcel_count > 0;
		free(extent->blocks);
		memset(extent, 0, sizeof(*extent));
		if (*is_refused)
			captured->parcel_count = 0;
	}
	if (!err && (captured->symbols.data || captured->layout.data || captured->parcel_count > 0))
		err = profile_put_captured(profile, number, captured, capturer->options.limit);
	return err && err != -EEXIST ? err : profile_get_extent(profile, number, extent);
}

/* With the lock held. */
static void
note_stored(struct capturer *capturer, const struct capturer_result *result, int err, struct captured_extent *extent,
            bool is_refused)
{
	const enum captured_owner owner = result->outcome.reply.captured.owner;
	struct capturer_session *session;
	struct capturer_image *entry = find_entry(capturer, result, &session);

	if (err == -EDQUOT) {
		capturer->full_until_ns = machine_clock_ns(CLOCK_MONOTONIC) + FULL_WAIT_NS;
		if (!capturer->is_full_said)
			log_write(capturer->options.log, LOG_LEVEL_WARNING,
			          "captured names and text have reached their limit: no more is taken until images "
			          "without samples have gone; capture_limit_mib in dcpid.conf raises it");
		capturer->is_full_said = true;
	}
	if (!entry)
		return;
	entry->is_busy = entry->is_answered = false;
	postpone(entry);
	if (!err) {
		if (owner != CAPTURED_ANYBODYS)
			entry->is_roots = owner == CAPTURED_ROOTS;
		set_extent(entry, extent);
		/* The first request came before any place of samples was known: now its text is wanted. */
		if (!result->had_places && !entry->known_count)
			entry->due_ns = 0;
	}
	if (err || is_refused)
		reset_places(session, entry);
	if (is_refused)
		entry->due_ns = 0;
}

static void
store_results(struct capturer *capturer, struct profile *profile)
{
	struct capturer_result *result, *next, *kept = NULL, **last_kept = &kept;
	size_t count = 0;

	capture_thread_lock(capturer->options.thread);
	result = capturer->results;
	capturer->results = NULL;
	capture_thread_unlock(capturer->options.thread);
	for (; result && count < STORED_MAX; result = next, count++) {
		const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct captured_extent extent = {0};
		bool is_refused;
		const int err = store_result(capturer, profile, result, &extent, &is_refused);
		const uint64_t took_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;

		next = result->next;
		result->tries++;
		capture_thread_lock(capturer->options.thread);
		spend(capturer, result, took_ns);
		/* An image is in the database before its result, unless it was sampled in the last moments. */
		if (err == -ENOENT && !result->had_extent && result->tries < TRIES_MAX) {
			capture_thread_unlock(capturer->options.thread);
			result->next = NULL;
			*last_kept = result;
			last_kept = &result->next;
			continue;
		}
		if (result->was_packaged)
			capture_account_learn(&capturer->account, &result->work, result->spent_ns);
		note_stored(capturer, result, err, &extent, is_refused);
		capturer->result_bytes -= result->outcome.size;
		capturer->has_due = true;
		capture_thread_unlock(capturer->options.thread);
		free(extent.blocks);
		free_result(result);
	}
	/* what is left goes before results that came meanwhile */
	*last_kept = result;
	while (*last_kept)
		last_kept = &(*last_kept)->next;
	capture_thread_lock(capturer->options.thread);
	*last_kept = capturer->results;
	capturer->results = kept;
	capture_thread_unlock(capturer->options.thread);
}

static void
after_flush(void *context, struct profile *profile, const struct flush *flush)
{
	struct capturer *capturer = context;
	uint64_t bytes = 0;
	bool is_known;

	store_results(capturer, profile);
	read_extents(capturer, profile, flush->table);
	note_samples(capturer, flush);
	is_known = profile_captured_bytes(profile, &bytes) == 0;
	capture_thread_lock(capturer->options.thread);
	if (is_known)
		capturer->bytes = bytes;
	if (capturer->has_due) /* only now that the places of samples are known, which a request is to have */
		capture_thread_notify(capturer->options.thread);
	capturer->has_due = false;
	capture_thread_unlock(capturer->options.thread);
}

struct flush_hook
capturer_hook(struct capturer *capturer)
{
	return (struct flush_hook){
		.context = capturer,
		.after = after_flush,
		.begin_database = begin_database,
		.end_session = end_session,
	};
}
