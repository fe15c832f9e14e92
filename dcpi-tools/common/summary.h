/*
 * summary.h - what a report prints about all its samples
 *
 * Their number and time, how many are lost or unknown and why, their cost, and what each event counted.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_SUMMARY_H
#define DCPI_TOOLS_SUMMARY_H

#include <jansson.h>

#include "dcpi-tools/common/call_tree.h"
#include "dcpi-tools/common/shown_events.h"
#include "dcpi-tools/common/histogram.h"
#include "dcpi-tools/common/output.h"
#include "profile/selection.h"

struct summary {
	const struct selection *selection;
	const struct selection_request *request; /* that selected them */
	const struct shown_events *shown_events;
	const struct histogram *histogram; /* NULL: nothing on symbols */
	const struct call_tree *stacks;    /* NULL: the selection is of samples */
	const uint64_t *totals;            /* the wholes of shares, by event */
	size_t shown, row_count;           /* rows of the table, and their number without --keep and --limit */
};

/* The lines below a table. */
void summary_print(const struct summary *summary, const struct output *output);

/* Add the keys start, end, epochs, label and events to the object `root`; or the keys of totals. 0, or -ENOMEM. */
int summary_json_events(const struct summary *summary, json_t *root);
int summary_json_totals(const struct summary *summary, json_t *root);

/*
 * How samples of `event` were weighted, in a sentence of at most SUMMARY_WEIGHTS_SIZE bytes with its NUL: "cpu-clock:
 * 570 samples of 192.3 us to 2 ms are weighted by their period, and count as 1026 of 192.3 us". The event's name is not
 * escaped. False: they are not weighted.
 */
#define SUMMARY_WEIGHTS_SIZE (EVENT_NAME_SIZE + 256)
bool summary_weights(const struct selection_event *event, char text[SUMMARY_WEIGHTS_SIZE]);

/* Print `heading`, the sentence of summary_weights(), and a newline; nothing if samples are not weighted. */
void summary_print_weights(const struct selection_event *event, const char *heading, FILE *stream);

/* "Samples:    cycles 1234, 5.60% of all; 2026-11-21 14:30:00 to 14:50:00 CET" and how they were weighted: two lines.
 */
void summary_print_samples(const struct selection *selection, uint16_t event, uint64_t samples, FILE *stream);

/* `part` of `whole` in percent; 0 of 0 is 0. */
double summary_percent(uint64_t part, uint64_t whole);

#endif
