/*
 * kallsyms_copy.h - the functions of the kernel, as they were listed when somebody read them
 *
 * To make the list takes the kernel as long as dcpid works in minutes: what one pass has seen is kept for whoever needs
 * it next. Functions only, and what bounds the kernel's text. Thread rule: one thread at a time.
 */
#ifndef DCPI_PROCESS_KALLSYMS_COPY_H
#define DCPI_PROCESS_KALLSYMS_COPY_H

#include "process/kallsyms.h"

struct kallsyms_copy;

struct kallsyms_copy *kallsyms_copy_new(void);       /* empty; NULL: no memory */
void kallsyms_copy_free(struct kallsyms_copy *copy); /* NULL is allowed */

/* Keep `symbol`, if it is such a one. 0 or -ENOMEM: then the copy is not whole, and of no use. */
int kallsyms_copy_add(struct kallsyms_copy *copy, const struct kallsyms_symbol *symbol);

/* Visit what was kept, in the order it came. 0, or what `visit` said. */
int kallsyms_copy_visit(const struct kallsyms_copy *copy, kallsyms_visit *visit, void *context);

#endif
