/*
 * selection.h - the part of a database that a report is about
 *
 * A request names epochs, a range of time, contexts; the selection holds the epochs, slices, images and counts that
 * match, copied from the database in one short read transaction.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROFILE_SELECTION_H
#define DCPI_PROFILE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/overhead.h"
#include "profile/profile.h"
#include "profile/stacks.h"

#define SELECTION_EVENTS_MAX 1024 /* distinct names over all selected epochs */

struct selection_request {
	const char *epoch;  /* "latest", "latest-N", "all", an id, or a label; NULL: "latest", or "all" when a time or a
	                       label is given */
	const char *host;   /* fnmatch(3) pattern: only epochs of such hosts, also for "latest"; NULL: any */
	uint64_t since_ns;  /* 0: no bound; slices that overlap [since, until) are taken whole */
	uint64_t until_ns;  /* 0: no bound */
	const char *comm;   /* fnmatch(3) pattern; NULL: any */
	const char *cgroup; /* fnmatch(3) pattern, or a path that also matches everything below it; NULL: any */
	bool stacks;        /* the samples of call stacks (EVENT_STACKS_SUFFIX), and no others: selection.stacks */
	const char *label; /* fnmatch(3) pattern; NULL: any. Epochs, slices and events without such samples are left out
	                      then, and count in no total */
};

/* The numbers of events that samples stand for: added up while a selection is read. */
struct selection_events {
	double samples;
	double unknown[UNKNOWN_CAUSE_COUNT];
};
struct selection_weights {
	uint64_t least, most; /* periods of the epochs that have one; 0: none has */
	bool has_sum;         /* some epoch has a sum of the event's periods */
	bool is_unknown;      /* some epoch has neither period nor sum */
	double beyond;        /* events that sums add to samples times periods */
	double varied_events; /* of epochs without a period, and their samples */
	uint64_t varied_samples;
	struct selection_events totals, matched;
};

/*
 * An event over all selected epochs, by name. When its samples stand for different numbers of events - epochs of
 * different periods, or a period that varied in one - they are weighted: then every number of samples here and in
 * struct selection_count is the number that there would be if each stood for `period` events, the shortest of the
 * periods. The numbers of samples that were taken are in the fields `taken`; the sums of squares give the statistical
 * error of sums of samples of unequal weights (analysis/effective.h).
 */
struct selection_event {
	char name[EVENT_NAME_SIZE];
	char requested[EVENT_NAME_SIZE];
	char unit[EVENT_UNIT_SIZE];
	char note[EVENT_NOTE_SIZE]; /* of the newest epoch */
	uint64_t period;            /* events per sample; 0: not known */
	uint64_t longest_period;    /* of all epochs; 0: the kernel varied it. Only with is_weighted */
	bool is_weighted;
	uint64_t rate;             /* samples per second of a busy CPU; 0: it varies, or is not known */
	struct overhead overhead;  /* of its samples alone */
	uint64_t cost_ns;          /* of one sample, in the newest epoch; 0: not known */
	bool available;            /* in at least one selected epoch */
	bool is_hidden;            /* nothing that the request asks for: cycles of an emulation whose reasons are
	                              known, which have only edges; stacks, or all but stacks; not available */
	struct slice_event totals; /* over the selected slices, all contexts */
	uint64_t totals_taken;     /* totals.samples as they were taken */
	double totals_squares;     /* sum of their weights' squares, if all weigh as the selected ones do on average */
	uint64_t selected;         /* attributed samples whose context matches */
	uint64_t selected_taken;
	double selected_squares;    /* sum of those of the counts */
	double selected_events;     /* that these stand for; 0 where no period is known */
	struct slice_event matched; /* as totals, over the slices of selection.match */
	struct selection_weights weights;
};

/* The slices, of those that were selected, with a sample whose context matches; all zero when there is none. */
struct selection_match {
	uint64_t start_ns, end_ns;
	uint64_t covered_ns; /* sum of their lengths */
	uint32_t first_epoch, last_epoch;
};

/*
 * How long the runs under the request's label lasted, in the selected slices; when several labels match, the sum of
 * their times. All zero without a label.
 */
struct selection_run {
	bool is_known; /* each epoch with a sample under the label has a time of it */
	uint64_t begin_ns, end_ns;
	uint64_t elapsed_ns;
};

struct selection_count {
	uint64_t offset;
	uint64_t count; /* weighted, where the event's samples are */
	uint64_t taken; /* samples */
	double squares; /* sum of the squares of their weights; `taken` when they are not weighted */
	uint32_t image; /* index into images */
	uint16_t event; /* index into events */
};

struct selection_image {
	uint32_t number;           /* in the database */
	const struct image *image; /* owned by the selection */
};

struct selection {
	struct profile *profile; /* that it was read from, for what was captured of its images; NULL: not available */
	size_t epoch_count;
	struct epoch *epochs;      /* ascending by id */
	size_t slice_count;        /* only counted */
	uint64_t start_ns, end_ns; /* what the selected slices really cover */
	uint64_t covered_ns;       /* sum of their lengths */
	struct selection_match match;
	struct selection_run run;
	struct overhead overhead; /* its whole is the covered time times online CPUs */
	uint64_t sideband_lost;
	uint64_t skipped;
	size_t event_count;
	struct selection_event *events; /* in the order of the newest epoch, older ones after */
	size_t image_count;
	struct selection_image *images;
	size_t count_count;
	struct selection_count *counts; /* by image, offset, event; each once */
	/*
	 * With request->stacks: all nodes of the database. The offset of a count is the index of a node; the image of a
	 * node that has counts, or calls one that has, is an index into images.
	 */
	struct stack_nodes stacks;
};

/*
 * Read what `request` asks for. 0; -DCPI_ENOSELECTION with a sentence in `why` (which epochs or contexts there are);
 * -DCPI_EDAMAGED; -ENOMEM; -EINVAL with a sentence for an epoch that is none.
 */
int selection_read(struct profile *profile, const struct selection_request *request, struct selection **selection,
                   char *why, size_t size);
void selection_free(struct selection *selection); /* NULL is allowed */

/*
 * The number of its epochs up to the newest that has a sample whose context matches; all when none has one. The last of
 * them describes the machine: a label is looked for in all epochs, and later ones may be of another machine.
 */
size_t selection_epochs_matched(const struct selection *selection);

/*
 * Read what several requests ask for in one pass through the database; they may differ in comm, cgroup and label only,
 * see selection_shares_scope(). selections[i] is NULL for a request that matches nothing. 0; or an error without a
 * sentence, and no selection.
 */
int selection_read_each(struct profile *profile, const struct selection_request *const *requests, size_t count,
                        struct selection **selections);
bool selection_shares_scope(const struct selection_request *left, const struct selection_request *right);

#endif
