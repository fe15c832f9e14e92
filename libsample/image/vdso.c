#include "image/vdso.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The section headers come last in what the kernel's linker script writes; segments are asked all the same. */
static size_t
vdso_size(const ElfW(Ehdr) * header)
{
	const ElfW(Phdr) *segments = (const void *)((const char *)header + header->e_phoff);
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	for (size_t i = 0; i < header->e_phnum; i++) {
		size_t end = segments[i].p_offset + segments[i].p_filesz;

		if (segments[i].p_type == PT_LOAD && end > size)
			size = end;
	}
	return size;
}

int
vdso_open(struct elf_file *file)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	void *copy;

	*file = (struct elf_file)ELF_FILE_INIT;
	if (!header)
		return -ENOENT;
	size = vdso_size(header);
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, header, size);
	return elf_file_open_memory(file, copy, size);
}
