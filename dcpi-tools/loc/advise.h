/*
 * advise.h - what dcpiloc says could be done about loops, and how it would be served by the caches of a machine
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_ADVISE_H
#define DCPI_TOOLS_LOC_ADVISE_H

#include <jansson.h>

#include "dcpi-tools/common/output.h"
#include "dcpi-tools/loc/nests.h"
#include "dcpi-tools/loc/trial.h"
#include "locality/advice.h"

/* A remedy, or the nest as it is. */
struct loc_remedy {
	bool is_as_it_is;
	struct locality_advice advice; /* else */
	double lines;                  /* as locality/advice.h has it */
	bool is_tried;                 /* then `trial` is its result */
	struct loc_trial trial;
};

struct loc_advised {
	const struct loc_nest *nest;
	struct loc_remedy *remedies; /* the first is the nest as it is; then the best first */
	size_t count;
};

struct loc_advice {
	const struct machine *machine; /* on which it was tried; NULL: it was not */
	struct loc_nests nests;
	struct loc_advised *advised; /* nests for which something can be done */
	size_t count;
};

/*
 * For nests that have a hundredth of the profile's references; `loop` (as in struct loc_view) chooses others. `machine`
 * is kept; NULL: nothing is tried, and no tiles are advised. 0, or -ENOMEM. Call loc_advice_free() in any case.
 */
int loc_advise(const struct loc_profile *profile, const char *loop, const struct machine *machine,
               struct loc_advice *advice);
void loc_advice_free(struct loc_advice *advice);

/* 0, -ENOMEM, or the stream's error. */
int loc_advice_print(const struct loc_profile *profile, const struct loc_advice *advice, const struct output *output);

json_t *loc_advice_json(const struct loc_advice *advice); /* NULL: no memory */

#endif
