/*
 * mapped_file.h - opening the files of other processes, without anything happening
 *
 * Whoever owns the process decides what lies at its paths: links, pipes, devices. So a name leads to a descriptor that
 * is good for nothing (O_PATH) first, and what is no regular file is not opened.
 * Thread rule: stateless.
 */
#ifndef DCPI_PROCESS_MAPPED_FILE_H
#define DCPI_PROCESS_MAPPED_FILE_H

#include <stdint.h>

/* `procfs` is an open directory. All give an O_PATH descriptor, or -errno. */

/* `path` below the root of the process, without symbolic links. */
int mapped_file_below_root(int procfs, uint32_t pid, const char *path);

/* Is given an O_PATH descriptor of what the next name of a path is looked up in. 0, or -errno, which ends the walk. */
typedef int mapped_file_step(void *context, int directory);

/* mapped_file_below_root(), and each directory on the way is given to `step`: the root first, the file not. */
int mapped_file_walk(int procfs, uint32_t pid, const char *path, mapped_file_step *step, void *context);

/* Links that lead to the file itself, whatever became of its name: the program's, and that of the mapping with exactly
 * these addresses (CAP_CHECKPOINT_RESTORE). */
int mapped_file_exe(int procfs, uint32_t pid);
int mapped_file_of_mapping(int procfs, uint32_t pid, uint64_t start, uint64_t end);

/* What an O_PATH descriptor, which stays open, stands for, for reading: a descriptor, -errno, or -EINVAL for what is no
 * regular file. */
int mapped_file_reopen(int path);

#endif
