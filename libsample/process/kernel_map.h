/*
 * kernel_map.h - what lies where in the kernel
 *
 * Its text, its modules, and the code it makes at run time (BPF programs, trampolines), which records tell. Loading a
 * module is told by nobody, nor is that another has taken its place: the list of modules is read again for an address
 * that lies nowhere, and for one that lies in a module, each at most once a second. Of another machine's kernel a
 * recording tells (kernel_map_place.c).
 * Of a kernel that somebody knows the symbols are not listed at first, and with them the code that was made before.
 * Until then a module is as long as it is known to be, so that an address behind it, like one that lies nowhere, has
 * them listed: no program of BPF is taken for a part of a module.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_KERNEL_MAP_H
#define DCPI_PROCESS_KERNEL_MAP_H

#include <stdint.h>

#include "base/log.h"
#include "process/address_space.h"
#include "process/kallsyms_copy.h"
#include "process/mapped_image.h"
#include "process/modules.h"
#include "stream/record.h"

struct kernel_map;

/*
 * What somebody knows of a kernel from before, by build-id: where it was loaded does not matter. To list the symbols
 * takes the kernel tens of milliseconds; with this, all but their beginning is read only when a sample needs it.
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
 * What the scan read of the kernel's symbols, which is the caller's from now on; NULL: nothing, they were known, or
 * they were taken.
 */
struct kallsyms_copy *kernel_map_take_symbols(struct kernel_map *map);

/*
 * What a recording says lay where in the kernel of the machine that it is from: instead of a scan, a mapping for the
 * kernel's text ("[kernel.kallsyms]_stext", whose address is the offset in the file) and for each module. 0 or -ENOMEM;
 * a mapping of anything else is passed by.
 */
int kernel_map_place(struct kernel_map *map, const struct record_mmap *mmap);

#define KERNEL_MAP_NAME_SIZE (MODULE_NAME_SIZE + 2)

/*
 * What the image is called that perf calls `path`, and its kind: IMAGE_KERNEL, IMAGE_MODULE, or IMAGE_UNKNOWN for
 * neither, without a name.
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
