/*
 * kernel_modules.h - the list of loaded modules
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_KERNEL_MODULES_H
#define DCPI_PROCESS_KERNEL_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define MODULE_NAME_SIZE 64 /* the kernel's names have at most 55 bytes */

struct kernel_module {
	uint64_t start; /* of its text */
	uint64_t size;  /* of all it has in memory; text comes first */
	char name[MODULE_NAME_SIZE];
};

struct kernel_modules {
	struct kernel_module *modules; /* by address, owned */
	size_t count, capacity;
};

void kernel_modules_fini(struct kernel_modules *modules);

/*
 * Read `procfs`/modules into *modules, which is empty; modules whose address is hidden are left out. 0, -ENOMEM,
 * -errno (-ENOENT: a kernel without modules).
 */
int kernel_modules_read(const char *procfs, struct kernel_modules *modules);

#endif
