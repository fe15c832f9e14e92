/*
 * modules.h - the kernel's list of its loaded modules
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_MODULES_H
#define DCPI_PROCESS_MODULES_H

#include <stdint.h>

#define MODULE_NAME_SIZE 64 /* with its NUL; the kernel's limit is 56 */

struct module {
	const char *name; /* valid during the call */
	uint64_t address; /* of its text */
	uint64_t size;    /* bytes, of all its parts: at least that of its text */
};

/* Returns 0 to go on; anything else ends the pass and becomes its result. */
typedef int modules_visit(void *context, const struct module *module);

/*
 * Visit every module of `procfs`/modules that has an address. 0 (also when the kernel has no modules at all), -errno,
 * -EACCES when the addresses are hidden (all zero), or what `visit` said.
 */
int modules_read(const char *procfs, modules_visit *visit, void *context);

#endif
