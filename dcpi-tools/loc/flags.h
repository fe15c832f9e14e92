/*
 * flags.h - the options of compiler and linker with which a program leaves a record
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_FLAGS_H
#define DCPI_TOOLS_LOC_FLAGS_H

#include <stdbool.h>

/*
 * Print the flag for the compiler $CC, gcc without that. by_source: it looks at the source, not at what the optimizer
 * made of it. An exit status, after a message if it is not 0.
 */
int loc_print_compiler_flags(bool by_source);

/* Print those for the linker. Likewise. */
int loc_print_linker_flags(void);

#endif
