/*
 * libsample/symbols.h - the procedures and source lines of an image
 *
 * For an image that is a file, they are read from it, with the rights of this process: the file must be the build that
 * was sampled. For a file that no longer exists, and for the kernel, they are what dcpid captured. The libraries of
 * elfutils read ELF files; a damaged or malicious file may cause a fault in them.
 */
#ifndef LIBSAMPLE_SYMBOLS_H
#define LIBSAMPLE_SYMBOLS_H

#include <libsample/selection.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sample_symbols;

/*
 * 0. If nothing was captured: -ENOENT for a file that does not exist, -EACCES for one that may not be read,
 * -SAMPLE_EBUILDID for another build, -SAMPLE_EDAMAGED for no ELF file, -ENOTSUP for memory without a file. -ENOMEM.
 * The database and the selection are not needed afterwards.
 */
int sample_symbols_open(struct sample_database *database, const struct sample_selection *selection, size_t image,
                        struct sample_symbols **symbols);
void sample_symbols_close(struct sample_symbols *symbols); /* NULL is allowed */

/*
 * The procedure that contains `offset`: 0 with the offset at which it begins and its name as linked (NULL: not known),
 * or -ENOENT. The name is valid as long as the symbols.
 */
int sample_symbols_find(const struct sample_symbols *symbols, uint64_t offset, uint64_t *start, const char **name);

/*
 * The source line of the instruction at `offset`. 0, -ENOENT, or -SAMPLE_EDAMAGED. The path is valid as long as the
 * symbols.
 */
int sample_symbols_line(struct sample_symbols *symbols, uint64_t offset, const char **path, unsigned *line);

/* A C++, Rust or D name without its parameters, for free(); NULL when it is no such name. */
char *sample_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif
