/*
 * trouble.h - what is wrong, in sentences for the service manager, the log and `dcpictl status`
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_TROUBLE_H
#define DCPI_COLLECTORD_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "collectord/collection.h"

#define TROUBLE_SIZE 1024 /* of a sentence; what is longer is cut */

/* Why the database in `directory` cannot be written, and the command that mends it where there is one. */
void trouble_explain(const char *directory, int err, char *text, size_t size);

/*
 * The `index`-th sentence, the worst first: "cannot write /var/lib/dcpi: No space left on device; 12345 samples kept in
 * memory, 0 dropped since 10:02" (local time). False when there are no more.
 */
bool trouble_describe(const struct collection_view *view, unsigned index, char *text, size_t size);

#endif
