/*
 * kernel_map_state.h - what kernel_map.c and kernel_map_place.c share
 */
#ifndef DCPI_PROCESS_KERNEL_MAP_STATE_H
#define DCPI_PROCESS_KERNEL_MAP_STATE_H

#include "process/address_space.h"
#include "process/kernel_map.h"
#include "process/kernel_modules.h"

/* What is done at most once a REREAD_INTERVAL. */
struct reread {
	bool done; /* at time_ns */
	uint64_t time_ns;
};

struct kernel_map {
	const char *procfs, *sysfs;
	struct mapped_images *images;
	const struct kernel_known *known; /* NULL, also after the scan */
	const struct log *log;
	struct mapping_budget budget;
	bool hidden;
	bool incomplete;           /* a mapping of a recording could not be remembered */
	struct mapping text;       /* image NULL: bounds are not known */
	struct address_space *jit; /* looked up first: its bounds are exact */
	struct address_space *modules;
	struct kallsyms_copy *symbols; /* of the scan, until somebody takes them */
	struct kernel_modules list;    /* what `modules` was made of */
	bool scanned;                  /* else nothing of the machine is read */
	bool unlisted;                 /* the kernel's symbols were not listed; modules are as long as is known */
	struct reread for_nothing;     /* the list, because nothing lies at an address */
	struct reread for_change;      /* because another module may lie there by now */
};

#endif
