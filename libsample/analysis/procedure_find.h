/*
 * procedure_find.h - the procedure that a user means
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_ANALYSIS_PROCEDURE_FIND_H
#define DCPI_ANALYSIS_PROCEDURE_FIND_H

#include "analysis/code_image.h"

struct procedure_query {
	const struct selection *selection;
	const bool *wanted; /* by image; NULL: all that have samples of the event */
	const char *name;   /* as linked or demangled, or an address in it, "0x1139" */
	uint16_t event;     /* whose samples decide which of several procedures is meant */
};

struct procedure_found {
	struct code_image code;      /* opened; code_image_close() it */
	const struct symbol *symbol; /* of code.symbols */
	uint64_t samples;            /* of the event */
};

/*
 * Find the procedure of the query. If several have the name, the only one with samples is meant; if a compiler's clone
 * of it ("NAME.constprop.0") has more than ten times its samples, the clone is meant. 0; -DCPI_ENOSELECTION with a
 * sentence in `why`: none has the name (lists similar names), several have it (lists their images), or it has no
 * samples; the error of opening or reading the image; -ENOMEM.
 */
int procedure_find(const struct procedure_query *query, struct procedure_found *found, char *why, size_t size);

#endif
