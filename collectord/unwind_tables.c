#include "collectord/unwind_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "collectord/capture_child.h"
#include "collectord/machine.h"
#include "profile/captured.h"
#include "unwind/table.h"

#define SHARE          4  /* of the limit on overhead */
#define ADVANCE_S      50 /* of that limit: for the start, which needs the tables of all that runs */
#define ADVANCE_MIN_NS (SECOND_NS / 4)
#define MAKE_COST_NS   3000000 /* of a table, about, and of each byte of code */
#define BYTE_COST_NS   8
#define START_NS       (60 * SECOND_NS)  /* what is spent in it counts as the start's */
#define POOR_NS        (SECOND_NS / 4)   /* between two looks when there is not enough to spend */
#define LOOKUP_NS      (SECOND_NS / 5)   /* for which a table is not made because it may be in the database */
#define LOOKUPS_MAX    64                /* in the database, at once */
#define STORED_MAX     16                /* after one flush: each is a transaction */
#define TRIES_MAX      4                 /* to store a table; to make one, while stacks wait for it */
#define AGAIN_NS       SECOND_NS         /* after a try that failed; after n of them, n times as long */
#define FULL_WAIT_NS   (600 * SECOND_NS) /* retention may make room */
#define VALUES_MAX     ((size_t)8 << 20) /* bytes that wait for the flusher */
#define USE_NS         (10 * SECOND_NS)  /* after that time, a frame counts half as much as a new one */
#define TAKES_PLACE    2 /* how many times as much use a table must be as those that are given back for it */
#define SOON_NS        (2 * SECOND_NS) /* what was asked for longer ago is not waited for */
#define LOOKS_SOON     10              /* likewise, of files */
#define SHOWN_SIZE     1024

enum table_stage {
	STAGE_NONE,   /* nobody needs it */
	STAGE_LOOKUP, /* to be looked up in the database */
	STAGE_MAKE,   /* to be made */
	STAGE_MAKING,
	STAGE_READY, /* for the event loop: the result is in `made`, or there is none */
	STAGE_LOADED,
	STAGE_WITHOUT, /* the file gives none */
};

/* An image that stacks had frames in. */
struct unwind_image {
	struct image image; /* its path is `path` */
	char *path;

	/* the event loop's */
	struct unwind_table *table; /* NULL: there is none, or it is not there yet */
	size_t memory;              /* that the table takes or took; 0: not known yet */
	bool is_others;             /* it was made, of a file that is not root's */
	uint64_t uses;              /* frames that were in it, old ones halved */
	uint32_t missing;           /* frames since the last sync that lacked it */
	uint32_t number;            /* in the session; UINT32_MAX: not seen in it yet */

	/* the lock of options.thread */
	enum table_stage stage;
	uint64_t wanted;   /* frames that lacked it */
	uint64_t asked_ns; /* CLOCK_MONOTONIC: since when it is to be looked up or made */
	bool is_looked_up; /* now, by the flusher */
	struct image_place place;
	struct unwind_table *made;
	unsigned tries;
	uint64_t due_ns; /* CLOCK_MONOTONIC: not to be asked for or made before */
	uint8_t *value;  /* to be stored; NULL: none */
	size_t value_size;
	enum captured_owner owner;
	unsigned store_tries;
};

/* What is known of an image by its number in the session. */
struct unwind_slot {
	bool is_known;
	uint64_t round; /* of the last look whether its build-id is known by now */
	unsigned looks;
	enum unwind_code code;
	struct unwind_image *image; /* of code that is unwound by a table; NULL: there is no room for it */
};

struct unwind_tables {
	struct unwind_tables_options options;
	struct byte_writer request; /* the thread's, as the next two */
	struct capture_outcome outcome;
	struct unwind_image *making;

	/* the event loop's */
	const struct image_table *session;
	struct unwind_slot *slots; /* by number */
	size_t slot_capacity;
	uint64_t round;     /* counts syncs */
	uint64_t halved_ns; /* CLOCK_MONOTONIC */
	size_t memory;
	uint64_t evicted;
	bool has_missing;
	bool is_crowded;      /* which is in the log */
	bool waits_for_files; /* since the last sync, a frame's file had not been looked at */

	/* the lock of options.thread: all below; an image stays where it is, only the event loop adds and frees some */
	struct unwind_image **images;
	size_t image_count, image_capacity;
	bool has_ready;    /* some are STAGE_READY */
	size_t made_bytes; /* of tables that the event loop has not taken yet */
	bool is_put_off;   /* lookups wait until it has */
	size_t value_bytes;
	int64_t allowance_ns; /* processor time that may be spent; debts are paid by waiting */
	uint64_t refilled_ns; /* CLOCK_MONOTONIC */
	uint64_t began_ns;    /* likewise */
	uint64_t made, cpu_ns, start_cpu_ns;
	uint64_t full_until_ns; /* CLOCK_MONOTONIC: the database takes no more until then */
};

/* ---- images; the event loop's ---- */

static bool
is_same_file(const struct image *a, const struct image *b)
{
	return a->device_major == b->device_major && a->device_minor == b->device_minor && a->inode == b->inode &&
	       a->inode_generation == b->inode_generation;
}

/*
 * The image with this identity. Anybody can write a file with another one's build-id: so a table of a file that is not
 * root's serves that file only.
 */
static struct unwind_image *
known_image(const struct unwind_tables *tables, const struct image *image)
{
	struct image_identity wanted, identity;

	if (!image_identity(image, &wanted))
		return NULL;
	for (size_t i = 0; i < tables->image_count; i++) {
		struct unwind_image *known = tables->images[i];

		if (image_identity(&known->image, &identity) && memcmp(&identity, &wanted, sizeof(wanted)) == 0 &&
		    (!known->is_others || is_same_file(&known->image, image)))
			return known;
	}
	return NULL;
}

static void
free_image(struct unwind_image *image)
{
	unwind_table_free(image->table);
	unwind_table_free(image->made);
	free(image->value);
	free(image->path);
	free(image);
}

/* Forget an image that has no table and was not needed for long: one of the many that run once. False: there is none.
 */
static bool
drop_image(struct unwind_tables *tables)
{
	struct unwind_image *dropped = NULL;

	capture_thread_lock(tables->options.thread);
	for (size_t i = 0; i < tables->image_count && !dropped; i++) {
		struct unwind_image *image = tables->images[i];

		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): images are never NULL */
		if ((image->stage != STAGE_NONE && image->stage != STAGE_WITHOUT) || image->uses > 0 || image->value ||
		    image->is_looked_up)
			continue;
		dropped = image;
		tables->images[i] = tables->images[--tables->image_count];
	}
	capture_thread_unlock(tables->options.thread);
	if (!dropped) {
		if (!tables->is_crowded)
			log_write(tables->options.log, LOG_LEVEL_WARNING,
			          "more than %d programs and libraries run at once: call stacks of others end early",
			          UNWIND_TABLES_IMAGES_MAX);
		tables->is_crowded = true;
		return false;
	}
	for (size_t i = 0; i < tables->slot_capacity; i++)
		if (tables->slots[i].image == dropped)
			tables->slots[i] = (struct unwind_slot){0};
	free_image(dropped);
	return true;
}

/* NULL: no memory, or no room. */
static struct unwind_image *
add_image(struct unwind_tables *tables, const struct image *image)
{
	struct unwind_image *added, **grown;

	if (tables->image_count == UNWIND_TABLES_IMAGES_MAX && !drop_image(tables))
		return NULL;
	added = calloc(1, sizeof(*added));
	if (!added)
		return NULL;
	added->image = *image;
	added->path = strdup(image->path);
	added->image.path = added->path;
	capture_thread_lock(tables->options.thread);
	grown = added->path
	                ? array_grow(tables->images, &tables->image_capacity, tables->image_count + 1, sizeof(*grown))
	                : NULL;
	if (grown) {
		tables->images = grown;
		grown[tables->image_count++] = added;
	}
	capture_thread_unlock(tables->options.thread);
	if (grown)
		return added;
	free(added->path);
	free(added);
	return NULL;
}

/*
 * Which image a number is: files with one build-id have one table. So a file waits until its build-id was looked for,
 * which is soon after its first frame. Not inlined: few frames are the first of their image.
 */
__attribute__((noinline)) static void
fill_slot(struct unwind_tables *tables, uint32_t number, struct unwind_slot *slot)
{
	struct image image = *image_table_get(tables->session, number);
	struct unwind_image *known;

	if (slot->round == tables->round)
		return;
	slot->round = tables->round;
	slot->code = call_stack_code(&image);
	slot->is_known = true;
	if (slot->code != UNWIND_CODE_TABLE)
		return;
	if (tables->options.files && file_ids_complete(tables->options.files, &image) == FILE_WAITS) {
		slot->is_known = false;
		tables->waits_for_files |= ++slot->looks < LOOKS_SOON;
		return;
	}
	known = known_image(tables, &image);
	if (!known)
		known = add_image(tables, &image);
	/* the file that its table is made of, and where that is mapped, are those of its identity */
	if (known && is_same_file(&known->image, &image))
		known->number = number;
	slot->image = known;
}

enum unwind_code
unwind_tables_find(void *context, uint32_t number, const struct unwind_table **table)
{
	struct unwind_tables *tables = context;
	struct unwind_slot *slot;

	if (number >= tables->slot_capacity) {
		const size_t before = tables->slot_capacity;
		struct unwind_slot *grown =
			array_grow(tables->slots, &tables->slot_capacity, number + 1, sizeof(*grown));

		if (!grown)
			return UNWIND_CODE_WITHOUT_TABLE;
		tables->slots = grown;
		memset(grown + before, 0, (tables->slot_capacity - before) * sizeof(*grown));
	}
	slot = &tables->slots[number];
	if (!slot->is_known)
		fill_slot(tables, number, slot);
	if (slot->code != UNWIND_CODE_TABLE)
		return slot->code;
	if (!slot->image)
		return UNWIND_CODE_WITHOUT_TABLE;
	slot->image->uses++;
	if (slot->image->table) {
		*table = slot->image->table;
		return UNWIND_CODE_TABLE;
	}
	slot->image->missing++;
	tables->has_missing = true;
	return UNWIND_CODE_WITHOUT_TABLE;
}

static void
free_table(struct unwind_tables *tables, struct unwind_image *image)
{
	tables->memory -= image->memory;
	unwind_table_free(image->table);
	image->table = NULL;
}

/* How many frames a table serves for each byte of memory; its size is known. */
static double
use_of(const struct unwind_image *image)
{
	return (double)image->uses / (double)image->memory;
}

/* Give back tables until they are within the limit, those of least use first. With the lock held. */
static void
evict(struct unwind_tables *tables)
{
	while (tables->memory > tables->options.memory_limit) {
		struct unwind_image *least = NULL;

		for (size_t i = 0; i < tables->image_count; i++) {
			struct unwind_image *image = tables->images[i];

			if (image->table && (!least || use_of(image) < use_of(least)))
				least = image;
		}
		if (!least) /* a limit of 0 */
			return;
		free_table(tables, least);
		least->stage = STAGE_NONE;
		tables->evicted++;
	}
}

/*
 * Is there room for the table, or are there tables of much less use than it, which can be given back? Otherwise tables
 * that are all in use would be loaded and given back over and over. One that was never loaded is tried.
 */
static bool
has_room(const struct unwind_tables *tables, const struct unwind_image *wanted)
{
	size_t taken = tables->memory;

	if (!wanted->memory)
		return true;
	for (size_t i = 0; i < tables->image_count; i++)
		if (tables->images[i]->table && use_of(tables->images[i]) * TAKES_PLACE < use_of(wanted))
			taken -= tables->images[i]->memory;
	return taken + wanted->memory <= tables->options.memory_limit;
}

/* What was of use counts less and less. */
static void
halve_uses(struct unwind_tables *tables)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);

	if (now_ns - tables->halved_ns < USE_NS)
		return;
	tables->halved_ns = now_ns;
	for (size_t i = 0; i < tables->image_count; i++)
		tables->images[i]->uses /= 2;
}

/* Other files with the build-id took it for theirs when its owner was not known: they are looked at anew. */
static void
part_from_others(struct unwind_tables *tables, const struct unwind_image *image)
{
	for (uint32_t number = 0; number < tables->slot_capacity; number++)
		if (tables->slots[number].image == image &&
		    !is_same_file(image_table_get(tables->session, number), &image->image))
			tables->slots[number] = (struct unwind_slot){0};
}

/* Take tables that have come. With the lock held. */
static void
take_ready(struct unwind_tables *tables)
{
	tables->has_ready = false;
	for (size_t i = 0; i < tables->image_count; i++) {
		struct unwind_image *image = tables->images[i];

		if (image->stage != STAGE_READY)
			continue;
		image->table = image->made;
		image->made = NULL;
		tables->made_bytes -= image->table ? image->table->memory : 0;
		image->memory = image->table ? image->table->memory : 0;
		image->stage = image->table ? STAGE_LOADED : STAGE_WITHOUT;
		image->is_others = image->owner != CAPTURED_ROOTS;
		if (image->is_others)
			part_from_others(tables, image);
		tables->memory += image->memory;
	}
}

/* Ask for tables that were missing. True when some are to be looked up. With the lock held. */
static bool
note_missing(struct unwind_tables *tables, const struct attribution *attribution)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool looks_up = false;

	for (size_t i = 0; i < tables->image_count; i++) {
		struct unwind_image *image = tables->images[i];

		if (image->missing == 0)
			continue;
		image->wanted += image->missing;
		image->missing = 0;
		image->place = attribution_place(attribution, image->number);
		if (image->stage != STAGE_NONE || image->due_ns > now_ns || !has_room(tables, image))
			continue;
		image->stage = tables->options.ready ? STAGE_LOOKUP : STAGE_MAKE;
		image->asked_ns = now_ns;
		looks_up |= image->stage == STAGE_LOOKUP;
	}
	tables->has_missing = false;
	return looks_up;
}

void
unwind_tables_end_session(struct unwind_tables *tables)
{
	if (tables->slots)
		memset(tables->slots, 0, tables->slot_capacity * sizeof(*tables->slots));
	for (size_t i = 0; i < tables->image_count; i++) {
		tables->images[i]->number = UINT32_MAX;
		tables->images[i]->missing = 0;
	}
	tables->session = NULL; /* the next one may lie at its address */
}

void
unwind_tables_sync(struct unwind_tables *tables, const struct image_table *images,
                   const struct attribution *attribution)
{
	bool looks_up = false;

	tables->session = images;
	tables->round++;
	tables->waits_for_files = false;
	halve_uses(tables);
	capture_thread_lock(tables->options.thread);
	if (tables->has_missing) {
		looks_up = note_missing(tables, attribution);
		capture_thread_notify(tables->options.thread);
	}
	if (tables->has_ready) {
		take_ready(tables);
		evict(tables);
		looks_up |= tables->is_put_off;
		tables->is_put_off = false;
	}
	capture_thread_unlock(tables->options.thread);
	if (looks_up)
		tables->options.ready(tables->options.context);
}

/* ---- making tables, on the thread that runs dcpi-capture; with the lock held ---- */

static int64_t
advance_ns(const struct unwind_tables_options *options)
{
	const uint64_t limit_ns = options->overhead_limit_ppm * options->cpu_count * 1000; /* a second */

	return (int64_t)(ADVANCE_S * limit_ns > ADVANCE_MIN_NS ? ADVANCE_S * limit_ns : ADVANCE_MIN_NS);
}

/* What may be spent grows with the time. */
static void
refill(struct unwind_tables *tables, uint64_t now_ns)
{
	const struct unwind_tables_options *options = &tables->options;
	const double share = (double)options->overhead_limit_ppm / 1e6 * (double)options->cpu_count / SHARE;
	const int64_t most = advance_ns(options);

	tables->allowance_ns += (int64_t)((double)(now_ns - tables->refilled_ns) * share);
	tables->refilled_ns = now_ns;
	if (tables->allowance_ns > most)
		tables->allowance_ns = most;
}

static void
spend(struct unwind_tables *tables, uint64_t cost_ns)
{
	tables->allowance_ns -= (int64_t)cost_ns;
	tables->cpu_ns += cost_ns;
	if (machine_clock_ns(CLOCK_MONOTONIC) - tables->began_ns < START_NS)
		tables->start_cpu_ns += cost_ns;
}

static int64_t
expected_cost(const struct unwind_image *image)
{
	const uint64_t size = image->place.end - image->place.start, most = UINT64_C(1) << 40;

	return MAKE_COST_NS + (int64_t)(size < most ? size : most) * BYTE_COST_NS;
}

/*
 * A table is paid for before it is made: those of large programs wait until there is enough for them, and meanwhile
 * those of small ones, which somebody may have just built, do not wait for long.
 */
static bool
is_affordable(const struct unwind_tables *tables, const struct unwind_image *image)
{
	return tables->allowance_ns >= expected_cost(image) || tables->allowance_ns == advance_ns(&tables->options);
}

/* How many frames a table serves for what it costs: those of libraries come before those of large programs. */
static double
worth(const struct unwind_image *image)
{
	return (double)image->wanted / (double)expected_cost(image);
}

static struct unwind_image *
choose(const struct unwind_tables *tables, uint64_t now_ns, uint64_t *due_ns)
{
	struct unwind_image *chosen = NULL;

	for (size_t i = 0; i < tables->image_count; i++) {
		struct unwind_image *image = tables->images[i];
		uint64_t begin_ns = image->due_ns;

		if (image->stage == STAGE_LOOKUP && begin_ns < image->asked_ns + LOOKUP_NS)
			begin_ns = image->asked_ns + LOOKUP_NS;
		else if (image->stage != STAGE_MAKE && image->stage != STAGE_LOOKUP)
			continue;
		if (!is_affordable(tables, image) && begin_ns < now_ns + POOR_NS)
			begin_ns = now_ns + POOR_NS;
		if (begin_ns > now_ns)
			*due_ns = begin_ns < *due_ns ? begin_ns : *due_ns;
		else if (!chosen || worth(image) > worth(chosen))
			chosen = image;
	}
	return chosen;
}

/* A capture_user's. */
static bool
begin_table(void *context, uint64_t now_ns, struct capture_child *child, uint64_t *due_ns)
{
	struct unwind_tables *tables = context;
	struct unwind_image *image;
	struct capture_request request;

	refill(tables, now_ns);
	image = choose(tables, now_ns, due_ns);
	if (!image)
		return false;
	request = (struct capture_request){
		.image = image->image,
		.pid = image->place.pid,
		.start = image->place.start,
		.end = image->place.end,
		.unwind = true,
	};
	writer_reset(&tables->request);
	if (capture_request_encode(&request, &tables->request)) {
		image->due_ns = *due_ns = now_ns + AGAIN_NS;
		return false;
	}
	image->stage = STAGE_MAKING;
	tables->making = image;
	capture_thread_unlock(tables->options.thread);
	capture_child_start(child, capture_thread_program(tables->options.thread), &tables->request, -1,
	                    &tables->outcome);
	capture_thread_lock(tables->options.thread);
	return true;
}

/* Errors that another try will not do away with. */
static bool
is_hopeless(int err)
{
	return err == -DCPI_EDAMAGED || err == -ENOTSUP || err == -ECHILD || err == -ETIMEDOUT || err == -EBADMSG ||
	       err == -EFBIG;
}

static void
note_failure(struct unwind_tables *tables, struct unwind_image *image, int err)
{
	char shown[SHOWN_SIZE];

	if (!is_hopeless(err)) { /* as when the process has ended, whose file it is: until another one needs it */
		image->stage = STAGE_NONE;
		image->due_ns = machine_clock_ns(CLOCK_MONOTONIC) + AGAIN_NS * ++image->tries;
		return;
	}
	image->stage = STAGE_READY; /* without a table */
	tables->has_ready = true;
	log_write(tables->options.log, LOG_LEVEL_INFO, "%s: stacks end there: there is no unwind table: %s",
	          escape_text(image->path, shown, sizeof(shown)), error_text(err));
}

/* A capture_user's: the lock is given up while the table is loaded. */
static void
end_table(void *context, const struct capture_child *child)
{
	struct unwind_tables *tables = context;
	struct unwind_image *image = tables->making;
	const struct captured *captured = &tables->outcome.reply.captured;
	const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct unwind_table *table = NULL;
	uint8_t *value = NULL;
	int err = tables->outcome.error;
	char shown[SHOWN_SIZE];
	uint64_t cost_ns;

	tables->making = NULL;
	capture_thread_unlock(tables->options.thread);
	if (!err)
		err = captured->unwind.data
		              ? captured_unwind_decode(captured->unwind.data, captured->unwind.size, &table)
		              : -EBADMSG;
	if (!err && captured->owner == CAPTURED_ROOTS && tables->options.capture_limit > 0)
		value = malloc(captured->unwind.size);
	if (value)
		memcpy(value, captured->unwind.data, captured->unwind.size);
	cost_ns = tables->outcome.cpu_ns + child->own_ns + machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	if (!err)
		log_write(tables->options.log, LOG_LEVEL_DEBUG, "%s: an unwind table of %u rows was made in %.1f ms",
		          escape_text(image->path, shown, sizeof(shown)), table->row_count, (double)cost_ns / 1e6);
	capture_thread_lock(tables->options.thread);
	spend(tables, cost_ns);
	image->owner = captured->owner; /* also of a file that gives none: another may */
	if (err) {
		note_failure(tables, image, err);
	} else {
		image->made = table;
		tables->made_bytes += table->memory;
		image->stage = STAGE_READY;
		tables->has_ready = true;
		tables->made++;
	}
	/* one that waits to be stored is the flusher's, and says the same */
	if (image->value || machine_clock_ns(CLOCK_MONOTONIC) < tables->full_until_ns ||
	    tables->value_bytes + captured->unwind.size > VALUES_MAX) {
		free(value);
	} else if (value) {
		image->value = value;
		image->value_size = captured->unwind.size;
		tables->value_bytes += captured->unwind.size;
	}
	capture_outcome_fini(&tables->outcome);
}

/* ---- the flusher's hook ---- */

/* Look up tables in the database; those that are not there are to be made. */
static void
look_up(void *context, struct profile *profile)
{
	struct unwind_tables *tables = context;
	struct unwind_image *wanted[LOOKUPS_MAX];
	bool is_new = false, is_put_off = false;
	size_t count;

	do {
		count = 0;
		capture_thread_lock(tables->options.thread);
		for (size_t i = 0; i < tables->image_count; i++) {
			tables->images[i]->is_looked_up =
				tables->images[i]->stage == STAGE_LOOKUP && count < LOOKUPS_MAX;
			if (tables->images[i]->is_looked_up)
				wanted[count++] = tables->images[i];
		}
		capture_thread_unlock(tables->options.thread);
		for (size_t i = 0; i < count && !is_put_off; i++) {
			struct unwind_table *table = NULL;
			uint32_t number;
			int err = profile_find_image(profile, &wanted[i]->image, &number);

			if (!err)
				err = profile_get_unwind(profile, number, &table);
			capture_thread_lock(tables->options.thread);
			if (wanted[i]->stage != STAGE_LOOKUP) { /* it took too long: the table is being made */
				unwind_table_free(table);
				capture_thread_unlock(tables->options.thread);
				continue;
			}
			wanted[i]->made = err ? NULL : table;
			wanted[i]->owner = CAPTURED_ROOTS; /* of others, none is stored */
			tables->made_bytes += err ? 0 : table->memory;
			wanted[i]->stage = err ? STAGE_MAKE : STAGE_READY;
			tables->has_ready |= !err;
			is_new |= err != 0;
			is_put_off = tables->made_bytes >= tables->options.memory_limit;
			tables->is_put_off |= is_put_off;
			capture_thread_unlock(tables->options.thread);
		}
	} while (count == LOOKUPS_MAX && !is_put_off);
	capture_thread_lock(tables->options.thread);
	for (size_t i = 0; i < tables->image_count; i++)
		tables->images[i]->is_looked_up = false;
	if (is_new)
		capture_thread_notify(tables->options.thread);
	capture_thread_unlock(tables->options.thread);
}

/* Put the image's value into the database. 0 or an error. */
static int
store_value(const struct unwind_tables *tables, struct profile *profile, const struct unwind_image *image)
{
	const struct captured captured = {
		.owner = CAPTURED_ROOTS,
		.unwind = {.data = image->value, .size = image->value_size},
	};
	uint32_t number;
	int err = profile_find_image(profile, &image->image, &number);

	if (!err)
		err = profile_put_captured(profile, number, &captured, tables->options.capture_limit);
	return err;
}

/* Values wait for the flush that brings their image into the database. */
static void
store_values(void *context, struct profile *profile, const struct flush *flush)
{
	struct unwind_tables *tables = context;
	struct unwind_image *wanted[STORED_MAX];
	size_t count = 0;

	(void)flush;
	capture_thread_lock(tables->options.thread);
	for (size_t i = 0; i < tables->image_count && count < STORED_MAX; i++)
		if (tables->images[i]->value)
			wanted[count++] = tables->images[i];
	capture_thread_unlock(tables->options.thread);
	for (size_t i = 0; i < count; i++) {
		const uint64_t began_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		const int err = store_value(tables, profile, wanted[i]);
		const uint64_t took_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;

		capture_thread_lock(tables->options.thread);
		spend(tables, took_ns);
		if (err == -EDQUOT)
			tables->full_until_ns = machine_clock_ns(CLOCK_MONOTONIC) + FULL_WAIT_NS;
		if (err != -ENOENT || ++wanted[i]->store_tries == TRIES_MAX) { /* stored, or given up */
			wanted[i]->store_tries = 0;
			tables->value_bytes -= wanted[i]->value_size;
			free(wanted[i]->value);
			wanted[i]->value = NULL;
		}
		capture_thread_unlock(tables->options.thread);
	}
}

struct flush_hook
unwind_tables_hook(struct unwind_tables *tables)
{
	return (struct flush_hook){.context = tables, .after = store_values, .store = look_up};
}

/* ---- its life ---- */

bool
unwind_tables_expect(const struct unwind_tables *tables)
{
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool expects = tables->waits_for_files;

	capture_thread_lock(tables->options.thread);
	for (size_t i = 0; !expects && i < tables->image_count; i++) {
		const struct unwind_image *image = tables->images[i];

		if (now_ns - image->asked_ns > SOON_NS)
			continue;
		expects = image->stage == STAGE_LOOKUP || image->stage == STAGE_MAKING || image->stage == STAGE_READY ||
		          (image->stage == STAGE_MAKE && is_affordable(tables, image));
	}
	capture_thread_unlock(tables->options.thread);
	return expects;
}

bool
unwind_tables_await(struct unwind_tables *tables, uint32_t number)
{
	struct unwind_slot *slot = number < tables->slot_capacity ? &tables->slots[number] : NULL;
	const uint64_t now_ns = machine_clock_ns(CLOCK_MONOTONIC);
	bool expects;

	if (!slot)
		return false;
	if (!slot->is_known) { /* its file's build-id is looked for */
		fill_slot(tables, number, slot);
		return !slot->is_known && slot->looks < LOOKS_SOON;
	}
	if (!slot->image || slot->image->table)
		return false;
	capture_thread_lock(tables->options.thread);
	if (slot->image->stage == STAGE_NONE) /* a sync will ask for it, perhaps again after a try that failed */
		expects = slot->image->missing > 0 && slot->image->tries < TRIES_MAX && has_room(tables, slot->image);
	else /* also where it is not affordable yet: that may take a second or two */
		expects = slot->image->stage != STAGE_LOADED && slot->image->stage != STAGE_WITHOUT &&
		          now_ns - slot->image->asked_ns <= UNWIND_TABLES_AWAIT_NS;
	capture_thread_unlock(tables->options.thread);
	return expects;
}

struct unwind_tables *
unwind_tables_new(const struct unwind_tables_options *options)
{
	struct unwind_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->options = *options;
	tables->request = (struct byte_writer)BYTE_WRITER_INIT;
	tables->round = 1;
	tables->allowance_ns = advance_ns(options);
	tables->began_ns = tables->refilled_ns = tables->halved_ns = machine_clock_ns(CLOCK_MONOTONIC);
	capture_thread_add(options->thread, &(struct capture_user){tables, begin_table, end_table});
	return tables;
}

void
unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->image_count; i++) {
		free_image(tables->images[i]);
	}
	free(tables->images);
	free(tables->slots);
	writer_fini(&tables->request);
	free(tables);
}

void
unwind_tables_stats(const struct unwind_tables *tables, struct unwind_tables_stats *stats)
{
	capture_thread_lock(tables->options.thread);
	*stats = (struct unwind_tables_stats){
		.images = tables->image_count,
		.memory = tables->memory,
		.made = tables->made,
		.evicted = tables->evicted,
		.cpu_ns = tables->cpu_ns,
	};
	for (size_t i = 0; i < tables->image_count; i++) {
		const enum table_stage stage = tables->images[i]->stage;

		stats->loaded += stage == STAGE_LOADED;
		stats->without += stage == STAGE_WITHOUT;
		stats->waiting += stage == STAGE_LOOKUP || stage == STAGE_MAKE || stage == STAGE_MAKING;
	}
	capture_thread_unlock(tables->options.thread);
}

uint64_t
unwind_tables_start_cpu_ns(const struct unwind_tables *tables)
{
	uint64_t start_cpu_ns;

	capture_thread_lock(tables->options.thread);
	start_cpu_ns = tables->start_cpu_ns;
	capture_thread_unlock(tables->options.thread);
	return start_cpu_ns;
}
