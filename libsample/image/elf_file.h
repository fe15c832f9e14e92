/*
 * elf_file.h - one ELF file or ELF image in memory, opened with distrust (private to this room)
 *
 * Files are read, never mapped: one that is cut short while it is read gives an error, where a mapping would end the
 * tool by SIGBUS. libdwfl is not used: it maps, it may ask a debuginfod server, and it aborts on some damaged files.
 * Thread rule: one thread per elf_file.
 */
#ifndef DCPI_IMAGE_ELF_FILE_H
#define DCPI_IMAGE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/record.h"

struct elf_file {
	Elf *elf;     /* NULL: not open */
	int fd;       /* -1: none, it is in memory */
	void *memory; /* owned; NULL when it is read from fd */
	uint64_t size;
	GElf_Ehdr header;
};

#define ELF_FILE_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* Largest section that is read into memory; a larger one counts as damaged. */
#define ELF_SECTION_SIZE_MAX ((uint64_t)1 << 30)

/*
 * Open an executable or shared object (or what was split from one). 0; -ENOENT, -EACCES and other errno of open(2);
 * -DCPI_EDAMAGED for what is no such file. On failure `file` is as ELF_FILE_INIT.
 */
int elf_file_open(struct elf_file *file, const char *path);

/*
 * The same for a descriptor, which belongs to `file` from here on, also on failure. It is mapped, so that only what is
 * looked at is brought: who reads from one that is cut short meanwhile gets a SIGBUS.
 */
int elf_file_open_descriptor(struct elf_file *file, int fd);

/* The same for `size` bytes at `memory` (from malloc), which belong to `file` from here on, also on failure. */
int elf_file_open_memory(struct elf_file *file, void *memory, size_t size);
void elf_file_close(struct elf_file *file); /* closed ones are allowed */

/* The build-id's size (1 to BUILD_ID_SIZE_MAX), or -ENOENT. */
int elf_file_build_id(const struct elf_file *file, uint8_t build_id[BUILD_ID_SIZE_MAX]);
bool elf_file_has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t size);

/* The first section of that name with its header, NULL when there is none. */
Elf_Scn *elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header);

/* The bytes of a section as they are in the file, NULL when it has none, is compressed, too large or cut short. */
const Elf_Data *elf_file_bytes(const struct elf_file *file, Elf_Scn *section);

/* A string table; every name below `size` ends inside of it. */
struct elf_names {
	const char *text;
	size_t size;
};

/* The string table in section `number`. 0 or -DCPI_EDAMAGED. */
int elf_file_names(const struct elf_file *file, size_t number, struct elf_names *names);

/* The length of a symbol's name without its version: `memcpy@@GLIBC_2.14` is memcpy. */
size_t symbol_name_length(const char *name);

#endif
