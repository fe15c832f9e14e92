/*
 * label.h - the label of a process tree: one text that its processes share
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_LABEL_H
#define DCPI_PROCESS_LABEL_H

struct label; /* NULL: no label */

struct label *label_new(const char *text);         /* with one owner; NULL: no memory */
struct label *label_share(struct label *label);    /* the same with one owner more */
void label_release(struct label *label);           /* one owner less; the last takes it along */
const char *label_text(const struct label *label); /* "" when there is none */

#endif
