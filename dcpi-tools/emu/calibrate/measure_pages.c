#include <errno.h>

#include "dcpi-tools/emu/calibrate/chase.h"
#include "dcpi-tools/emu/calibrate/measure.h"

#define RUNS        150
#define LOADS       8192u
#define ADDITIONS   8192u
#define MOST_BYTES  ((size_t)256 << 20)
#define FIRST_STEP  2.0 /* cycles that are no chance */
#define SECOND_STEP 8.0

static const unsigned page_counts[] = {
	8,   12,  16,  24,  32,   40,   48,   56,   64,   72,   80,   96,   112,  128,   160,
	192, 256, 384, 512, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 6144, 8192, 12288, 16384,
};
#define PAGE_COUNTS (sizeof(page_counts) / sizeof(page_counts[0]))

static int
load_cycles(size_t size, size_t stride, double *cycles)
{
	double walks[RUNS], additions[RUNS];
	struct chase chase;
	int err = chase_init(&chase, size, stride);

	if (err)
		return err;
	(void)chase_walk_ns(&chase, chase.count);
	for (unsigned i = 0; i < RUNS; i++) {
		additions[i] = (double)chase_additions_ns(ADDITIONS) / ADDITIONS;
		walks[i] = (double)chase_walk_ns(&chase, LOADS) / LOADS;
	}
	*cycles = figure_least(walks, RUNS).value / figure_least(additions, RUNS).value;
	chase_fini(&chase);
	return 0;
}

/* A line each of so many pages, beside as many lines that lie together: the same caches, other translations. */
int
measure_pages(const struct host *host, struct measured_pages *pages)
{
	const unsigned level = host->level_count > 1 ? 1 : 0;
	const uint64_t room = host->levels[level].bytes / CHASE_LINE / 2;

	pages->count = 0;
	for (unsigned i = 0; i < PAGE_COUNTS && (page_counts[i] <= 2048 || page_counts[i] <= room); i++) {
		const size_t size = (size_t)page_counts[i] * host->page_bytes;
		double apart, together;
		int err;

		if (size > MOST_BYTES)
			break;
		err = load_cycles(size, host->page_bytes, &apart);
		if (!err)
			err = load_cycles((size_t)page_counts[i] * CHASE_LINE, CHASE_LINE, &together);
		if (err)
			return err;
		pages->pages[pages->count] = page_counts[i];
		pages->extra_cycles[pages->count++] = apart > together ? apart - together : 0;
	}
	return 0;
}

/* The last of the counts, from `from` on, up to which none costs more than `limit`. */
static unsigned
last_within(const struct measured_pages *pages, unsigned from, double limit)
{
	unsigned last = from;

	while (last + 1 < pages->count && pages->extra_cycles[last + 1] <= limit)
		last++;
	return last;
}

void
measure_find_tlbs(const struct measured_pages *pages, struct measured_tlbs *tlbs)
{
	const unsigned first = last_within(pages, 0, FIRST_STEP);
	double hit, most = 0;
	unsigned second;

	*tlbs = (struct measured_tlbs){0};
	if (pages->count == 0 || first + 1 >= pages->count)
		return;
	for (unsigned i = first + 1; i < pages->count; i++)
		most = pages->extra_cycles[i] > most ? pages->extra_cycles[i] : most;
	tlbs->data_entries = pages->pages[first];
	hit = pages->extra_cycles[first + 1];
	/* between the two it is level: what it is at twice the entries, where no page is there by chance */
	for (unsigned i = first + 1; i < pages->count && pages->pages[i] <= 4 * tlbs->data_entries; i++)
		if (pages->pages[i] >= 2 * tlbs->data_entries) {
			hit = pages->extra_cycles[i];
			break;
		}
	if (most < hit + SECOND_STEP) { /* one level, or a second that none was large enough for */
		tlbs->walk_cycles = hit;
		return;
	}
	second = last_within(pages, first + 1, hit + 0.35 * (most - hit));
	tlbs->shared_entries = pages->pages[second];
	tlbs->hit_cycles = hit;
	tlbs->walk_cycles = pages->extra_cycles[pages->count - 1] - hit;
}
