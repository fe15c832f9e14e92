#include "image/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* libelf itself takes a section header table that lies outside of the file for no table at all. */
static bool
sections_are_inside(const struct elf_file *file)
{
	const GElf_Ehdr *header = &file->header;
	uint64_t table = (uint64_t)header->e_shnum * header->e_shentsize;

	if (header->e_shoff == 0)
		return true;
	return header->e_shoff <= file->size && table <= file->size - header->e_shoff;
}

static int
check_header(struct elf_file *file)
{
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header))
		return -DCPI_EDAMAGED;
	if (file->header.e_type != ET_EXEC && file->header.e_type != ET_DYN)
		return -DCPI_EDAMAGED;
	return sections_are_inside(file) ? 0 : -DCPI_EDAMAGED;
}

/* A pipe or a device that somebody put in the file's place must neither block nor be set off. */
static int
open_named(struct elf_file *file, const char *path)
{
	do
		file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	while (file->fd < 0 && errno == EINTR);
	if (file->fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	return 0;
}

/* What is open at file->fd; read by `command`. */
static int
begin_file(struct elf_file *file, Elf_Cmd command)
{
	struct stat status;

	if (fstat(file->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -DCPI_EDAMAGED;
	file->size = (uint64_t)status.st_size;
	file->elf = elf_begin(file->fd, command, NULL);
	return check_header(file);
}

int
elf_file_open(struct elf_file *file, const char *path)
{
	int err;

	*file = (struct elf_file)ELF_FILE_INIT;
	elf_version(EV_CURRENT);
	err = open_named(file, path);
	if (!err)
		err = begin_file(file, ELF_C_READ);
	if (err)
		elf_file_close(file);
	return err;
}

int
elf_file_open_descriptor(struct elf_file *file, int fd)
{
	int err;

	*file = (struct elf_file)ELF_FILE_INIT;
	elf_version(EV_CURRENT);
	file->fd = fd;
	err = begin_file(file, ELF_C_READ_MMAP); /* where it cannot be mapped, libelf reads it */
	if (err)
		elf_file_close(file);
	return err;
}

int
elf_file_open_memory(struct elf_file *file, void *memory, size_t size)
{
	int err;

	*file = (struct elf_file)ELF_FILE_INIT;
	elf_version(EV_CURRENT);
	file->memory = memory;
	file->size = size;
	file->elf = elf_memory(memory, size);
	err = check_header(file);
	if (err)
		elf_file_close(file);
	return err;
}

void
elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->memory);
	*file = (struct elf_file)ELF_FILE_INIT;
}

int
elf_file_build_id(const struct elf_file *file, uint8_t build_id[BUILD_ID_SIZE_MAX])
{
	const void *bits;
	ssize_t size = dwelf_elf_gnu_build_id(file->elf, &bits);

	if (size <= 0 || size > BUILD_ID_SIZE_MAX)
		return -ENOENT;
	memcpy(build_id, bits, (size_t)size);
	return (int)size;
}

bool
elf_file_has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t size)
{
	uint8_t own[BUILD_ID_SIZE_MAX];
	int own_size = elf_file_build_id(file, own);

	return own_size > 0 && (size_t)own_size == size && memcmp(own, build_id, size) == 0;
}

Elf_Scn *
elf_file_section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		const char *own = gelf_getshdr(section, header) ? elf_strptr(file->elf, names, header->sh_name) : NULL;

		if (own && strcmp(own, name) == 0)
			return section;
	}
	return NULL;
}

const Elf_Data *
elf_file_bytes(const struct elf_file *file, Elf_Scn *section)
{
	GElf_Shdr header;
	const Elf_Data *data;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || header.sh_flags & SHF_COMPRESSED)
		return NULL;
	if (header.sh_size > ELF_SECTION_SIZE_MAX || header.sh_offset > file->size ||
	    header.sh_size > file->size - header.sh_offset)
		return NULL;
	data = elf_rawdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

int
elf_file_names(const struct elf_file *file, size_t number, struct elf_names *names)
{
	Elf_Scn *section = elf_getscn(file->elf, number);
	const Elf_Data *data = section ? elf_file_bytes(file, section) : NULL;
	const char *last = data ? memrchr(data->d_buf, '\0', data->d_size) : NULL;

	if (!last)
		return -DCPI_EDAMAGED;
	names->text = data->d_buf;
	names->size = (size_t)(last - names->text);
	return 0;
}

size_t
symbol_name_length(const char *name)
{
	const char *at = *name ? strchr(name + 1, '@') : NULL;

	return at ? (size_t)(at - name) : strlen(name);
}
