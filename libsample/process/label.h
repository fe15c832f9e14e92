/*
 * label.h - the labels of process trees, and for how long any process had them
 *
 * A label is one text with a reference count, which its processes share. For each label the time is counted in which at
 * least one process lived that had it, by record times: label_begin_process() when a process gets the label,
 * label_end_process() when it ends or gets another. The owner takes the counted times periodically; a label without
 * owners stays until its time was taken.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_LABEL_H
#define DCPI_PROCESS_LABEL_H

#include <stddef.h>
#include <stdint.h>

#define LABEL_SET_UNUSED_MAX 16384 /* labels without owners whose time was not taken; the time of more is lost */

struct label_set;
struct label; /* NULL: no label */

struct label_set *label_set_new(void);      /* NULL and errno (ENOMEM) */
void label_set_free(struct label_set *set); /* all labels were released; NULL is allowed */

/* The label of this text, with a reference that the caller owns. NULL: no memory. */
struct label *label_set_get(struct label_set *set, const char *text);
struct label *label_share(struct label *label);    /* one reference more; NULL is allowed */
void label_release(struct label *label);           /* one less; NULL is allowed */
const char *label_text(const struct label *label); /* "" when there is none */

/*
 * One more living process has the label from `time_ns` (record time) on, or one less. The caller owns a reference
 * meanwhile, and calls the second once for each call of the first.
 */
void label_begin_process(struct label *label, uint64_t time_ns);
void label_end_process(struct label *label, uint64_t time_ns);

/* In record time: from when to when, and how much of that, since it was last taken. */
struct label_time {
	const char *text;
	uint64_t begin_ns, end_ns;
	uint64_t elapsed_ns; /* not 0 */
};

/*
 * Call `take` with what was counted for each label since the last time, up to `now_ns`, until it returns something else
 * than 0; returns that. What `take` accepted is not reported again.
 */
int label_set_take(struct label_set *set, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
                   void *context);

#endif
