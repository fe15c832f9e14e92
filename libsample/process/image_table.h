/*
 * image_table.h - images: what a mapping shows, when two are equal, those seen in a session; why a sample has none
 *
 * An image is a file with code in it, or something that stands for one. Two mappings show one image if their identities
 * are equal: the kind, and the build-id if there is one; otherwise the file's device, inode and generation; otherwise -
 * for memory without a file - the name. One path with a new build is a new image. Numbers count from 0 in the order of
 * first use; they belong to the session, not to the database.
 * A table takes at most IMAGE_TABLE_BYTES_MAX, and then no more images. Its owner begins a new one long before, unless
 * the database cannot be written.
 * Thread rule: one thread for a table; a `const struct image *` stays valid and unchanged until image_table_free(), and
 * may be handed to another thread. All other functions are stateless.
 */
#ifndef DCPI_PROCESS_IMAGE_TABLE_H
#define DCPI_PROCESS_IMAGE_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

/* Stored in the database: never renumber. The comment says what an offset is. */
enum image_kind {
	IMAGE_UNKNOWN = 0,
	IMAGE_USER = 1,   /* a mapped file: bytes from the start of the file */
	IMAGE_KERNEL = 2, /* bytes from _stext */
	IMAGE_MODULE = 3, /* bytes from the start of the module's text */
	IMAGE_VDSO = 4,   /* bytes from the start of the vdso */
	IMAGE_JIT = 5,    /* code the kernel made at run time (BPF, trampolines): bytes from the symbol's start */
	IMAGE_ANON = 6,   /* memory without a file (a user's JIT, memfd): bytes from the start of the mapping */
	IMAGE_STACKS = 7, /* stands for all call stacks: the number of the innermost frame's node (stack_table.h) */
};
#define IMAGE_KINDS 8

struct image {
	enum image_kind kind;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: none */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation; /* inode 0: not known */
	uint32_t content; /* counts what the file held, when it was written to in place: the session's, never stored */
	bool deleted;     /* the path was gone when the file was mapped */
	bool is_roots; /* only root could have put it at its path (mapped_file_is_roots()); not part of the identity */
	const char *path; /* as the process saw it; "[kernel]", "[ext4]" (a module), "[vdso]", "[anon]" for what is
	                      no file */
};

/* Text of the kernel itself or of a module. */
static inline bool
image_is_of_kernel(const struct image *image)
{
	return image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE;
}

/* ---- identity ---- */

/*
 * Two images are one if these are equal: the kind, and the build-id where there is one, else the file's device, inode
 * and generation, and which of its contents it had. An image with neither is identified by its name, which is not part
 * of this key. No padding, so that it can be compared and hashed as bytes.
 */
struct image_identity {
	uint64_t inode, inode_generation;
	uint32_t device_major, device_minor;
	uint32_t content, zero;
	uint16_t kind, build_id_size;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
};

/* False when only the name identifies `image`. */
bool image_identity(const struct image *image, struct image_identity *identity);

/* `kind`, or IMAGE_UNKNOWN for a number out of range. */
enum image_kind image_kind_checked(enum image_kind kind);

/* ---- the image that a mapping shows, by the name that the kernel gave it ----
 *
 * Names that do not begin with a slash, and a few that do, are the kernel's names for memory without a file; numbers
 * and details in them are dropped, so that there is one image per kind of memory.
 */

/* The build-id of the 64-bit vdso: one for all processes of a kernel. */
struct vdso_identity {
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: not known */
};

/* Read it from this process's own vdso. */
void vdso_identity_read(struct vdso_identity *vdso);

/* Fill *image; its path points to `buffer`, to the record's path or to a constant. */
void image_of_mapping(const struct record_mmap *mmap, const struct vdso_identity *vdso, struct image *image,
                      char buffer[PATH_MAX]);

/*
 * Memory that has a name may hold a program (memfd_create(2), fexecve(3)): where its build-id can be read, it counts as
 * a file until it turns out to have none. *image is as image_of_mapping() filled it; its path lies in that buffer.
 */
void image_of_memory_file(const struct record_mmap *mmap, struct image *image);

/* Is it an image of image_of_memory_file() without a build-id? image_make_memory() turns it back into memory. */
bool image_is_memory_file(const struct image *image);
void image_make_memory(struct image *image);

/* ---- the table ---- */

#define IMAGE_TABLE_BYTES_MAX ((size_t)4 << 20) /* as of image_table_bytes() */

struct image_table;

struct image_table *image_table_new(void);        /* NULL and errno (ENOMEM) */
void image_table_free(struct image_table *table); /* NULL is allowed */

/* The number of the image with this identity, new or not; copies *image and its path. 0, -ENOMEM, or -ENOSPC. */
int image_table_intern(struct image_table *table, const struct image *image, uint32_t *number);

/* Image `number`, which must be below image_table_count(). */
const struct image *image_table_get(const struct image_table *table, uint32_t number);
uint32_t image_table_count(const struct image_table *table);
size_t image_table_bytes(const struct image_table *table); /* of memory, the hash tables left out */
bool image_table_is_full(const struct image_table *table); /* it has said -ENOSPC */

/* ---- why a sample has no image ---- */

/* Stored in the database: append only. Name and sentence for each. */
#define UNKNOWN_CAUSES(X)                                                                                              \
	X(UNKNOWN_PROCESS, "no-process", "the process was never seen")                                                 \
	X(UNKNOWN_ADDRESS, "no-mapping", "the address lies in no known mapping of the process")                        \
	X(UNKNOWN_NAMESPACE, "other-pid-namespace", "the process lives in another pid namespace than dcpid")           \
	X(UNKNOWN_KERNEL_HIDDEN, "kernel-hidden",                                                                      \
	  "kernel addresses are hidden from dcpid (kptr_restrict, CAP_SYSLOG)")                                        \
	X(UNKNOWN_KERNEL_ADDRESS, "kernel-address", "the kernel address lies in no known module or function")          \
	X(UNKNOWN_GUEST, "guest", "taken in a virtual machine's guest")                                                \
	X(UNKNOWN_MODE, "mode", "the processor mode was not recorded")                                                 \
	X(UNKNOWN_MEMORY, "no-memory", "dcpid had no memory to remember the image or its mapping")                     \
	X(UNKNOWN_RECORDS, "records-missed",                                                                           \
	  "a record about the process was lost, or it began on a CPU that had just come online")

enum unknown_cause {
#define UNKNOWN_CAUSE_VALUE(name, id, text) name,
	UNKNOWN_CAUSES(UNKNOWN_CAUSE_VALUE)
#undef UNKNOWN_CAUSE_VALUE
		UNKNOWN_CAUSE_COUNT
};

const char *unknown_cause_name(unsigned cause); /* "no-process", ...; "other" for a number out of range */
const char *unknown_cause_text(unsigned cause);

#endif
