/*
 * file_identity.h - build-ids and inode generations of files that other processes have mapped
 *
 * Files are opened the way the process sees them (below its root, without symbolic links) and believed only when
 * device and inode are those of the mapping: the path may lead to another file by now. Each file is read once.
 * Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_FILE_IDENTITY_H
#define DCPI_PROCESS_FILE_IDENTITY_H

#include <stdint.h>

#include "stream/record.h"

struct file_identities;

struct file_identities *file_identities_new(void); /* NULL and errno (ENOMEM) */
void file_identities_free(struct file_identities *files);

/*
 * Complete `mmap`, which has a device and an inode, with what the file says: its build-id (then device and inode are
 * cleared, as the kernel's records have either) or its inode's generation. `procfs` is an open directory. What cannot
 * be had stays as it is.
 */
void file_identity_complete(struct file_identities *files, int procfs, uint32_t pid, struct record_mmap *mmap);

#endif
