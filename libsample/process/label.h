/*
 * label.h - the labels of process trees, and for how long any process had them
 *
 * A label is one text that its processes share. What is counted of it is the time in which at least one process lived
 * that had it, as records tell: a process is begun when it gets the label, and ended when it ends or gets another. What
 * was counted is taken from time to time; a label that nobody has any more stays until then.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_LABEL_H
#define DCPI_PROCESS_LABEL_H

#include <stddef.h>
#include <stdint.h>

#define LABELS_ENDED_MAX 16384 /* that wait to be taken; the time of more is not told */

struct labels;
struct label; /* NULL: no label */

struct labels *labels_new(void);         /* NULL and errno (ENOMEM) */
void labels_free(struct labels *labels); /* nobody owns a label of it any more; NULL is allowed */

/* The label of this text, with an owner more: the caller. NULL: no memory. */
struct label *labels_get(struct labels *labels, const char *text);
struct label *label_share(struct label *label);    /* the same with one owner more */
void label_release(struct label *label);           /* one owner less */
const char *label_text(const struct label *label); /* "" when there is none */

/*
 * One more living process has the label from `time_ns` (record time) on, or one less. The caller owns the label
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
 * Tell `take` of each label what was counted since the last time, up to `now_ns`, until it says something else than 0;
 * returns that. What was told is not told again.
 */
int labels_take(struct labels *labels, uint64_t now_ns, int (*take)(void *context, const struct label_time *time),
                void *context);

#endif
