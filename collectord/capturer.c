#include "collectord/capturer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "collectord/kernel_text.h"
#include "collectord/machine.h"
#include "collectord/worker_thread.h"
#include "process/image_table.h"

#define SECOND_NS       UINT64_C(1000000000)
#define AGAIN_FIRST_NS  (10 * SECOND_NS)
#define AGAIN_MAX_NS    (3600 * SECOND_NS)
#define AGAIN_DOUBLINGS 9
#define SHARE           8  /* of the overhead's limit */
#define SAMPLE_PAYS_NS  10 /* for what packages installed: a fifth of what perf record takes for a sample */
#define NAMES_NS_A_BYTE 12 /* of a file's size: libc takes 10, cc1 of gcc 12, which is 33 MB, 23 */
#define ADVANCE_S       4
#define ADVANCE_MIN_NS  (SECOND_NS / 20)
#define CREDIT          2                 /* times the advance, for what may soon be gone */
#define START_NS        (60 * SECOND_NS)  /* in which the advance is the start's */
#define POOR_NS         SECOND_NS         /* at least, between two looks when there is nothing to spend */
#define RESULTS_MAX     ((size_t)4 << 20) /* bytes that wait for the flusher */
#define SHOWN_SIZE      1024

static bool
is_same_image(const struct image *a, const struct image *b)
{
	struct image_identity one, other;
	const bool has_one = image_identity(a, &one), has_other = image_identity(b, &other);

	if (has_one && has_other)
		return memcmp(&one, &other, sizeof(one)) == 0;
	return has_one == has_other && a->kind == b->kind && strcmp(a->path, b->path) == 0;
}

struct capture_entry *
capturer_find_entry(struct capturer *capturer, const struct image *image, struct capture_set **found)
{
	for (struct capture_set *set = capturer->sets; set; set = set->next)
		for (size_t i = 0; i < set->count; i++)
			if (is_same_image(set->entries[i].image, image)) {
				*found = set;
				return &set->entries[i];
			}
	return NULL;
}

void
capturer_want_again(struct capture_set *set, struct capture_entry *entry)
{
	place_table_unask(&set->places, (uint32_t)(entry - set->entries));
	entry->fresh = entry->samples > CAPTURE_MORE_SAMPLES ? entry->samples : CAPTURE_MORE_SAMPLES;
}

void
capturer_postpone(struct capture_entry *entry, uint64_t now_ns)
{
	const unsigned doublings = entry->rounds < AGAIN_DOUBLINGS ? entry->rounds : AGAIN_DOUBLINGS;
	const uint64_t again_ns = AGAIN_FIRST_NS << doublings;

	entry->rounds++;
	entry->asked_ns = now_ns;
	entry->due_ns = now_ns + (again_ns < AGAIN_MAX_NS ? again_ns : AGAIN_MAX_NS);
}

bool
capture_entry_is_at_risk(const struct capture_entry *entry)
{
	return entry->is_volatile && !entry->is_outranked &&
	       (!entry->has_names || (entry->fresh && !entry->known_count));
}

enum rank {
	RANK_VOLATILE = 1,
	RANK_NAMES,
	RANK_MORE,
};

/* How soon it is an entry's turn: the less the sooner; 0: nothing is wanted of it. */
static unsigned
rank(const struct capturer *capturer, const struct capture_entry *entry)
{
	if (!entry->is_wanted || entry->is_busy || entry->is_given_up || entry->is_outranked)
		return 0;
	if (capturer->kernel_is_closed && image_is_of_kernel(entry->image))
		return 0;
	if (capture_entry_is_at_risk(entry))
		return RANK_VOLATILE;
	if (!entry->has_extent)
		return 0;
	if (!entry->has_names)
		return RANK_NAMES;
	return entry->fresh ? RANK_MORE : 0;
}

static int64_t
advance_ns(const struct capturer_options *options)
{
	const uint64_t limit_ns = options->overhead_limit_ppm * options->cpu_count * 1000; /* a second */

	return (int64_t)(ADVANCE_S * limit_ns > ADVANCE_MIN_NS ? ADVANCE_S * limit_ns : ADVANCE_MIN_NS);
}

/* Have samples paid for what a package installed? For more than can be saved, when that has been, and it is owed. */
static bool
is_paid(const struct capturer *capturer, const struct capture_entry *entry)
{
	const int64_t expected_ns = entry->has_names ? 0 : (int64_t)(entry->size * NAMES_NS_A_BYTE);

	return capturer->saved_ns > 0 &&
	       (capturer->saved_ns >= expected_ns || capturer->saved_ns >= advance_ns(&capturer->options));
}

/*
 * When `entry` may be asked about, UINT64_MAX for as long as samples have not paid for it: packages keep their files,
 * so these do not burden the start, nor a short run, and cost little beside sampling in a long one. Of any image, some
 * samples in code that nobody was asked about can wait: there are always some, of dcpid itself as well.
 */
static uint64_t
entry_due_ns(const struct capturer *capturer, const struct capture_entry *entry)
{
	const uint64_t first_ns =
		is_paid(capturer, entry) ? capturer->began_ns + capturer->options.packages_wait_ns : UINT64_MAX;
	const bool is_enough =
		entry->fresh >= CAPTURE_MORE_SAMPLES && entry->fresh >= entry->samples / CAPTURE_MORE_PART;
	const bool can_wait = entry->has_names && entry->known_count > 0 && !is_enough;
	const uint64_t due_ns = can_wait ? entry->asked_ns + AGAIN_MAX_NS : entry->due_ns;

	return entry->is_packaged && due_ns < first_ns ? first_ns : due_ns;
}

/* Nanoseconds of processor time in one of the clock. */
static double
share(const struct capturer_options *options)
{
	return (double)options->overhead_limit_ppm / 1e6 * (double)options->cpu_count / SHARE;
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

/* The next to be asked about, of those that may be paid for; NULL: none before *due_ns, UINT64_MAX: until something
 * changes. */
static struct capture_entry *
choose(const struct capturer *capturer, uint64_t now_ns, struct capture_set **chosen_set, uint64_t *due_ns)
{
	const unsigned worst = capturer->allowance_ns > 0 ? RANK_MORE : RANK_VOLATILE;
	struct capture_entry *chosen = NULL;
	unsigned best = UINT_MAX;

	*due_ns = UINT64_MAX;
	for (struct capture_set *set = capturer->sets; set; set = set->next)
		for (size_t i = 0; i < set->count; i++) {
			struct capture_entry *entry = &set->entries[i];
			const unsigned value = rank(capturer, entry);
			uint64_t entry_ns;

			if (value == 0)
				continue;
			entry_ns = entry_due_ns(capturer, entry);
			if (entry_ns <= now_ns && value > worst)
				entry_ns = affordable_ns(capturer, now_ns, 0);
			if (entry_ns > now_ns) {
				*due_ns = entry_ns < *due_ns ? entry_ns : *due_ns;
			} else if (!chosen || value < best || (value == best && entry->samples > chosen->samples)) {
				best = value;
				chosen = entry;
				*chosen_set = set;
			}
		}
	return chosen;
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

/* What a run cost. At the start, what is not paid for by then is the start's, and not of the time in which it was. */
static void
spend(struct capturer *capturer, const struct capture_result *result, uint64_t own_ns)
{
	const uint64_t cost_ns = result->outcome.cpu_ns + own_ns;
	int64_t advanced_ns;

	capturer->cpu_ns += image_is_of_kernel(&result->image) ? own_ns : result->outcome.cpu_ns;
	capturer->allowance_ns -= (int64_t)cost_ns;
	if (result->was_packaged)
		capturer->saved_ns -= (int64_t)cost_ns;
	advanced_ns = advance_ns(&capturer->options) - capturer->allowance_ns;
	if (machine_clock_ns(CLOCK_MONOTONIC) - capturer->began_ns < START_NS && advanced_ns > capturer->advanced_ns)
		capturer->advanced_ns = advanced_ns;
}

static void
wait_until(struct capturer *capturer, uint64_t monotonic_ns)
{
	const struct timespec at = {
		.tv_sec = (time_t)(monotonic_ns / SECOND_NS),
		.tv_nsec = (long)(monotonic_ns % SECOND_NS),
	};

	pthread_cond_timedwait(&capturer->changed, &capturer->lock, &at); /* UINT64_MAX is in 500 years */
}

struct image
capturer_complete(const struct capturer *capturer, const struct image *image)
{
	struct image complete = *image;

	if (capturer->options.files)
		(void)file_ids_complete(capturer->options.files, &complete);
	return complete;
}

/* Text of a module ends with its last function, as the names in the database tell; 0: not known. */
static uint64_t
place_end(const struct capture_entry *entry)
{
	if (entry->image->kind != IMAGE_MODULE)
		return entry->place.end;
	return entry->text_size > 0 && entry->place.start > 0 ? entry->place.start + entry->text_size : 0;
}

/* Encode the question about `entry`, and take down whose answer will come. With the lock held. */
static struct capture_result *
ask(const struct capturer *capturer, struct capture_set *set, struct capture_entry *entry, struct byte_writer *writer)
{
	struct request_place *places = malloc(REQUEST_PLACES_MAX * sizeof(*places)); /* few of them are used */
	struct capture_result *result = calloc(1, sizeof(*result));
	struct capture_request request = {
		.image = capturer_complete(capturer, entry->image),
		.pid = entry->place.pid,
		.start = entry->place.start,
		.end = place_end(entry),
		.names = !entry->has_names,
		.places = places,
		.known = entry->known,
		.known_count = entry->known_count,
	};

	if (result)
		result->path = strdup(entry->image->path);
	if (places && result && result->path) {
		request.place_count =
			place_table_ask(&set->places, (uint32_t)(entry - set->entries), places, REQUEST_PLACES_MAX);
		result->image = *entry->image;
		result->image.path = result->path;
		result->had_extent = entry->has_extent;
		result->had_known = entry->known_count > 0;
		result->is_whole = request.names && !result->had_known;
		result->had_places = request.place_count > 0;
		result->was_packaged = entry->is_packaged;
		if (capture_request_encode(&request, writer) == 0) {
			free(places);
			entry->is_busy = true;
			entry->fresh = 0;
			return result;
		}
	}
	free(places);
	if (result)
		free(result->path);
	free(result);
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
say_failure(const struct capturer *capturer, const struct capture_result *result)
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

/* With the lock held. */
static void
note_failure(struct capturer *capturer, const struct capture_result *result)
{
	struct capture_set *set;
	struct capture_entry *entry = capturer_find_entry(capturer, &result->image, &set);
	const int err = result->outcome.error;

	if (!entry)
		return;
	entry->is_busy = false;
	capturer_postpone(entry, machine_clock_ns(CLOCK_MONOTONIC));
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
	capturer_want_again(set, entry);
}

void
capture_result_free(struct capture_result *result)
{
	capture_outcome_fini(&result->outcome);
	free(result->path);
	free(result);
}

/* With the lock held. The entry stays busy until the answer is stored. */
static void
note_success(struct capturer *capturer, const struct capture_result *result)
{
	struct capture_set *set;
	struct capture_entry *entry = capturer_find_entry(capturer, &result->image, &set);

	capturer->taken++;
	if (entry)
		entry->is_answered = true;
}

static void
append_result(struct capturer *capturer, struct capture_result *result)
{
	struct capture_result **last = &capturer->results;

	while (*last)
		last = &(*last)->next;
	*last = result;
	capturer->result_bytes += result->outcome.size;
}

/* With the lock held; gives it up while the process runs. */
static void
run_one(struct capturer *capturer, struct capture_set *set, struct capture_entry *entry)
{
	struct byte_writer writer = BYTE_WRITER_INIT;
	struct capture_result *result = ask(capturer, set, entry, &writer);
	uint64_t began_ns, own_ns;

	if (!result) {
		capturer_postpone(entry, machine_clock_ns(CLOCK_MONOTONIC));
		writer_fini(&writer);
		return;
	}
	pthread_mutex_unlock(&capturer->lock);
	began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (image_is_of_kernel(&result->image))
		kernel_text_run("/proc", &writer, &result->outcome);
	else
		capture_child_run(capturer->options.program, &writer, capturer->stop_bell, &result->outcome);
	writer_fini(&writer);
	own_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	pthread_mutex_lock(&capturer->lock);
	spend(capturer, result, own_ns);
	if (result->outcome.error) {
		note_failure(capturer, result);
		capture_result_free(result);
	} else {
		note_success(capturer, result);
		append_result(capturer, result);
	}
	pthread_cond_broadcast(&capturer->changed);
}

/* What may soon be gone is asked about on credit. */
static int64_t
credit_ns(const struct capturer *capturer)
{
	return -CREDIT * advance_ns(&capturer->options);
}

/* When may_ask() is to be tried again, unless something changes before. */
static uint64_t
try_again_ns(const struct capturer *capturer, uint64_t now_ns)
{
	const uint64_t again_ns = affordable_ns(capturer, now_ns, credit_ns(capturer));

	return again_ns < capturer->full_until_ns ? capturer->full_until_ns : again_ns;
}

/* Is there anything that could be paid for, and stored? */
static bool
may_ask(const struct capturer *capturer, uint64_t now_ns)
{
	return capturer->allowance_ns > credit_ns(capturer) && capturer->result_bytes < RESULTS_MAX &&
	       now_ns >= capturer->full_until_ns;
}

static void *
run(void *context)
{
	struct capturer *capturer = context;

	pthread_mutex_lock(&capturer->lock);
	while (!capturer->stop) {
		const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
		struct capture_entry *entry = NULL;
		struct capture_set *set = NULL;
		uint64_t due_ns;

		refill(capturer, now_ns);
		due_ns = try_again_ns(capturer, now_ns);
		if (may_ask(capturer, now_ns))
			entry = choose(capturer, now_ns, &set, &due_ns);
		if (entry)
			run_one(capturer, set, entry);
		else
			wait_until(capturer, due_ns);
	}
	pthread_mutex_unlock(&capturer->lock);
	return NULL;
}

void
capturer_pay(struct capturer *capturer, uint64_t samples)
{
	const int64_t most_ns = advance_ns(&capturer->options);

	capturer->saved_ns += (int64_t)(samples * SAMPLE_PAYS_NS);
	if (capturer->saved_ns > most_ns)
		capturer->saved_ns = most_ns;
}

struct capturer *
capturer_new(const struct capturer_options *options)
{
	struct capturer *capturer = calloc(1, sizeof(*capturer));
	int err;

	if (!capturer)
		return NULL;
	capturer->options = *options;
	capturer->allowance_ns = advance_ns(options);
	capturer->began_ns = capturer->refilled_ns = machine_clock_ns(CLOCK_MONOTONIC);
	capturer->stop_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (capturer->stop_bell < 0) {
		free(capturer);
		return NULL;
	}
	pthread_mutex_init(&capturer->lock, NULL);
	worker_condition_init(&capturer->changed);
	err = worker_thread_start(&capturer->thread, run, capturer);
	if (!err)
		return capturer;
	close(capturer->stop_bell);
	free(capturer);
	errno = err;
	return NULL;
}

void
capturer_free(struct capturer *capturer)
{
	const uint64_t one = 1;

	if (!capturer)
		return;
	pthread_mutex_lock(&capturer->lock);
	capturer->stop = true;
	pthread_cond_broadcast(&capturer->changed);
	pthread_mutex_unlock(&capturer->lock);
	if (write(capturer->stop_bell, &one, sizeof(one)) < 0)
		log_write(capturer->options.log, LOG_LEVEL_WARNING, "cannot stop " CAPTURE_PROGRAM);
	pthread_join(capturer->thread, NULL);
	while (capturer->sets)
		capturer_forget(capturer, capturer->sets->images);
	while (capturer->results) {
		struct capture_result *next = capturer->results->next;

		capture_result_free(capturer->results);
		capturer->results = next;
	}
	pthread_mutex_destroy(&capturer->lock);
	pthread_cond_destroy(&capturer->changed);
	close(capturer->stop_bell);
	free(capturer);
}

/* Is something volatile asked about, or about to be? With the lock held. */
static bool
is_urgent(const struct capturer *capturer, uint64_t now_ns)
{
	for (const struct capture_set *set = capturer->sets; set; set = set->next)
		for (size_t i = 0; i < set->count; i++) {
			const struct capture_entry *entry = &set->entries[i];

			if (!entry->is_wanted || entry->is_given_up || entry->is_answered)
				continue;
			if (entry->is_busy && entry->is_volatile)
				return true; /* what it was asked for is not fresh any more */
			if (capture_entry_is_at_risk(entry) && entry->due_ns <= now_ns && may_ask(capturer, now_ns))
				return true;
		}
	return false;
}

void
capturer_hurry(struct capturer *capturer, uint64_t timeout_ns)
{
	const uint64_t until_ns = machine_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	uint64_t now_ns;

	pthread_mutex_lock(&capturer->lock);
	while ((now_ns = machine_clock_ns(CLOCK_MONOTONIC)) < until_ns && is_urgent(capturer, now_ns))
		wait_until(capturer, until_ns < now_ns + SECOND_NS / 10 ? until_ns : now_ns + SECOND_NS / 10);
	pthread_mutex_unlock(&capturer->lock);
}

void
capturer_stats(struct capturer *capturer, struct capturer_stats *stats)
{
	pthread_mutex_lock(&capturer->lock);
	*stats = (struct capturer_stats){
		.taken = capturer->taken,
		.failed = capturer->failed,
		.cpu_ns = capturer->cpu_ns,
		.bytes = capturer->bytes,
		.limit = capturer->options.limit,
		.is_full = capturer->full_until_ns > machine_clock_ns(CLOCK_MONOTONIC),
		.kernel_is_closed = capturer->kernel_is_closed,
	};
	for (const struct capture_set *set = capturer->sets; set; set = set->next)
		for (size_t i = 0; i < set->count; i++)
			stats->waiting += rank(capturer, &set->entries[i]) != 0;
	pthread_mutex_unlock(&capturer->lock);
}

uint64_t
capturer_start_cpu_ns(struct capturer *capturer)
{
	uint64_t start_cpu_ns;

	pthread_mutex_lock(&capturer->lock);
	start_cpu_ns = (uint64_t)capturer->advanced_ns;
	pthread_mutex_unlock(&capturer->lock);
	return start_cpu_ns;
}
