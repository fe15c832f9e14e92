#include "image/run_time_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "image/jitdump.h"
#include "image/perf_map.h"
#include "process/jit.h"

#define BLOCK CAPTURED_BLOCK_SIZE

/* While it is made. */
struct maker {
	int fd;
	const struct run_time_request *request;
	struct run_time_capture *capture;
	uint32_t *numbers; /* of the blocks to be, in no order at first */
	size_t number_count, number_capacity;
};

static uint64_t
offset_of(const struct run_time_request *request, uint64_t address)
{
	return (address - request->base) & (JIT_SPAN - 1);
}

/* Does a block with samples lie in it, in part at least? */
static bool
is_sampled(const struct run_time_request *request, uint64_t offset, uint64_t size)
{
	const uint64_t first = offset / BLOCK, last = (offset + size - 1) / BLOCK;
	size_t low = 0, high = request->block_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (request->blocks[middle] < first)
			low = middle + 1;
		else
			high = middle;
	}
	return low < request->block_count && request->blocks[low] <= last;
}

static int
compare_symbols(const void *a, const void *b)
{
	const struct profile_symbol *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static int
take_symbols(struct maker *maker)
{
	struct run_time_capture *capture = maker->capture;
	size_t capacity = 0;

	for (size_t i = 0; i < run_time_code_count(capture->code); i++) {
		const struct run_time_function *function = run_time_code_at(capture->code, i);
		const uint64_t offset = offset_of(maker->request, function->address);
		struct profile_symbol *symbols;

		if (!is_sampled(maker->request, offset, function->size))
			continue;
		capture->is_reused |= function->is_contested;
		symbols = array_grow(capture->symbols, &capacity, capture->symbol_count + 1, sizeof(*symbols));
		if (!symbols)
			return -ENOMEM;
		capture->symbols = symbols;
		symbols[capture->symbol_count++] = (struct profile_symbol){offset, function->name, function->size};
	}
	if (capture->symbol_count)
		qsort(capture->symbols, capture->symbol_count, sizeof(*capture->symbols), compare_symbols);
	return 0;
}

static const struct run_time_function *
function_of(const struct maker *maker, const struct profile_symbol *symbol)
{
	/* the symbol's address, wherever around the base it is */
	const uint64_t below = JIT_SPAN - symbol->offset, base = maker->request->base;
	const struct run_time_function *function;

	function = run_time_code_find(maker->capture->code, base + symbol->offset);
	return function || below > base ? function : run_time_code_find(maker->capture->code, base - below);
}

/* Numbers that are there twice are put in order later. */
static int
want_blocks(struct maker *maker, const struct profile_symbol *symbol)
{
	const uint64_t first = symbol->offset / BLOCK, last = (symbol->offset + symbol->size - 1) / BLOCK;
	uint32_t *numbers;

	if (last >= CAPTURED_BLOCK_NONE || last - first >= RUN_TIME_BLOCKS_MAX)
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

/* Symbols ascend, and so do the numbers of what they touch. */
static int
list_blocks(struct maker *maker)
{
	const struct run_time_capture *capture = maker->capture;

	for (size_t i = 0; i < capture->symbol_count && maker->number_count < RUN_TIME_BLOCKS_MAX; i++) {
		const struct run_time_function *function = function_of(maker, &capture->symbols[i]);
		int err;

		if (!function || function->code_at == RUN_TIME_NO_CODE)
			continue;
		err = want_blocks(maker, &capture->symbols[i]);
		if (err)
			return err;
	}
	if (maker->number_count > RUN_TIME_BLOCKS_MAX)
		maker->number_count = RUN_TIME_BLOCKS_MAX;
	return 0;
}

static int
make_blocks(struct maker *maker)
{
	struct run_time_capture *capture = maker->capture;
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

/* Where the bytes of `offset` go; NULL when its block is not there. */
static uint8_t *
place_of(const struct maker *maker, uint64_t offset)
{
	const uint32_t number = (uint32_t)(offset / BLOCK);
	const uint32_t *found = NULL;

	if (maker->number_count)
		found = bsearch(&number, maker->numbers, maker->number_count, sizeof(number), compare_numbers);
	return found ? maker->capture->bytes + (size_t)(found - maker->numbers) * BLOCK + offset % BLOCK : NULL;
}

/* What cannot be read stays zero: the file is a process's, who may do with it what it likes. */
static void
copy_code(const struct maker *maker, const struct run_time_function *function, uint64_t offset)
{
	uint64_t done = 0;

	while (done < function->size) {
		uint8_t *to = place_of(maker, offset + done);
		uint64_t size = BLOCK - (offset + done) % BLOCK;
		ssize_t got;

		if (size > function->size - done)
			size = function->size - done;
		if (!to)
			return;
		do
			got = pread(maker->fd, to, size, (off_t)(function->code_at + done));
		while (got < 0 && errno == EINTR);
		if (got != (ssize_t)size)
			return;
		done += size;
	}
}

static void
copy_all(const struct maker *maker)
{
	const struct run_time_capture *capture = maker->capture;

	for (size_t i = 0; i < capture->symbol_count; i++) {
		const struct run_time_function *function = function_of(maker, &capture->symbols[i]);

		if (function && function->code_at != RUN_TIME_NO_CODE)
			copy_code(maker, function, capture->symbols[i].offset);
	}
}

static uint64_t
address_of(const struct captured_layout *layout, uint64_t offset)
{
	const struct captured_segment *segment = &layout->segments[offset >= layout->segments[1].offset];

	return segment->address + (offset - segment->offset);
}

static int
compare_sections(const void *a, const void *b)
{
	const struct captured_section *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

/* Offsets from 0 on lie at the base, and the last ones below it. Neighbouring blocks are one section. */
static int
make_layout(struct maker *maker, uint16_t machine)
{
	struct run_time_capture *capture = maker->capture;
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
		const uint64_t address = address_of(layout, (uint64_t)capture->blocks[i].number * BLOCK);
		struct captured_section *last = &layout->sections[layout->section_count - (layout->section_count > 0)];

		if (layout->section_count && last->address + last->size == address)
			last->size += BLOCK;
		else
			layout->sections[layout->section_count++] = (struct captured_section){address, BLOCK, true};
	}
	qsort(layout->sections, layout->section_count, sizeof(*layout->sections), compare_sections);
	return 0;
}

/* 0 with *machine set, 0 for a map. */
static int
read_code(int fd, struct run_time_code *code, uint16_t *machine)
{
	struct jitdump_header header;
	char first;
	int err;

	*machine = 0;
	if (pread(fd, &first, 1, 0) != 1) /* nothing there yet, or no file: the reader will tell */
		first = '0';
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (first != 'D' && first != 'J')
		return perf_map_read(fd, code);
	err = jitdump_read(fd, code, &header);
	*machine = header.machine;
	return err == -DCPI_EDAMAGED || err == -ENOTSUP ? 0 : err;
}

static int
make(struct maker *maker, uint16_t machine)
{
	int err = take_symbols(maker);

	if (!err && machine)
		err = list_blocks(maker);
	if (!err)
		err = make_blocks(maker);
	if (!err)
		err = make_layout(maker, machine);
	if (!err && machine)
		copy_all(maker);
	return err;
}

int
run_time_capture(int fd, const struct run_time_request *request, struct run_time_capture *capture)
{
	struct maker maker = {.fd = fd, .request = request, .capture = capture};
	uint16_t machine;
	int err;

	memset(capture, 0, sizeof(*capture));
	capture->code = run_time_code_new();
	if (!capture->code)
		return -ENOMEM;
	err = read_code(fd, capture->code, &machine);
	run_time_code_finish(capture->code, request->seen);
	if (!err)
		err = make(&maker, machine);
	free(maker.numbers);
	if (err)
		run_time_capture_fini(capture);
	return err;
}

void
run_time_capture_fini(struct run_time_capture *capture)
{
	run_time_code_free(capture->code);
	free(capture->symbols);
	free(capture->layout.sections);
	free(capture->blocks);
	free(capture->bytes);
	memset(capture, 0, sizeof(*capture));
}
