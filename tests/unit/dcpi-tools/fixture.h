/*
 * fixture.h - a selection made by hand
 *
 * Events cycles (0, a clock stands in: cpu-clock) and page-faults (1); cache-misses (2) is not available.
 */
#ifndef DCPI_TESTS_FIXTURE_H
#define DCPI_TESTS_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "profile/selection.h"

#define FIXTURE_MAX 32

struct selection_fixture {
	struct selection selection;
	struct selection_event events[3];
	struct epoch epoch;
	struct image images[FIXTURE_MAX];
	struct selection_image selected[FIXTURE_MAX];
	struct selection_count counts[FIXTURE_MAX];
};

static inline void
fixture_event(struct selection_event *event, const char *name, const char *requested, bool available)
{
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", requested);
	event->available = available;
}

static inline void
fixture_init(struct selection_fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture_event(&fixture->events[0], "cpu-clock", "cycles", true);
	fixture_event(&fixture->events[1], "page-faults", "page-faults", true);
	fixture_event(&fixture->events[2], "cache-misses", "cache-misses", false);
	fixture->epoch.id = 1;
	fixture->selection = (struct selection){
		.epoch_count = 1,
		.epochs = &fixture->epoch,
		.event_count = 3,
		.events = fixture->events,
		.images = fixture->selected,
		.counts = fixture->counts,
	};
}

/* The index of the new image. */
static inline uint32_t
fixture_image(struct selection_fixture *fixture, enum image_kind kind, const char *path, const char *build_id)
{
	size_t index = fixture->selection.image_count++;
	struct image *image = &fixture->images[index];

	*image = (struct image){.kind = kind, .path = path, .build_id_size = (uint8_t)strlen(build_id)};
	memcpy(image->build_id, build_id, strlen(build_id));
	fixture->selected[index] = (struct selection_image){.number = (uint32_t)index + 100, .image = image};
	return (uint32_t)index;
}

/* In the order of selection->counts: image, offset, event. */
static inline void
fixture_count(struct selection_fixture *fixture, uint32_t image, uint64_t offset, uint16_t event, uint64_t count)
{
	fixture->counts[fixture->selection.count_count++] = (struct selection_count){
		.image = image,
		.offset = offset,
		.event = event,
		.count = count,
		.taken = count,
		.squares = (double)count,
	};
	fixture->events[event].totals.samples += count;
	fixture->events[event].totals_taken += count;
	fixture->events[event].totals_squares += (double)count;
	fixture->events[event].selected += count;
	fixture->events[event].selected_taken += count;
	fixture->events[event].selected_squares += (double)count;
}

#endif
