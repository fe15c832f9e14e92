/*
 * text_section.h - the code of a program, for benchmarks
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BENCH_TEXT_SECTION_H
#define DCPI_BENCH_TEXT_SECTION_H

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "code/decoder.h"

/* What a file has most code in. */
struct text_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	enum architecture architecture;
	uint16_t machine; /* EM_... */
};

static inline const uint8_t *
map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat st;

	*size = 0;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		*size = (size_t)st.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (bytes == MAP_FAILED)
		bench_require(-errno, path);
	close(fd);
	return bytes;
}

/* The largest section of code. */
static inline struct text_section
find_text(const char *path)
{
	struct text_section text = {NULL};
	size_t size;
	const uint8_t *file = map_file(path, &size);
	Elf64_Ehdr header;

	if (size < sizeof(header) || memcmp(file, ELFMAG, SELFMAG) != 0)
		bench_require(-EINVAL, path);
	memcpy(&header, file, sizeof(header));
	text.machine = header.e_machine;
	bench_require(architecture_of_machine(header.e_machine, &text.architecture), path);
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;

		if (header.e_shoff > size || (size - header.e_shoff) / sizeof(section) <= i)
			break;
		memcpy(&section, file + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR) ||
		    section.sh_size <= text.size)
			continue;
		if (section.sh_offset > size || section.sh_size > size - section.sh_offset)
			continue;
		text.bytes = file + section.sh_offset;
		text.size = section.sh_size;
		text.address = section.sh_addr;
	}
	return text;
}

#endif
