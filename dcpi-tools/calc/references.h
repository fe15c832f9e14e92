/*
 * references.h - how far apart the references of a procedure's loads and stores are, where a record of its loops says
 * it
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_CALC_REFERENCES_H
#define DCPI_TOOLS_CALC_REFERENCES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/code_image.h"
#include "code/flow_graph.h"
#include "dcpi-tools/loc/strides.h"

#define REFERENCES_TEXT 256

struct calc_references;

/*
 * 0 with NULL there: no record in the database has loops of the image's build, or the image has no lines. -ENOMEM, or
 * an error of the store. `graph` and `code` must outlive them.
 */
int references_read(struct profile *from, const struct code_image *code, const struct flow_graph *graph,
                    struct calc_references **references);
void references_free(struct calc_references *references); /* NULL is allowed */

/* "stride 8: a or b"; "" where nothing is known of the graph's instruction, or `references` is NULL. */
const char *references_text(const struct calc_references *references, uint32_t instruction, char text[REFERENCES_TEXT]);

/* Likewise an array, NULL where nothing is known. */
json_t *references_json(const struct calc_references *references, uint32_t instruction);

#endif
