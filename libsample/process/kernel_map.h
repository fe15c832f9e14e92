/*
 * kernel_map.h - what lies where in the kernel
 *
 * The map has the kernel's text, its modules, and the code that it makes at run time (BPF programs, trampolines), which
 * records announce. No record announces that a module was loaded, or that another has replaced it. So the list of
 * modules is read again for an address that lies nowhere, and for one that lies in a module, each at most once a
 * second. The map of another machine's kernel comes from its recording (kernel_map_apply_mmap()).
 * If the size of the kernel's text is known already, its symbols are not listed at first, and so run-time code from
 * before the scan is not known. Until they are listed, a module is only as long as its known size. An address behind a
 * module, or one that lies nowhere, makes the map list them, so no BPF program counts as a part of a module. Thread
 * rule: one thread.
 */
#ifndef DCPI_PROCESS_KERNEL_MAP_H
#define DCPI_PROCESS_KERNEL_MAP_H

#include <stdint.h>

#include "base/log.h"
#include "process/address_space.h"
#include "process/kallsyms.h"
#include "stream/record.h"

struct kernel_map;

/*
 * What is known of kernels from before, by build-id: where they were loaded does not matter. To list the symbols takes
 * the kernel tens of milliseconds; with this, all but their beginning is read only when a sample needs it.
 */
struct kernel_known {
	/* Bytes of text of `image`, the kernel's exactly, a module's at least; 0: not known. Called by a scan only. */
	uint64_t (*text_size)(void *context, const struct image *image);
	void *context;
};

/* Everything is borrowed and must outlive the map, but `known` only its first scan; it may be NULL. NULL and errno
 * (ENOMEM). */
struct kernel_map *kernel_map_new(const char *procfs, const char *sysfs, struct mapped_images *images,
                                  const struct kernel_known *known, const struct log *log);
void kernel_map_free(struct kernel_map *map); /* NULL is allowed */

/* Read text, modules and run-time code. 0 or -ENOMEM; a kernel that hides its addresses is no error. */
int kernel_map_scan(struct kernel_map *map);

/*
 * The kernel's symbols as the scan read them, which the caller owns from now on; NULL: the scan did not read them, or
 * they were taken before.
 */
struct kallsyms_copy *kernel_map_take_symbols(struct kernel_map *map);

/*
 * Apply a kernel mapping of a recording, which has them instead of a scan: one for the kernel's text
 * ("[kernel.kallsyms]_stext", whose address is the offset in the file) and one for each module. 0 or -ENOMEM; any other
 * mapping is ignored.
 */
int kernel_map_apply_mmap(struct kernel_map *map, const struct record_mmap *mmap);

#define KERNEL_MAP_NAME_SIZE (MODULE_NAME_SIZE + 2)

/*
 * The name of the image that perf calls `path`, and its kind: IMAGE_KERNEL, IMAGE_MODULE, or IMAGE_UNKNOWN for anything
 * else, which gets no name.
 */
enum image_kind kernel_map_name(const char *path, char name[KERNEL_MAP_NAME_SIZE]);

/* Apply a RECORD_KSYMBOL. 0 or -ENOMEM. */
int kernel_map_apply(struct kernel_map *map, const struct record *record);

/*
 * What holds `address` at `time_ns` (record time); borrowed, valid until the next call. A module's ends where the
 * kernel says that the module does, behind its data. 0, or 1 + UNKNOWN_KERNEL_HIDDEN or UNKNOWN_KERNEL_ADDRESS.
 */
int kernel_map_find(struct kernel_map *map, uint64_t address, uint64_t time_ns, const struct mapping **mapping);

#endif
