/*
 * timeline.h - what the samples of one event stand for, slice by slice, by image, command or cgroup
 *
 * A selection (selection.h) adds slices up and keeps addresses; a time line adds addresses up and keeps slices. Both
 * understand a request alike.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_TIMELINE_H
#define DCPI_PROFILE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/selection.h"

enum timeline_key {
	TIMELINE_IMAGE, /* by path */
	TIMELINE_COMMAND,
	TIMELINE_CGROUP,
};

struct timeline_request {
	const struct selection_request *selection;
	const char *event; /* NULL: the first event of the newest epoch that could be counted there */
	enum timeline_key key;
};

struct timeline_slice {
	uint32_t epoch;
	uint32_t cpu_count; /* online in its epoch */
	uint64_t start_ns, end_ns;
	double events;  /* of all samples, whatever the contexts of the request; unknown ones included */
	double unknown; /* of those that were attributed to no image */
};

struct timeline_series {
	char *name;    /* not escaped; owned by the time line */
	double events; /* over all slices */
};

struct timeline_cell {
	uint32_t slice;  /* index into slices */
	uint32_t series; /* index into series */
	double events;   /* more than 0 */
};

/*
 * Numbers of events: samples times their period and what the event's sum (epoch_weighed_event()) adds to that. Where
 * neither is known, each sample counts as one.
 */
struct timeline {
	char event[EVENT_NAME_SIZE], unit[EVENT_UNIT_SIZE];
	struct timeline_slice *slices; /* by start */
	size_t slice_count;
	struct timeline_series *series; /* descending by events, then by name */
	size_t series_count;
	struct timeline_cell *cells; /* by slice, then series; each pair once */
	size_t cell_count;
};

/*
 * 0; -DCPI_ENOSELECTION or -DCPI_ENOEVENT with a sentence in `why` (there is no such epoch, context or event);
 * -DCPI_EDAMAGED; -ENOMEM; -EINVAL with a sentence for an epoch that is none. *timeline is the caller's to finish, also
 * after an error.
 */
int timeline_read(struct profile *profile, const struct timeline_request *request, struct timeline *timeline, char *why,
                  size_t size);
void timeline_fini(struct timeline *timeline); /* a zeroed one is allowed */

#endif
