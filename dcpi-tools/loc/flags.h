/*
 * flags.h - the options of compiler and linker with which a program leaves a record
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_TOOLS_LOC_FLAGS_H
#define DCPI_TOOLS_LOC_FLAGS_H

/* Print the flag for the compiler $CC, gcc without that. An exit status, after a message if it is not 0. */
int loc_print_compiler_flags(void);

/* Print those for the linker. Likewise. */
int loc_print_linker_flags(void);

#endif
