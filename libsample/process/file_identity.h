/*
 * file_identity.h - what a file says of itself that another process has mapped: build-id, generation, version
 *
 * Files are opened the way the process sees them (the mapping itself, the path below its root, its program; then the
 * path below the first process's root and our own), without symbolic links, and believed only when device, inode and
 * generation are those of the mapping: the path may lead to another file by now.
 * All of it may wait for as long as a file system does not answer: only for a process or thread that may hang.
 * Thread rule: stateless, but for struct file_generations, which is one thread's.
 */
#ifndef DCPI_PROCESS_FILE_IDENTITY_H
#define DCPI_PROCESS_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/record.h"

/* What changes when a file is written to; all zero: not known. */
struct file_version {
	uint64_t size;
	uint64_t modified_ns, changed_ns; /* mtime and ctime */
};

/* A file as a mapping shows it. */
struct file_question {
	uint32_t pid;        /* who maps it; 0: not known */
	uint64_t start, end; /* where */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	struct file_version version; /* when this is the file's still, nothing is read */
};

struct file_answer {
	int error;     /* 0, or -ENOENT, -ESTALE, -EACCES, ...: no way leads to this file */
	bool is_same;  /* of the version that was known */
	bool is_roots; /* file_owner.h; false when it is the same */
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: it has none */
	uint32_t generation;   /* 0: the file system does not tell */
	struct file_version version;
};

/* `procfs` is an open directory; `path` as the process sees it, without " (deleted)". */
void file_identity_read(int procfs, const struct file_question *question, const char *path, struct file_answer *answer);

/*
 * Complete `mmap`, which has a device and an inode, with what its file says: its build-id (then device and inode are
 * cleared: an image has either), or its inode's generation. What cannot be had stays as it is.
 */
void file_identity_complete(int procfs, uint32_t pid, struct record_mmap *mmap);

/* Generations of inodes, which /proc does not tell and the kernel's records do. Each file is asked once. */
struct file_generations;

struct file_generations *file_generations_new(void); /* NULL and errno (ENOMEM) */
void file_generations_free(struct file_generations *files);

/* Complete `mmap`, which has a device and an inode, with the inode's generation; 0 stays where it cannot be had. */
void file_generations_complete(struct file_generations *files, int procfs, uint32_t pid, struct record_mmap *mmap);

/* Has the file been asked, so that file_generations_complete() opens nothing? */
bool file_generations_know(struct file_generations *files, const struct record_mmap *mmap);

#endif
