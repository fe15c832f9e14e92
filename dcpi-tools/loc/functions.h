/*
 * functions.h - functions whose source the compiler looked at: how often each of their basic blocks ran, and how local
 * their references are
 *
 * Nothing counts blocks. That calls, entries and iterations of loops, and references say how often some ran, gives it
 * for the others, as what comes into a block leaves it.
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_FUNCTIONS_H
#define DCPI_TOOLS_LOC_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "dcpi-tools/loc/profile.h"

struct loc_function {
	const struct loc_loop *text; /* of the profile; its entries are calls */
	double *frequencies;         /* [text->loop->blocks]; negative: not known */
	uint32_t known;              /* of the frequencies */
	double least, mean, most;    /* of these; 0 without any */
	uint32_t classes[STRIDE_CLASSES];
	double references; /* of its loops, that were made */
	/* Means of its loops' references, each as often as it was made; temporal -1: not known. */
	double spatial, temporal;
	double by_stride; /* of 1 / stride, in elements, of streams; 0 of others */
};

struct loc_functions {
	struct loc_function *functions; /* most references first */
	size_t count, room;
};

/* Of a finished profile, which stays as it is while they are used. 0, -ENOMEM; loc_functions_fini() either way. */
int loc_functions_init(struct loc_functions *functions, const struct loc_profile *profile);
void loc_functions_fini(struct loc_functions *functions);

#endif
