/*
 * libsample/symbols.h - the procedures and source lines of an image
 *
 * Those of a file are read from it, as the user who asks: it must be the build that was sampled. Where it is not there
 * any more, and for the kernel, they are what dcpid captured. ELF files are read by elfutils' libraries, which a
 * damaged or malicious one may fault.
 */
#ifndef LIBSAMPLE_SYMBOLS_H
#define LIBSAMPLE_SYMBOLS_H

#include <libsample/selection.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sample_symbols;

/*
 * 0; -ENOENT, -EACCES, -SAMPLE_EBUILDID, -SAMPLE_EDAMAGED for a file that is not there, may not be read, is another
 * build, or no ELF file, while nothing was captured; -ENOTSUP for memory that nothing is known of; -ENOMEM. Neither the
 * database nor the selection is needed afterwards.
 */
int sample_symbols_open(struct sample_database *database, const struct sample_selection *selection, size_t image,
                        struct sample_symbols **symbols);
void sample_symbols_close(struct sample_symbols *symbols); /* NULL is allowed */

/*
 * The procedure that `offset` lies in: 0 with the offset at which it begins and its name as linked - NULL when that is
 * not known - or -ENOENT. The name is valid as long as the symbols.
 */
int sample_symbols_find(const struct sample_symbols *symbols, uint64_t offset, uint64_t *start, const char **name);

/* The source line of the instruction there. 0, -ENOENT, or -SAMPLE_EDAMAGED. The path is valid as long as the symbols.
 */
int sample_symbols_line(struct sample_symbols *symbols, uint64_t offset, const char **path, unsigned *line);

/* A C++, Rust or D name without its parameters, for free(); NULL when it is no such name. */
char *sample_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif
