#include "image/elf_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* libelf itself takes a section header table that lies outside of the file for no table at all. */
static int
check_header(struct elf_file *file)
{
	GElf_Ehdr *header = &file->header;

	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, header))
		return -DCPI_EDAMAGED;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -DCPI_EDAMAGED;
	if (header->e_shoff && (header->e_shoff > file->size ||
	                        (uint64_t)header->e_shnum * header->e_shentsize > file->size - header->e_shoff))
		return -DCPI_EDAMAGED;
	return 0;
}

/* Open file->fd, which libelf reads by `command`; on failure it is closed. */
static int
begin_file(struct elf_file *file, Elf_Cmd command)
{
	struct stat status;
	int err;

	elf_version(EV_CURRENT);
	if (fstat(file->fd, &status)) {
		err = -errno;
	} else if (!S_ISREG(status.st_mode)) {
		err = -DCPI_EDAMAGED;
	} else {
		file->size = (uint64_t)status.st_size;
		file->elf = elf_begin(file->fd, command, NULL);
		err = check_header(file);
	}
	if (err)
		elf_file_close(file);
	return err;
}

int
elf_file_open(struct elf_file *file, const char *path)
{
	*file = (struct elf_file)ELF_FILE_INIT;
	/* a pipe or a device that somebody put in the file's place must not block, and must not be set off */
	file->fd = (int)TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (file->fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	return begin_file(file, ELF_C_READ);
}

int
elf_file_open_descriptor(struct elf_file *file, int fd)
{
	*file = (struct elf_file)ELF_FILE_INIT;
	file->fd = fd;
	return begin_file(file, ELF_C_READ_MMAP); /* where it cannot be mapped, libelf reads it */
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

#define DECODER_MEMORY_MAX ((uint64_t)128 << 20) /* bytes; xz -9 needs 65 MiB */

/* Make room for at least one more byte, within MINIDEBUG_SIZE_MAX. */
static int
grow(uint8_t **memory, size_t *capacity)
{
	size_t larger = *capacity ? *capacity * 4 : (size_t)1 << 18;
	uint8_t *moved;

	if (*capacity >= MINIDEBUG_SIZE_MAX)
		return -DCPI_EDAMAGED;
	if (larger > MINIDEBUG_SIZE_MAX)
		larger = MINIDEBUG_SIZE_MAX;
	moved = realloc(*memory, larger);
	if (!moved)
		return -ENOMEM;
	*memory = moved;
	*capacity = larger;
	return 0;
}

static int
decompress(const Elf_Data *data, uint8_t **memory, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = 0;
	lzma_ret result;
	int err = 0;

	if (lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	do {
		if (*size == capacity)
			err = grow(memory, &capacity);
		if (err)
			goto out;
		stream.next_out = *memory + *size;
		stream.avail_out = capacity - *size;
		result = lzma_code(&stream, LZMA_FINISH);
		*size = capacity - stream.avail_out;
	} while (result == LZMA_OK);
	if (result == LZMA_MEM_ERROR)
		err = -ENOMEM;
	else if (result != LZMA_STREAM_END)
		err = -DCPI_EDAMAGED;
out:
	lzma_end(&stream);
	return err;
}

int
elf_file_open_minidebug(struct elf_file *mini, const struct elf_file *main)
{
	const Elf_Data *data;
	uint8_t *memory = NULL;
	Elf_Scn *section;
	size_t size = 0;
	GElf_Shdr header;
	int err;

	*mini = (struct elf_file)ELF_FILE_INIT;
	section = elf_file_next_section(main, NULL, ".gnu_debugdata", &header);
	if (!section)
		return -ENOENT;
	data = elf_file_bytes(main, section);
	if (!data)
		return -DCPI_EDAMAGED;
	err = decompress(data, &memory, &size);
	if (err) {
		free(memory);
		return err;
	}
	return elf_file_open_memory(mini, memory, size);
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
elf_file_next_section(const struct elf_file *file, Elf_Scn *section, const char *name, GElf_Shdr *header)
{
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

Elf_Data *
elf_file_entries(const struct elf_file *file, Elf_Scn *section)
{
	Elf_Data *data = elf_file_bytes(file, section) ? elf_getdata(section, NULL) : NULL;

	return data && data->d_buf ? data : NULL;
}

bool
elf_file_next_program_header(const struct elf_file *file, uint32_t type, size_t *index, GElf_Phdr *header)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count))
		return false;
	while (*index < count)
		if (gelf_getphdr(file->elf, (int)(*index)++, header) && header->p_type == type)
			return true;
	return false;
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
elf_symbol_name_length(const char *name)
{
	const char *at = *name ? strchr(name + 1, '@') : NULL;

	return at ? (size_t)(at - name) : strlen(name);
}

int
elf_file_soname(const struct elf_file *file, char **soname)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_next_section(file, NULL, ".dynamic", &header);
	Elf_Data *data = section ? elf_file_entries(file, section) : NULL;
	struct elf_names names;
	GElf_Dyn entry;
	int err;

	*soname = NULL;
	if (!data)
		return -ENOENT;
	for (int i = 0;; i++) {
		if (!gelf_getdyn(data, i, &entry) || entry.d_tag == DT_NULL)
			return -ENOENT;
		if (entry.d_tag == DT_SONAME)
			break;
	}
	err = elf_file_names(file, header.sh_link, &names);
	if (err)
		return err;
	if (entry.d_un.d_val >= names.size)
		return -DCPI_EDAMAGED;
	*soname = strdup(names.text + entry.d_un.d_val);
	return *soname ? 0 : -ENOMEM;
}

static int
segments_add(struct elf_segments *segments, const GElf_Phdr *header, uint64_t offset, uint64_t size)
{
	if (segments->count == ELF_SEGMENTS_MAX || offset > UINT64_MAX - size || header->p_vaddr > UINT64_MAX - size)
		return -DCPI_EDAMAGED;
	segments->list[segments->count++] = (struct elf_segment){
		.offset = offset,
		.address = header->p_vaddr,
		.size = size,
		.executable = header->p_flags & PF_X,
	};
	return 0;
}

int
elf_segments_read(struct elf_segments *segments, const struct elf_file *file)
{
	GElf_Phdr header;
	size_t index = 0;
	int err;

	segments->count = 0;
	while (elf_file_next_program_header(file, PT_LOAD, &index, &header)) {
		if (header.p_offset > file->size || header.p_filesz > file->size - header.p_offset)
			return -DCPI_EDAMAGED;
		err = segments_add(segments, &header, header.p_offset, header.p_filesz);
		if (err)
			return err;
	}
	return segments->count ? 0 : -DCPI_EDAMAGED;
}

/* Does the file lack code that its program headers have? objcopy leaves no bytes of it and moves the offsets. */
static bool
code_was_removed(const struct elf_file *file)
{
	GElf_Phdr header;
	size_t index = 0;

	while (elf_file_next_program_header(file, PT_LOAD, &index, &header))
		if (header.p_flags & PF_X && header.p_filesz < header.p_memsz)
			return true;
	return false;
}

int
elf_segments_read_debug(struct elf_segments *segments, const struct elf_file *file)
{
	const bool removed = code_was_removed(file);
	uint64_t end = 0;
	GElf_Phdr header;
	size_t index = 0;
	int err;

	segments->count = 0;
	while (elf_file_next_program_header(file, PT_LOAD, &index, &header)) {
		uint64_t offset = header.p_offset, size = header.p_filesz;

		if (removed) {
			const uint64_t align = header.p_align ? header.p_align : 1;

			offset = end + (header.p_vaddr % align + align - end % align) % align;
			size = header.p_memsz;
		}
		err = segments_add(segments, &header, offset, size);
		if (err)
			return err;
		end = offset + size;
	}
	return segments->count ? 0 : -DCPI_EDAMAGED;
}

const struct elf_segment *
elf_segments_at_offset(const struct elf_segments *segments, uint64_t offset)
{
	for (size_t i = 0; i < segments->count; i++)
		if (offset >= segments->list[i].offset && offset - segments->list[i].offset < segments->list[i].size)
			return &segments->list[i];
	return NULL;
}

const struct elf_segment *
elf_segments_at_address(const struct elf_segments *segments, uint64_t address)
{
	for (size_t i = 0; i < segments->count; i++)
		if (address >= segments->list[i].address &&
		    address - segments->list[i].address < segments->list[i].size)
			return &segments->list[i];
	return NULL;
}
