#include "image/jit_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "process/jit.h"
#include "process/proc.h"
#include "stream/byte_source.h"

struct jit_entry {
	struct jit_function function;
	size_t name;   /* where it is among the names, while these may move */
	size_t serial; /* in the order of the file */
	uint64_t position;
};

struct jit_code {
	struct jit_entry *entries;
	size_t count, capacity;
	char *names;
	size_t names_size, names_capacity;
	size_t search_left; /* comparisons that jit_code_move() may still make */
	uint64_t position;  /* in the file, of functions that are added next */
	uint64_t malformed;
	bool is_cut;
};

#define SEARCH_MAX ((size_t)1 << 28) /* comparisons: a quarter of a second */

struct jit_code *
jit_code_new(void)
{
	struct jit_code *code = calloc(1, sizeof(*code));

	if (code)
		code->search_left = SEARCH_MAX;
	return code;
}

void
jit_code_free(struct jit_code *code)
{
	if (!code)
		return;
	free(code->entries);
	free(code->names);
	free(code);
}

void
jit_code_set_position(struct jit_code *code, uint64_t position)
{
	code->position = position;
}

static struct jit_entry *
add_entry(struct jit_code *code)
{
	struct jit_entry *entry = ARRAY_APPEND(code->entries, code->count, code->capacity);

	if (!entry)
		return NULL;
	entry->serial = code->count - 1;
	entry->position = code->position;
	return entry;
}

static bool
is_in_user_memory(uint64_t address, uint64_t size)
{
	return size > 0 && size <= JIT_CODE_SIZE_MAX && address > 0 && address < JIT_CODE_ADDRESS_END - size;
}

int
jit_code_add(struct jit_code *code, uint64_t address, uint64_t size, uint64_t code_at, const char *name,
             size_t name_size)
{
	struct jit_entry *entry;
	char *names;

	name_size = strnlen(name, name_size < JIT_CODE_NAME_MAX ? name_size : JIT_CODE_NAME_MAX);
	if (!is_in_user_memory(address, size) || name_size == 0) {
		code->malformed++;
		return 0;
	}
	if (code->count >= JIT_CODE_FUNCTIONS_MAX || JIT_CODE_NAMES_MAX - code->names_size <= name_size) {
		code->is_cut = true;
		return 0;
	}
	names = array_grow(code->names, &code->names_capacity, code->names_size + name_size + 1, 1);
	if (!names)
		return -ENOMEM;
	code->names = names;
	entry = add_entry(code);
	if (!entry)
		return -ENOMEM;
	entry->function = (struct jit_function){.address = address, .size = size, .code_at = code_at};
	entry->name = code->names_size;
	memcpy(names + code->names_size, name, name_size);
	names[code->names_size + name_size] = '\0';
	code->names_size += name_size + 1;
	return 0;
}

static const struct jit_entry *
find_last(struct jit_code *code, uint64_t address)
{
	for (size_t i = code->count; i > 0; i--) {
		if (code->search_left == 0) {
			code->is_cut = true;
			return NULL;
		}
		code->search_left--;
		if (code->entries[i - 1].function.address == address)
			return &code->entries[i - 1];
	}
	return NULL;
}

int
jit_code_move(struct jit_code *code, uint64_t from, uint64_t to)
{
	const struct jit_entry *moved = find_last(code, from);
	struct jit_entry *entry;
	struct jit_entry copy;

	if (!moved || !is_in_user_memory(to, moved->function.size)) {
		code->malformed++;
		return 0;
	}
	if (code->count >= JIT_CODE_FUNCTIONS_MAX) {
		code->is_cut = true;
		return 0;
	}
	copy = *moved;
	entry = add_entry(code);
	if (!entry)
		return -ENOMEM;
	copy.serial = entry->serial;
	copy.position = entry->position;
	copy.function.address = to;
	*entry = copy;
	return 0;
}

/* ---- perf maps ---- */

/* A number, with or without "0x", and the blanks behind it. */
static bool
parse_field(const char **at, uint64_t *value)
{
	if ((*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	if (!proc_text_hex(at, value) || (**at != ' ' && **at != '\t'))
		return false;
	*at += strspn(*at, " \t");
	return true;
}

static int
add_map_line(struct jit_code *code, const char *line)
{
	const char *at = line;
	uint64_t address, size;
	size_t length;

	if (!parse_field(&at, &address) || !parse_field(&at, &size)) {
		code->malformed++;
		return 0;
	}
	length = strlen(at);
	if (length > 0 && at[length - 1] == '\r')
		length--;
	return jit_code_add(code, address, size, JIT_CODE_NOWHERE, at, length);
}

static int
read_map_lines(struct jit_code *code, struct line_reader *reader)
{
	uint64_t bytes = 0;
	char *line;
	int result;

	while ((result = line_reader_next(reader, &line)) > 0) {
		if (line + strlen(line) == reader->buffer + reader->end)
			return 0; /* without its end: the process is still writing it */
		bytes += strlen(line) + 1;
		if (bytes > PERF_MAP_BYTES_MAX) {
			code->is_cut = true;
			return 0;
		}
		code->position = bytes - strlen(line) - 1;
		result = add_map_line(code, line);
		if (result)
			return result;
	}
	return result;
}

int
jit_code_read_perf_map(int fd, struct jit_code *code)
{
	struct line_reader *reader = malloc(sizeof(*reader));
	int result;

	if (!reader)
		return -ENOMEM;
	line_reader_init(reader, fd);
	result = read_map_lines(code, reader);
	free(reader);
	return result;
}

/* ---- jitdumps ---- */

#define MAGIC         0x4a695444u /* "JiTD" */
#define MAGIC_SWAPPED 0x4454694au
#define HEADER_SIZE   40
#define PREFIX_SIZE   16 /* of a record: its id, size and time */
#define LOAD_SIZE     40 /* of a record of new code, between its prefix and its name */
#define MOVE_SIZE     48

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
};

static int
need(struct byte_source *source, size_t size, struct byte_reader *reader)
{
	const uint8_t *bytes;
	int err = byte_source_need(source, size, &bytes);

	if (!err)
		reader_init(reader, bytes, size);
	return err;
}

static int
read_header(struct byte_source *source, struct jitdump_header *header)
{
	struct byte_reader reader;
	uint32_t magic, size;
	int err = need(source, HEADER_SIZE, &reader);

	if (err)
		return err == -ENODATA ? -DCPI_EDAMAGED : err;
	magic = read_u32_native(&reader);
	if (magic == MAGIC_SWAPPED)
		return -ENOTSUP;
	(void)read_u32_native(&reader); /* the version: there is one */
	size = read_u32_native(&reader);
	header->machine = (uint16_t)read_u32_native(&reader);
	(void)read_u32_native(&reader);
	header->pid = read_u32_native(&reader);
	if (magic != MAGIC || size < HEADER_SIZE)
		return -DCPI_EDAMAGED;
	return byte_source_skip(source, size);
}

/* The name has no length: it ends with a NUL, before the code that ends the record. */
static int
read_load(struct byte_source *source, uint64_t body, struct jit_code *code)
{
	uint64_t address, size, code_at, names;
	struct byte_reader reader;
	size_t room;
	int err;

	if (body < LOAD_SIZE)
		return -DCPI_EDAMAGED;
	room = body < LOAD_SIZE + JIT_CODE_NAME_MAX ? (size_t)body : LOAD_SIZE + JIT_CODE_NAME_MAX;
	err = need(source, room, &reader);
	if (err)
		return err;
	(void)read_bytes(&reader, 16); /* process, thread, and the address once more */
	address = read_u64_native(&reader);
	size = read_u64_native(&reader);
	(void)read_u64_native(&reader);
	if (size >= body - LOAD_SIZE)
		return -DCPI_EDAMAGED;
	names = body - LOAD_SIZE - size;
	code_at = source->offset + body - size;
	room = reader_left(&reader) < names ? reader_left(&reader) : (size_t)names;
	return jit_code_add(code, address, size, code_at, (const char *)reader.at, room);
}

static int
read_move(struct byte_source *source, uint64_t body, struct jit_code *code)
{
	struct byte_reader reader;
	uint64_t from, to;
	int err;

	if (body < MOVE_SIZE)
		return -DCPI_EDAMAGED;
	err = need(source, MOVE_SIZE, &reader);
	if (err)
		return err;
	(void)read_bytes(&reader, 16);
	from = read_u64_native(&reader);
	to = read_u64_native(&reader);
	return jit_code_move(code, from, to);
}

static int
read_record(struct byte_source *source, struct jit_code *code)
{
	struct byte_reader reader;
	uint32_t id, size; /* of the whole record */
	uint64_t body;
	int err = need(source, PREFIX_SIZE, &reader);

	if (err)
		return err;
	code->position = source->offset;
	id = read_u32_native(&reader);
	size = read_u32_native(&reader);
	if (size < PREFIX_SIZE)
		return -DCPI_EDAMAGED;
	body = size - PREFIX_SIZE;
	err = byte_source_skip(source, PREFIX_SIZE);
	if (err)
		return err;
	if (id == RECORD_LOAD)
		err = read_load(source, body, code);
	else if (id == RECORD_MOVE)
		err = read_move(source, body, code);
	return err ? err : byte_source_skip(source, body);
}

int
jit_code_read_jitdump(int fd, struct jit_code *code, struct jitdump_header *header)
{
	struct byte_source source;
	int err;

	memset(header, 0, sizeof(*header));
	err = byte_source_init(&source, fd, 0, UINT64_MAX);
	if (err)
		return err;
	err = read_header(&source, header);
	while (!err && source.offset < JITDUMP_BYTES_MAX)
		err = read_record(&source, code);
	byte_source_fini(&source);
	if (!err)
		code->is_cut = true;
	if (err == -DCPI_EDAMAGED || err == -ENOTSUP)
		code->malformed++;
	return err == -ENODATA ? 0 : err;
}

/* ---- in order, and looking up ---- */

static int
by_address(const void *left, const void *right)
{
	const struct jit_entry *a = left, *b = right;

	if (a->function.address != b->function.address)
		return a->function.address < b->function.address ? -1 : 1;
	return a->serial < b->serial ? -1 : 1;
}

static uint64_t
end_of(const struct jit_function *function)
{
	return function->address + function->size;
}

/* Does `a` win where it overlaps `b`? A function that was there before `seen` wins, and is contested by other names. */
static bool
wins(struct jit_entry *a, const struct jit_entry *b, uint64_t seen)
{
	const bool a_was_seen = a->position < seen, b_was_seen = b->position < seen;

	if (a_was_seen == b_was_seen)
		return a->serial > b->serial;
	if (a_was_seen && strcmp(a->function.name, b->function.name) != 0)
		a->function.is_contested = true;
	return a_was_seen;
}

void
jit_code_finish(struct jit_code *code, uint64_t seen)
{
	struct jit_entry *entries = code->entries;
	size_t kept = 0;

	if (code->count == 0)
		return;
	qsort(entries, code->count, sizeof(*entries), by_address);
	for (size_t i = 0; i < code->count; i++) {
		struct jit_entry entry = entries[i];

		entry.function.name = code->names + entry.name;
		if (kept > 0 && end_of(&entries[kept - 1].function) > entry.function.address) {
			if (wins(&entries[kept - 1], &entry, seen))
				continue;
			kept--; /* the entry before ends where the dropped one began, or earlier */
			entry.function.is_contested = entries[kept].function.is_contested;
			(void)wins(&entry, &entries[kept], seen);
		}
		entries[kept++] = entry;
	}
	code->count = kept;
}

size_t
jit_code_count(const struct jit_code *code)
{
	return code->count;
}

const struct jit_function *
jit_code_at(const struct jit_code *code, size_t index)
{
	return &code->entries[index].function;
}

const struct jit_function *
jit_code_find(const struct jit_code *code, uint64_t address)
{
	size_t behind = code->count; /* the first that begins behind the address */
	const struct jit_function *function;

	if (address < UINT64_MAX)
		behind = ARRAY_LOWER_BOUND(code->entries, code->count, function.address, address + 1);
	function = behind > 0 ? &code->entries[behind - 1].function : NULL;
	return function && address < end_of(function) ? function : NULL;
}

uint64_t
jit_code_malformed(const struct jit_code *code)
{
	return code->malformed;
}

bool
jit_code_is_cut(const struct jit_code *code)
{
	return code->is_cut;
}

/* ---- cut down to what was sampled ---- */

#define BLOCK CAPTURED_BLOCK_SIZE

struct capture_maker {
	int fd;
	const struct jit_capture_request *request;
	struct jit_capture *capture;
	uint32_t *numbers; /* of the blocks to be, ascending */
	size_t number_count, number_capacity;
};

/* Does a block with samples overlap the function? */
static bool
is_sampled(const struct jit_capture_request *request, uint64_t offset, uint64_t size)
{
	const uint64_t first = offset / BLOCK, last = (offset + size - 1) / BLOCK;
	const size_t at = array_lower_bound_u32(request->blocks, request->block_count, first);

	return at < request->block_count && request->blocks[at] <= last;
}

static int
list_symbols(struct capture_maker *maker)
{
	struct jit_capture *capture = maker->capture;
	size_t capacity = 0;

	for (size_t i = 0; i < jit_code_count(capture->code); i++) {
		const struct jit_function *function = jit_code_at(capture->code, i);
		const uint64_t offset = (function->address - maker->request->base) & (JIT_SPAN - 1);
		struct profile_symbol *symbol;

		if (!is_sampled(maker->request, offset, function->size))
			continue;
		capture->is_reused |= function->is_contested;
		symbol = ARRAY_APPEND(capture->symbols, capture->symbol_count, capacity);
		if (!symbol)
			return -ENOMEM;
		*symbol = (struct profile_symbol){offset, function->name, function->size};
	}
	if (capture->symbol_count)
		qsort(capture->symbols, capture->symbol_count, sizeof(*capture->symbols), array_compare_u64);
	return 0;
}

static const struct jit_function *
function_of(const struct capture_maker *maker, const struct profile_symbol *symbol)
{
	/* the symbol's address, wherever around the base it is */
	const uint64_t below = JIT_SPAN - symbol->offset, base = maker->request->base;
	const struct jit_function *function;

	function = jit_code_find(maker->capture->code, base + symbol->offset);
	return function || below > base ? function : jit_code_find(maker->capture->code, base - below);
}

static int
add_blocks(struct capture_maker *maker, const struct profile_symbol *symbol)
{
	const uint64_t first = symbol->offset / BLOCK, last = (symbol->offset + symbol->size - 1) / BLOCK;
	uint32_t *numbers;

	if (last >= CAPTURED_BLOCK_UNWIND || last - first >= JIT_CAPTURE_BLOCKS_MAX)
		return 0;
	numbers = array_grow(maker->numbers, &maker->number_capacity, maker->number_count + (last - first) + 1,
	                     sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	maker->numbers = numbers;
	for (uint64_t block = first; block <= last; block++)
		if (maker->number_count == 0 || numbers[maker->number_count - 1] != block)
			numbers[maker->number_count++] = (uint32_t)block;
	return 0;
}

/* The blocks of the functions whose code is in the file; symbols ascend, and so do the numbers. */
static int
list_blocks(struct capture_maker *maker)
{
	const struct jit_capture *capture = maker->capture;

	for (size_t i = 0; i < capture->symbol_count && maker->number_count < JIT_CAPTURE_BLOCKS_MAX; i++) {
		const struct jit_function *function = function_of(maker, &capture->symbols[i]);
		int err;

		if (!function || function->code_at == JIT_CODE_NOWHERE)
			continue;
		err = add_blocks(maker, &capture->symbols[i]);
		if (err)
			return err;
	}
	if (maker->number_count > JIT_CAPTURE_BLOCKS_MAX)
		maker->number_count = JIT_CAPTURE_BLOCKS_MAX;
	return 0;
}

static int
make_blocks(struct capture_maker *maker)
{
	struct jit_capture *capture = maker->capture;
	const size_t count = maker->number_count;

	capture->bytes = calloc(count ? count : 1, BLOCK);
	capture->blocks = calloc(count ? count : 1, sizeof(*capture->blocks));
	if (!capture->bytes || !capture->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		capture->blocks[i] = (struct captured_block){maker->numbers[i], capture->bytes + i * BLOCK};
	capture->block_count = count;
	return 0;
}

/* Where the bytes of `offset` go; NULL when its block is not captured. */
static uint8_t *
place_of(const struct capture_maker *maker, uint64_t offset)
{
	const uint32_t number = (uint32_t)(offset / BLOCK);
	const uint32_t *found = NULL;

	if (maker->number_count)
		found = bsearch(&number, maker->numbers, maker->number_count, sizeof(number), array_compare_u32);
	return found ? maker->capture->bytes + (size_t)(found - maker->numbers) * BLOCK + offset % BLOCK : NULL;
}

/* What cannot be read stays zero: the file belongs to a process that may change it at any time. */
static void
copy_function(const struct capture_maker *maker, const struct jit_function *function, uint64_t offset)
{
	uint64_t done = 0;

	while (done < function->size) {
		uint8_t *to = place_of(maker, offset + done);
		uint64_t size = BLOCK - (offset + done) % BLOCK;

		if (size > function->size - done)
			size = function->size - done;
		if (!to)
			return;
		if (file_read_at(maker->fd, to, size, function->code_at + done) != (ssize_t)size)
			return;
		done += size;
	}
}

static void
copy_code(const struct capture_maker *maker)
{
	const struct jit_capture *capture = maker->capture;

	for (size_t i = 0; i < capture->symbol_count; i++) {
		const struct jit_function *function = function_of(maker, &capture->symbols[i]);

		if (function && function->code_at != JIT_CODE_NOWHERE)
			copy_function(maker, function, capture->symbols[i].offset);
	}
}

/* Offsets from 0 on lie at the base, and the last ones below it. Neighbouring blocks are one section. */
static int
make_layout(struct capture_maker *maker, uint16_t machine)
{
	struct jit_capture *capture = maker->capture;
	struct captured_layout *layout = &capture->layout;
	const uint64_t base = maker->request->base;
	const uint64_t below = base < JIT_SPAN / 2 ? base : JIT_SPAN / 2;
	const uint64_t border = JIT_SPAN - below;

	capture->segments[0] = (struct captured_segment){0, base, border, true};
	capture->segments[1] = (struct captured_segment){border, base - below, below, true};
	layout->machine = machine;
	layout->segments = capture->segments;
	layout->segment_count = 2;
	layout->sections = calloc(capture->block_count ? capture->block_count : 1, sizeof(*layout->sections));
	if (!layout->sections)
		return -ENOMEM;
	for (size_t i = 0; i < capture->block_count; i++) {
		const uint64_t offset = (uint64_t)capture->blocks[i].number * BLOCK;
		const uint64_t address = offset < border ? base + offset : base - below + (offset - border);
		struct captured_section *last = &layout->sections[layout->section_count - (layout->section_count > 0)];

		if (layout->section_count && last->address + last->size == address)
			last->size += BLOCK;
		else
			layout->sections[layout->section_count++] = (struct captured_section){address, BLOCK, true};
	}
	qsort(layout->sections, layout->section_count, sizeof(*layout->sections), array_compare_u64);
	return 0;
}

/* Read either format; *machine is 0 for a perf map. */
static int
read_code(int fd, struct jit_code *code, uint16_t *machine)
{
	struct jitdump_header header;
	char first;
	int err;

	*machine = 0;
	if (pread(fd, &first, 1, 0) != 1) /* empty, or not readable: reading it as a map gives the error */
		first = '0';
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (first != 'D' && first != 'J')
		return jit_code_read_perf_map(fd, code);
	err = jit_code_read_jitdump(fd, code, &header);
	*machine = header.machine;
	return err == -DCPI_EDAMAGED || err == -ENOTSUP ? 0 : err;
}

int
jit_capture_make(int fd, const struct jit_capture_request *request, struct jit_capture *capture)
{
	struct capture_maker maker = {.fd = fd, .request = request, .capture = capture};
	uint16_t machine;
	int err;

	memset(capture, 0, sizeof(*capture));
	capture->code = jit_code_new();
	if (!capture->code)
		return -ENOMEM;
	err = read_code(fd, capture->code, &machine);
	jit_code_finish(capture->code, request->seen);
	if (err)
		goto out;
	err = list_symbols(&maker);
	if (err)
		goto out;
	if (machine)
		err = list_blocks(&maker);
	if (err)
		goto out;
	err = make_blocks(&maker);
	if (err)
		goto out;
	err = make_layout(&maker, machine);
	if (!err && machine)
		copy_code(&maker);
out:
	free(maker.numbers);
	if (err)
		jit_capture_fini(capture);
	return err;
}

void
jit_capture_fini(struct jit_capture *capture)
{
	jit_code_free(capture->code);
	free(capture->symbols);
	free(capture->layout.sections);
	free(capture->blocks);
	free(capture->bytes);
	memset(capture, 0, sizeof(*capture));
}
