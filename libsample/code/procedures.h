/*
 * procedures.h - the flow graphs of an image's procedures
 *
 * Finds what flow_graph_build() asks for: text and constants of the image, the parts that compilers split off
 * (`NAME.cold`; in programs without symbols what .eh_frame and branches show), and which functions return, by their
 * names. Thread rule: one thread per struct procedures.
 */
#ifndef DCPI_CODE_PROCEDURES_H
#define DCPI_CODE_PROCEDURES_H

#include "code/flow_graph.h"
#include "image/contents.h"
#include "image/symbols.h"

struct procedures;

/* All three must outlive it. NULL and errno: ENOMEM, ENOTSUP for an architecture that is not supported. */
struct procedures *procedures_new(const struct image_file *file, const struct symbol_table *symbols,
                                  const struct image_contents *contents);
void procedures_free(struct procedures *procedures); /* NULL is allowed */

/*
 * The parts of `symbol`, which is one of the table's: its own and, if it has one, the cold one. Returns how many there
 * are, -ENOENT when its text is not in the image, -ENOMEM, -E2BIG.
 */
int procedures_parts(const struct procedures *procedures, const struct symbol *symbol,
                     struct code_part parts[FLOW_PARTS_MAX]);

/*
 * As procedures_parts(), which decodes the first part where others are found by its branches: then `list`, which is
 * empty before and may hold something after an error as well, gets its instructions, for procedures_graph_from().
 */
int procedures_decode_parts(const struct procedures *procedures, const struct symbol *symbol,
                            struct code_part parts[FLOW_PARTS_MAX], struct instruction_list *list);

/* The flow graph of `symbol`, as flow_graph_build(); and -ENOENT. */
int procedures_graph(struct procedures *procedures, const struct symbol *symbol, struct flow_graph **graph);

/* The flow graph of a procedure that consists of these parts, the one with the entry first. */
int procedures_graph_of(struct procedures *procedures, const struct code_part *parts, size_t count,
                        struct flow_graph **graph);

/* Whether it is a part that was split off and says so by its name: f.cold. */
bool procedures_is_split_off(const struct symbol *symbol);

/* What these parts' graph is built from; `parts` and `procedures` must outlive it. */
struct flow_source procedures_source(struct procedures *procedures, const struct code_part *parts, size_t count);

/* The flow graph of the source's parts. `list`, as procedures_decode_parts() left it or empty, is taken over. */
int procedures_graph_from(const struct procedures *procedures, struct instruction_list *list,
                          const struct flow_source *source, struct flow_graph **graph);

/*
 * Whether a function comes back to its caller, by its name as linked; a version ("@GLIBC_2.2.5") and "@plt" behind it
 * do not matter. NULL returns.
 */
bool procedures_symbol_returns(const char *name);

/* The decoder that graphs are made with. */
struct decoder *procedures_decoder(const struct procedures *procedures);

#endif
