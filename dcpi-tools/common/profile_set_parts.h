/*
 * profile_set_parts.h - the steps from a command line to sets (private to profile_set*.c)
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_PROFILE_SET_PARTS_H
#define DCPI_TOOLS_PROFILE_SET_PARTS_H

#include "dcpi-tools/common/profile_set.h"

#define SET_CHOICES_MAX 16 /* of one set that its title tells of */

struct profile_set_choice {
	int key;    /* an enum options_key */
	char *text; /* borrowed from the command line */
	enum set_kind kind;
	size_t group;  /* 0: before the first --set */
	size_t member; /* of those of its kind, which set it is */
};

/* "run1", "epoch 4", "since 14:00 until 15:00"; several by commas. NULL when memory ends. */
char *profile_set_title(const struct profile_set_choice *const *choices, size_t count);

/* One more, of which nothing is set; NULL when memory ends. */
struct profile_set *profile_sets_grow(struct profile_sets *sets);
void profile_sets_remove(struct profile_sets *sets, size_t index);

/* In the place of each set that stands for several, those. An exit status. */
int profile_sets_expand(struct profile_sets *sets);

#endif
