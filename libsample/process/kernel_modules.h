/*
 * kernel_modules.h - the loaded modules as a list
 *
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_KERNEL_MODULES_H
#define DCPI_PROCESS_KERNEL_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/modules.h"

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

/* Read `procfs`/modules into *modules, which is empty. 0, -ENOMEM, -EACCES (addresses are hidden), -errno. */
int kernel_modules_read(const char *procfs, struct kernel_modules *modules);

bool kernel_modules_equal(const struct kernel_modules *left, const struct kernel_modules *right);

#endif
