/*
 * suggest.h - what was probably meant by a name that is none
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_SUGGEST_H
#define DCPI_BASE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_LENGTH_MAX 63 /* longer names are never alike */

/*
 * The one of `count` names that differs least from `wrong` - in at most a third of its characters; letters that changed
 * places count once - or NULL when none is near. The first of equals wins.
 */
const char *suggest_name(const char *wrong, const char *const *names, size_t count);

#endif
