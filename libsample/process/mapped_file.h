/*
 * mapped_file.h - files that other processes have mapped: open them, say whose they are and what they contain
 *
 * The owner of the process decides what lies at its paths: links, pipes, devices. So a path is first opened with
 * O_PATH, which has no side effects, and only a regular file is then opened for reading.
 *
 * All of it may wait for as long as a file system does not answer: only for a process or thread that may hang.
 * Thread rule: stateless, except struct file_generations, which belongs to one thread.
 */
#ifndef DCPI_PROCESS_MAPPED_FILE_H
#define DCPI_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/record.h"

/* ---- opening: `procfs` is an open directory; an O_PATH descriptor, or -errno ---- */

/* `path` below the root of the process, without symbolic links. */
int mapped_file_below_root(int procfs, uint32_t pid, const char *path);

/* Gets an O_PATH descriptor of the directory in which the next name of a path is looked up. 0, or -errno, which ends
 * the walk. */
typedef int mapped_file_step(void *context, int directory);

/* mapped_file_below_root(), which also gives each directory on the way to `step`: the root first, the file not. */
int mapped_file_walk(int procfs, uint32_t pid, const char *path, mapped_file_step *step, void *context);

/* Links that lead to the file itself, also after it was renamed or deleted: the program's, and that of the mapping with
 * exactly these addresses (CAP_CHECKPOINT_RESTORE). */
int mapped_file_exe(int procfs, uint32_t pid);
int mapped_file_of_mapping(int procfs, uint32_t pid, uint64_t start, uint64_t end);

/* Open the file of an O_PATH descriptor, which stays open, for reading: a descriptor, -errno, or -EINVAL for anything
 * but a regular file. */
int mapped_file_reopen(int path);

/* ---- ownership ----
 *
 * Anybody can make a file that carries the build-id of another. They differ in the users who could have made them: a
 * file is root's when it lies at its path below our own root, root owns it and each directory on the way, and nobody
 * else may write to any of them. A file system that a user mounts (FUSE) reports whatever owner that user likes. A
 * container's file is root's only where its path in the container leads us to it, too.
 */

/*
 * Root's file at `path`, without symbolic links; `procfs` is an open directory. An O_PATH descriptor; -EPERM when
 * another user may have made it; -errno.
 */
int mapped_file_open_roots(int procfs, const char *path);

/* Is the file `fd` that one? */
bool mapped_file_is_roots(int procfs, const char *path, int fd);

/* ---- identity ----
 *
 * Files are opened the way the process sees them (the mapping itself, the path below its root, its program; then the
 * path below the first process's root and our own), without symbolic links, and accepted only when device, inode and
 * generation are those of the mapping: the path may lead to another file by now.
 */

/* What changes when a file is written to; all zero: not known. */
struct file_version {
	uint64_t size;
	uint64_t modified_ns, changed_ns; /* mtime and ctime */
};

/* A file as a mapping shows it. */
struct file_question {
	uint32_t pid;        /* of the process that maps it; 0: not known */
	uint64_t start, end; /* addresses of the mapping */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	struct file_version version; /* the file is not read when it still has this version */
};

struct file_answer {
	int error;     /* 0, or -ENOENT, -ESTALE, -EACCES, ...: no way leads to this file */
	bool is_same;  /* it has the version that was known */
	bool is_roots; /* mapped_file_is_roots(); false when is_same */
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t build_id_size; /* 0: it has none */
	uint32_t generation;   /* 0: the file system does not report it */
	struct file_version version;
};

/* `procfs` is an open directory; `path` as the process sees it, without " (deleted)". */
void mapped_file_identify(int procfs, const struct file_question *question, const char *path,
                          struct file_answer *answer);

/*
 * Complete `mmap`, which has a device and an inode, with what its file contains: its build-id (then device and inode
 * are cleared: an image has either), or its inode's generation. What cannot be read stays as it is.
 */
void mapped_file_complete(int procfs, uint32_t pid, struct record_mmap *mmap);

/* Generations of inodes, which the kernel's records have and /proc has not. Each file is opened once for it. */
struct file_generations;

struct file_generations *file_generations_new(void); /* NULL and errno (ENOMEM) */
void file_generations_free(struct file_generations *files);

/* Complete `mmap`, which has a device and an inode, with the inode's generation; 0 stays where it cannot be read. */
void file_generations_complete(struct file_generations *files, int procfs, uint32_t pid, struct record_mmap *mmap);

/* Is the generation of this file known, so that file_generations_complete() opens nothing? */
bool file_generations_know(struct file_generations *files, const struct record_mmap *mmap);

#endif
