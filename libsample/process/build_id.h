/*
 * build_id.h - the GNU build-id of a file, by a bounded reader of ELF notes
 *
 * The only content of a binary that the daemon reads itself, in a child that may hang (mapped_file.h). At most 64 KiB
 * of the file is read: the ELF header, the program headers, the notes. Fuzzed by tests/fuzz/build_id_fuzz.c. Thread
 * rule: stateless.
 */
#ifndef DCPI_PROCESS_BUILD_ID_H
#define DCPI_PROCESS_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

/* Find the build-id in notes (as in a PT_NOTE segment or /sys/kernel/notes). Its size (1 to 20), or -ENOENT. */
int build_id_from_notes(const void *notes, size_t size, uint8_t build_id[BUILD_ID_SIZE_MAX]);

/* Find it in an ELF file of which the first `size` bytes are in memory. Its size, or -ENOENT. */
int build_id_from_memory(const void *elf, size_t size, uint8_t build_id[BUILD_ID_SIZE_MAX]);

/* The build-id of the ELF file open at `fd` (either class, this byte order). Its size, -ENOENT, or -errno of reading.
 */
int build_id_from_file(int fd, uint8_t build_id[BUILD_ID_SIZE_MAX]);

#endif
