/*
 * kallsyms.h - the kernel's own list of its functions
 *
 * Read in one pass and handed out symbol by symbol; addresses are used to find bases and sizes and are never stored.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_KALLSYMS_H
#define DCPI_PROCESS_KALLSYMS_H

#include <stdint.h>

struct kallsyms_symbol {
	uint64_t address;
	char type;        /* as nm(1) prints it; 't', 'T', 'w', 'W' are code */
	const char *name; /* valid during the call */
	const char
		*module; /* without brackets, "" for the kernel itself, "bpf" for BPF programs; valid during the call */
};

/* Returns 0 to go on; anything else ends the pass and becomes its result. */
typedef int kallsyms_visit(void *context, const struct kallsyms_symbol *symbol);

/* Visit every symbol of `procfs`/kallsyms - if it cannot be read, of the first process' - whose address is not 0. 0,
 * -errno, -EACCES when the addresses are hidden (all zero), or what `visit` said. */
int kallsyms_read(const char *procfs, kallsyms_visit *visit, void *context);

#endif
