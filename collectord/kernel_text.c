#include "collectord/kernel_text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "process/kallsyms.h"

#define HEADERS_MAX 4096 /* of /proc/kcore; memory has some dozens of pieces */
#define TEXT_MAX    (UINT64_C(1) << 30)
#define BLOCKS_MAX  1024 /* of text that one answer has: 4 MiB */

struct kernel_text {
	int kcore;
	uint16_t machine;
	Elf64_Phdr *headers; /* of kcore */
	size_t header_count;
	uint64_t address, size; /* of the image's text */
};

struct kernel_text_bounds {
	char module[MODULE_NAME_SIZE]; /* "": the kernel */
	uint64_t start, end;
};

static int
visit_module(void *context, const struct kernel_module *module)
{
	struct kernel_text_bounds *bounds = context;

	if (strcmp(module->name, bounds->module) == 0)
		bounds->start = module->address;
	return 0;
}

/* The text of a module ends with the block of its last function. */
static int
visit_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct kernel_text_bounds *bounds = context;

	if (strcmp(symbol->module, bounds->module) != 0)
		return 0;
	if (bounds->module[0]) {
		if (strchr("tT", symbol->type) && symbol->address >= bounds->start && symbol->address >= bounds->end)
			bounds->end = symbol->address + 1;
		return 0;
	}
	if (strcmp(symbol->name, "_stext") == 0)
		bounds->start = symbol->address;
	else if (strcmp(symbol->name, "_etext") == 0)
		bounds->end = symbol->address;
	return bounds->start && bounds->end; /* stop: nothing else is needed */
}

static int
find_bounds(const char *procfs, const struct capture_request *request, struct kernel_text_bounds *bounds)
{
	const struct image *image = &request->image;
	const size_t length = strlen(image->path);
	int err = 0;

	memset(bounds, 0, sizeof(*bounds));
	if (image->kind == IMAGE_MODULE) {
		if (length < 3 || length - 2 >= sizeof(bounds->module))
			return -ENOENT;
		memcpy(bounds->module, image->path + 1, length - 2); /* of "[ext4]" */
		err = kernel_modules_read(procfs, visit_module, bounds);
	}
	if (!err && request->end && (image->kind == IMAGE_KERNEL || bounds->start == request->start)) {
		bounds->start = request->start;
		bounds->end = request->end;
	} else if (!err) {
		err = kallsyms_read(procfs, visit_symbol, bounds);
	}
	if (err < 0)
		return err;
	return bounds->start && bounds->end > bounds->start && bounds->end - bounds->start <= TEXT_MAX ? 0 : -ENOENT;
}

static int
open_text(const char *procfs, const struct capture_request *request, struct kernel_text *text)
{
	struct kernel_text_bounds bounds;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/kcore", procfs);
	text->kcore = open(path, O_RDONLY | O_CLOEXEC);
	if (text->kcore < 0)
		return errno == ENOENT ? -ENODEV : -errno;
	err = find_bounds(procfs, request, &bounds);
	if (err) {
		close(text->kcore);
		text->kcore = -1;
		return err;
	}
	text->address = bounds.start;
	text->size = (bounds.end - bounds.start + CAPTURED_BLOCK_SIZE - 1) / CAPTURED_BLOCK_SIZE * CAPTURED_BLOCK_SIZE;
	return 0;
}

static int
read_at(int fd, void *data, size_t size, uint64_t offset)
{
	const ssize_t got = file_read_at(fd, data, size, offset);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -DCPI_EDAMAGED;
}

static int
read_headers(struct kernel_text *text)
{
	Elf64_Ehdr header;
	int err = read_at(text->kcore, &header, sizeof(header), 0);

	if (err)
		return err;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
		return -DCPI_EDAMAGED;
	text->machine = header.e_machine;
	text->header_count = header.e_phnum;
	text->headers = calloc(text->header_count + 1, sizeof(*text->headers));
	if (!text->headers)
		return -ENOMEM;
	return read_at(text->kcore, text->headers, text->header_count * sizeof(*text->headers), header.e_phoff);
}

static int
read_block(const struct kernel_text *text, uint64_t address, uint8_t bytes[CAPTURED_BLOCK_SIZE])
{
	for (size_t i = 0; i < text->header_count; i++) {
		const Elf64_Phdr *header = &text->headers[i];

		if (header->p_type == PT_LOAD && address >= header->p_vaddr &&
		    address - header->p_vaddr < header->p_memsz &&
		    header->p_memsz - (address - header->p_vaddr) >= CAPTURED_BLOCK_SIZE)
			return read_at(text->kcore, bytes, CAPTURED_BLOCK_SIZE,
			               header->p_offset + (address - header->p_vaddr));
	}
	return -ENOENT;
}

static bool
is_among(uint32_t block, const uint32_t *known, size_t known_count)
{
	return known_count && bsearch(&block, known, known_count, sizeof(*known), array_compare_u32);
}

bool
kernel_text_is_known(uint32_t block, const uint32_t *known, size_t known_count)
{
	return (block == 0 || is_among(block - 1, known, known_count)) && is_among(block, known, known_count) &&
	       is_among(block + 1, known, known_count);
}

/*
 * The blocks with samples and those beside them, ascending, without known ones. `numbers` has room for three times the
 * places.
 */
static size_t
choose_blocks(const struct kernel_text *text, const struct capture_request *request, uint32_t *numbers)
{
	const uint64_t end = text->size / CAPTURED_BLOCK_SIZE;
	size_t count = 0;

	for (size_t i = 0; i < request->place_count; i++) {
		const uint64_t block = request->places[i].block;

		for (uint64_t number = block ? block - 1 : 0; number <= block + 1 && number < end; number++) {
			const uint32_t key = (uint32_t)number;

			if (count > 0 && numbers[count - 1] >= key)
				continue;
			if (is_among(key, request->known, request->known_count))
				continue;
			numbers[count++] = key;
		}
	}
	return count < BLOCKS_MAX ? count : BLOCKS_MAX;
}

/* Append a message with the value; that of a parcel begins with the number of its first block. */
static void
write_message(struct byte_writer *reply, enum capture_message kind, uint32_t block, const struct byte_writer *value)
{
	const uint8_t first[] = {(uint8_t)(block >> 24), (uint8_t)(block >> 16), (uint8_t)(block >> 8), (uint8_t)block};
	const size_t first_size = kind == MESSAGE_PARCEL ? sizeof(first) : 0;
	uint8_t head[MESSAGE_HEAD_SIZE];

	capture_message_head(kind, first_size + value->size, head);
	write_bytes(reply, head, sizeof(head));
	write_bytes(reply, first, first_size);
	write_bytes(reply, value->data, value->size);
}

static int
write_layout(const struct kernel_text *text, struct byte_writer *reply)
{
	struct captured_segment segment = {.size = text->size, .executable = true};
	struct captured_section section = {.size = text->size, .is_code = true};
	const struct captured_layout layout = {text->machine, &segment, 1, &section, 1};
	struct byte_writer value = BYTE_WRITER_INIT;
	int err = captured_layout_encode(&layout, &value);

	if (!err)
		write_message(reply, MESSAGE_LAYOUT, 0, &value);
	writer_fini(&value);
	return err;
}

/* A block that cannot be read, as when a module was unloaded, is left out. */
static int
write_parcel(const struct kernel_text *text, const uint32_t *numbers, size_t count, uint8_t *bytes,
             struct byte_writer *reply)
{
	struct captured_block blocks[CAPTURED_PARCEL_MAX];
	struct byte_writer value = BYTE_WRITER_INIT;
	size_t kept = 0;
	int err;

	for (size_t i = 0; i < count; i++) {
		uint8_t *to = bytes + kept * CAPTURED_BLOCK_SIZE;

		if (read_block(text, text->address + (uint64_t)numbers[i] * CAPTURED_BLOCK_SIZE, to) == 0)
			blocks[kept++] = (struct captured_block){numbers[i], to};
	}
	if (kept == 0)
		return 0;
	err = captured_parcel_encode(blocks, kept, &value);
	if (!err)
		write_message(reply, MESSAGE_PARCEL, blocks[0].number, &value);
	writer_fini(&value);
	return err;
}

static int
write_text(const struct kernel_text *text, const struct capture_request *request, struct byte_writer *reply)
{
	uint32_t *numbers = calloc(3 * request->place_count + 1, sizeof(*numbers));
	uint8_t *bytes = malloc((size_t)CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE);
	const size_t count = numbers ? choose_blocks(text, request, numbers) : 0;
	int err = numbers && bytes ? 0 : -ENOMEM;

	for (size_t at = 0; at < count && !err; at += CAPTURED_PARCEL_MAX) {
		const size_t left = count - at, some = left < CAPTURED_PARCEL_MAX ? left : CAPTURED_PARCEL_MAX;

		err = write_parcel(text, numbers + at, some, bytes, reply);
	}
	free(numbers);
	free(bytes);
	return err;
}

static int
answer(const char *procfs, const struct capture_request *request, struct byte_writer *reply)
{
	struct byte_writer end = BYTE_WRITER_INIT;
	struct kernel_text text = {.kcore = -1};
	int err = open_text(procfs, request, &text);

	if (err)
		return err;
	err = read_headers(&text);
	if (!err && request->names)
		err = write_layout(&text, reply);
	if (!err)
		err = write_text(&text, request, reply);
	write_varint(&end, 0);
	write_message(reply, MESSAGE_END, 0, &end);
	if (!err && (end.failed || reply->failed))
		err = -ENOMEM;
	writer_fini(&end);
	free(text.headers);
	close(text.kcore);
	return err;
}

void
kernel_text_run(const char *procfs, const struct byte_writer *request, struct capture_outcome *outcome)
{
	struct capture_request_room room = {.places = NULL};
	struct byte_writer reply = BYTE_WRITER_INIT;
	struct capture_request decoded;

	memset(outcome, 0, sizeof(*outcome));
	outcome->error = capture_request_decode(request->data, request->size, &decoded, &room);
	if (!outcome->error)
		outcome->error = answer(procfs, &decoded, &reply);
	capture_request_fini(&room);
	if (!outcome->error)
		outcome->error = capture_reply_decode(reply.data, reply.size, &outcome->reply);
	outcome->bytes = reply.data; /* the outcome's from now on */
	outcome->size = reply.size;
}
