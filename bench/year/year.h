/*
 * year.h - what growth_bench writes: a machine, its year, and what is measured of it
 */
#ifndef DCPI_BENCH_YEAR_H
#define DCPI_BENCH_YEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "collectord/flush_retention.h"
#include "profile/retention.h"
#include "tally/tally.h"

#define CPUS           64
#define RATE           5200 /* samples/s of a busy CPU */
#define IMAGES         400
#define COMMANDS       60
#define SHORT_COMMANDS 40 /* in an hour, and never again */
#define SHORT_SHARE    20 /* one procedure of so many is theirs */
#define PROCEDURES     20000
#define PARTS          2  /* flushes of a long stretch, each of every PARTS'th procedure */
#define INSTRUCTIONS   10 /* of a procedure that are sampled */
#define KEYS           (PROCEDURES * INSTRUCTIONS)
#define ZIPF           1.2
#define EVENTS         2
#define HOURS          24
#define FLUSHES_TIMED  (FINE_NS / FLUSH_NS)
#define TALLY_LIMIT    131072                              /* as dcpid_config_default() has it */
#define CONTEXTS_MAX   (COMMANDS + SHORT_COMMANDS * HOURS) /* new ones in a flush */
#define SESSION_LIMIT  8000                                /* contexts; dcpid counts bytes */

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define FLUSH_NS  (10 * SECOND_NS)
#define FINE_NS   (HOUR_NS / 2)    /* of a point's last day is written flush by flush */
#define BEGIN_NS  (20458 * DAY_NS) /* Monday 2026-01-05, 00:00 UTC */
#define YEAR      365
#define WEEK      7
#define LIMIT     (UINT64_C(2) << 30)
#define MAX_AGE   (30 * DAY_NS)

struct times {
	double wall_ms, processor_ms;
};

/* Distinct addresses that were sampled in slices of one length. */
struct addresses {
	uint64_t sum, slices;
};

struct key {
	uint64_t offset;
	double share; /* of all samples */
	uint16_t image, command, event;
};

/* What a key is in the session as it is now. */
struct sorted_key {
	struct tally_entry entry;
	double share;
};

struct figures {
	double wall_ms[FLUSHES_TIMED], processor_ms[FLUSHES_TIMED]; /* of flushes */
	size_t flushes;
	uint64_t steps, steps_allowed;
	double step_ms, longest_step_ms; /* of the processor */
	struct addresses in_tenth, in_hour;
};

struct year_bench {
	struct profile *profile;
	const char *directory, *dcpiprof;
	struct retention_options retention;
	struct key *keys;
	struct tally *tally;
	struct sorted_key *sorted[PARTS];
	size_t sorted_count[PARTS];
	bool sorted_stale;
	struct tally_entry *entries; /* of a part */
	uint32_t epoch;
	uint64_t state;
	struct figures figures;
	uint64_t entries_flushed;

	/* the session: every build of an image and every command has a number of its own */
	uint32_t image_numbers[IMAGES], command_numbers[COMMANDS];
	uint32_t short_numbers[HOURS][SHORT_COMMANDS]; /* of the hours of a day */
	int builds[IMAGES];
	int64_t hours[HOURS]; /* since the year began, that these are of */
	uint32_t image_count, context_count;
	struct image *new_images;
	struct context *new_contexts;
	size_t new_image_count, new_context_count;
};

/* ---- draw.c ---- */

/* xorshift64*: a fixed seed, so that every run draws an equal year. */
double draw(struct year_bench *bench);
/* Poisson's distribution; where it is as good as a normal one, that. */
uint64_t draw_poisson(struct year_bench *bench, double mean);
void make_keys(struct year_bench *bench);

/* ---- session.c ---- */

void begin_session(struct year_bench *bench);
/* The short commands of an hour of the year. */
const uint32_t *short_commands(struct year_bench *bench, int64_t hour);
/* What has been deployed by `ns` since the year began. */
void deploy(struct year_bench *bench, uint64_t ns);
void forget_new(struct year_bench *bench);
/* A new build has its procedures elsewhere. */
uint64_t offset_of(const struct year_bench *bench, const struct key *key);

/* ---- flush.c ---- */

void retain(struct year_bench *bench, uint64_t now_ns, uint64_t allowed);
void flush_entries(struct year_bench *bench, struct slice *slice, const struct tally_entry *entries, size_t count);
void flush(struct year_bench *bench, struct slice *slice, struct times *took);
/* Add what was sampled of one key; flushes when the tally is as full as dcpid lets it be. */
void add_key(struct year_bench *bench, const struct key *key, uint32_t context, double samples, struct slice *slice,
             struct times *took);

/* ---- parts.c ---- */

/*
 * What lasting commands do in a stretch that is not timed. Each part is about as much as dcpid lets the tally hold, and
 * is sorted once, not in every flush: a year then takes a third of the time.
 */
void write_parts(struct year_bench *bench, double samples, struct slice *slice);

/* ---- stretch.c ---- */

/* From `from_ns` to `to_ns` in slices of `slice_ns`, flushed every `flush_ns`. */
void write_period(struct year_bench *bench, uint64_t from_ns, uint64_t to_ns, uint64_t slice_ns, uint64_t flush_ns,
                  bool timed);

/* ---- figures.c ---- */

double clock_ms(clockid_t clock);
struct times times_now(void);
void times_add_since(struct times *sum, struct times start);
void note_flush(struct figures *figures, struct times took);
/* Of a stretch that is a whole slice: each address was added to it once. */
void note_addresses(struct figures *figures, uint64_t length_ns, uint64_t count);
void print_point(struct year_bench *bench, int day);

#endif
