/*
 * procedures.h - the flow graphs of an image's procedures
 *
 * Supplies what flow_graph_build() needs: text and constants of the image, the parts that compilers split off
 * (`NAME.cold`; in programs without symbols, parts that .eh_frame and branches show), and which functions return, by
 * their names. Thread rule: one thread per struct procedures.
 */
#ifndef DCPI_CODE_PROCEDURES_H
#define DCPI_CODE_PROCEDURES_H

#include "code/flow_graph.h"
#include "image/contents.h"
#include "image/symbols.h"

struct procedures;

/*
 * All three arguments must outlive the result. NULL and errno: ENOMEM, ENOTSUP for an architecture that is not
 * supported.
 */
struct procedures *procedures_new(const struct image_file *file, const struct symbol_table *symbols,
                                  const struct image_contents *contents);
void procedures_free(struct procedures *procedures); /* NULL is allowed */

/*
 * The parts of `symbol`, which must be one of the table: its main part and, if it has one, its cold part. Returns how
 * many there are, -ENOENT when its text is not in the image, -ENOMEM, -E2BIG.
 */
int procedures_parts(const struct procedures *procedures, const struct symbol *symbol,
                     struct code_part parts[FLOW_PARTS_MAX]);

/*
 * procedures_parts() that keeps what it decodes. If the branches of the first part are needed to find the others, it
 * decodes the first part, and `list` gets the instructions, for procedures_graph_from(). `list` must be empty before;
 * it may hold instructions after an error, too.
 */
int procedures_decode_parts(const struct procedures *procedures, const struct symbol *symbol,
                            struct code_part parts[FLOW_PARTS_MAX], struct instruction_list *list);

/* The flow graph of `symbol`. Errors of flow_graph_build(), and -ENOENT. */
int procedures_graph(struct procedures *procedures, const struct symbol *symbol, struct flow_graph **graph);

/* The flow graph of a procedure that consists of `parts`; the first one begins with the entry. */
int procedures_graph_of(struct procedures *procedures, const struct code_part *parts, size_t count,
                        struct flow_graph **graph);

/* Whether the symbol's name shows that it is a part that was split off: f.cold. */
bool procedures_is_split_off(const struct symbol *symbol);

/* The source from which the graph of `parts` is built; `parts` and `procedures` must outlive it. */
struct flow_source procedures_source(struct procedures *procedures, const struct code_part *parts, size_t count);

/* The flow graph of the source's parts. It takes `list`, which is empty or the result of procedures_decode_parts(). */
int procedures_graph_from(const struct procedures *procedures, struct instruction_list *list,
                          const struct flow_source *source, struct flow_graph **graph);

/*
 * Whether a function returns to its caller, by its name as linked; a version ("@GLIBC_2.2.5") and "@plt" behind it are
 * ignored. A function without a name (NULL) returns.
 */
bool procedures_symbol_returns(const char *name);

/* The decoder that the graphs are made with. */
struct decoder *procedures_decoder(const struct procedures *procedures);

#endif
