#include "image/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/error.h"

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
decode(lzma_stream *stream, uint8_t **memory, size_t *size)
{
	size_t capacity = 0;
	lzma_ret result;

	do {
		if (*size == capacity) {
			int err = grow(memory, &capacity);

			if (err)
				return err;
		}
		stream->next_out = *memory + *size;
		stream->avail_out = capacity - *size;
		result = lzma_code(stream, LZMA_FINISH);
		*size = capacity - stream->avail_out;
	} while (result == LZMA_OK);
	if (result == LZMA_MEM_ERROR)
		return -ENOMEM;
	return result == LZMA_STREAM_END ? 0 : -DCPI_EDAMAGED;
}

static int
decompress(const Elf_Data *data, uint8_t **memory, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int err;

	if (lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	err = decode(&stream, memory, size);
	lzma_end(&stream);
	if (err) {
		free(*memory);
		*memory = NULL;
	}
	return err;
}

int
minidebug_open(struct elf_file *mini, const struct elf_file *main)
{
	const Elf_Data *data;
	uint8_t *memory = NULL;
	Elf_Scn *section;
	size_t size = 0;
	GElf_Shdr header;
	int err;

	*mini = (struct elf_file)ELF_FILE_INIT;
	section = elf_file_section(main, ".gnu_debugdata", &header);
	if (!section)
		return -ENOENT;
	data = elf_file_bytes(main, section);
	if (!data)
		return -DCPI_EDAMAGED;
	err = decompress(data, &memory, &size);
	return err ? err : elf_file_open_memory(mini, memory, size);
}
