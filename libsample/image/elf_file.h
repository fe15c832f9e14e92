/*
 * elf_file.h - one ELF file or ELF image in memory, which may be damaged or malicious (private to this room)
 *
 * Files that elf_file_open() opens are read, not mapped: if a file becomes shorter meanwhile, reading returns an error,
 * where a mapping would end the tool by SIGBUS. libdwfl is not used: it maps, it may ask a debuginfod server, and it
 * aborts on some damaged files.
 * Thread rule: one thread per elf_file; struct elf_segments is a copy without a reference to the file: any thread.
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
 * -DCPI_EDAMAGED when it is no such file. On failure `file` is ELF_FILE_INIT.
 */
int elf_file_open(struct elf_file *file, const char *path);

/*
 * elf_file_open() of a descriptor, which then belongs to `file`, also on failure. The file is mapped, so that only the
 * pages that are read are loaded: if it becomes shorter meanwhile, its reader gets a SIGBUS.
 */
int elf_file_open_descriptor(struct elf_file *file, int fd);

/* elf_file_open() of `size` bytes at `memory` (from malloc), which then belong to `file`, also on failure. */
int elf_file_open_memory(struct elf_file *file, void *memory, size_t size);

#define MINIDEBUG_SIZE_MAX ((size_t)128 << 20) /* bytes, decompressed; real ones are below 10 MiB */

/*
 * Decompress and open .gnu_debugdata of `main`, the small symbol table that some distributions leave in stripped
 * programs (minidebuginfo). 0, -ENOENT when there is none, -ENOMEM, -DCPI_EDAMAGED.
 */
int elf_file_open_minidebug(struct elf_file *mini, const struct elf_file *main);
void elf_file_close(struct elf_file *file); /* a closed one is allowed */

/* The build-id's size (1 to BUILD_ID_SIZE_MAX), or -ENOENT. */
int elf_file_build_id(const struct elf_file *file, uint8_t build_id[BUILD_ID_SIZE_MAX]);
bool elf_file_has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t size);

/* The first section called `name` behind `section` (NULL: of all), and its header; NULL when there is none. */
Elf_Scn *elf_file_next_section(const struct elf_file *file, Elf_Scn *section, const char *name, GElf_Shdr *header);

/* The bytes of a section as they are in the file; NULL when it has none, or is compressed, too large or cut short. */
const Elf_Data *elf_file_bytes(const struct elf_file *file, Elf_Scn *section);

/* The entries of a section in this machine's byte order, for gelf_getsym() etc.; NULL when elf_file_bytes() is NULL. */
Elf_Data *elf_file_entries(const struct elf_file *file, Elf_Scn *section);

/* The next program header of `type` from *index on; moves *index behind it. False when there is none. */
bool elf_file_next_program_header(const struct elf_file *file, uint32_t type, size_t *index, GElf_Phdr *header);

/* A string table; every name below `size` ends inside of it. */
struct elf_names {
	const char *text;
	size_t size;
};

/* The string table in section `number`. 0 or -DCPI_EDAMAGED. */
int elf_file_names(const struct elf_file *file, size_t number, struct elf_names *names);

/* The length of a symbol's name without its version: `memcpy@@GLIBC_2.14` is memcpy. */
size_t elf_symbol_name_length(const char *name);

/* DT_SONAME. 0 with a new string in *soname (free it); -ENOENT when there is none, -DCPI_EDAMAGED, -ENOMEM. */
int elf_file_soname(const struct elf_file *file, char **soname);

/* ---- which part of a file is loaded at which ELF virtual address ---- */

#define ELF_SEGMENTS_MAX 128 /* real programs have two to ten */

struct elf_segment {
	uint64_t offset;  /* in the file */
	uint64_t address; /* as linked */
	uint64_t size;    /* bytes in the file */
	bool executable;
};

struct elf_segments {
	struct elf_segment list[ELF_SEGMENTS_MAX];
	size_t count;
};

/* The loaded segments of a program or library. 0, or -DCPI_EDAMAGED: none, too many, or outside of the file. */
int elf_segments_read(struct elf_segments *segments, const struct elf_file *file);

/*
 * The segments of the file that the debug file `file` was split from. `eu-strip -f` keeps the program headers
 * unchanged; `objcopy --only-keep-debug` does not. So the offsets are computed the way linkers assign them: the lowest
 * offset behind the previous segment that is congruent to the address modulo the alignment.
 */
int elf_segments_read_debug(struct elf_segments *segments, const struct elf_file *file);

/* The segment that holds file offset `offset`, or ELF virtual address `address`; NULL when none does. */
const struct elf_segment *elf_segments_at_offset(const struct elf_segments *segments, uint64_t offset);
const struct elf_segment *elf_segments_at_address(const struct elf_segments *segments, uint64_t address);

/* The file offset of an address that lies in `segment`. */
static inline uint64_t
elf_segment_offset(const struct elf_segment *segment, uint64_t address)
{
	return segment->offset + (address - segment->address);
}

#endif
