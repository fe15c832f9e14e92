/* Tests of collectord/kernel_text.h on a made-up /proc: a kernel of five blocks, and a module of two. */
#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collectord/kernel_text.h"
#include "tests/remove_tree.h"

#define KERNEL_AT UINT64_C(0xffffffff81000000)
#define MODULE_AT UINT64_C(0xffffffffc0000000)
#define BLOCKS    7

#define KERNEL                                                                                                         \
	{                                                                                                              \
		.kind = IMAGE_KERNEL, .path = "[kernel]"                                                               \
	}
#define MODULE                                                                                                         \
	{                                                                                                              \
		.kind = IMAGE_MODULE, .path = "[toy]"                                                                  \
	}

struct kernel_text_stage {
	char procfs[64];
	uint32_t numbers[CAPTURED_PARCEL_MAX];
	uint8_t bytes[CAPTURED_PARCEL_MAX * CAPTURED_BLOCK_SIZE];
	int count; /* of blocks that came */
	struct captured_layout *layout;
};

static void
write_text(const struct kernel_text_stage *stage, const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", stage->procfs, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* Block N of the core is full of the letter 'a' + N: five of the kernel, two of the module. */
static void
write_core(const struct kernel_text_stage *stage)
{
	const size_t size = (1 + BLOCKS) * CAPTURED_BLOCK_SIZE;
	uint8_t *core = calloc(1, size);
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	const Elf64_Phdr pieces[] = {
		{.p_type = PT_NOTE, .p_vaddr = KERNEL_AT, .p_memsz = UINT64_MAX},
		{.p_type = PT_LOAD, .p_vaddr = KERNEL_AT, .p_offset = 4096, .p_memsz = UINT64_C(5) * 4096},
		{.p_type = PT_LOAD, .p_vaddr = MODULE_AT, .p_offset = UINT64_C(6) * 4096, .p_memsz = 2 * 4096},
	};

	assert_non_null(core);
	memcpy(core, &header, sizeof(header));
	memcpy(core + sizeof(header), pieces, sizeof(pieces));
	for (int i = 0; i < BLOCKS; i++)
		memset(core + (size_t)(1 + i) * CAPTURED_BLOCK_SIZE, 'a' + i, CAPTURED_BLOCK_SIZE);
	write_text(stage, "kcore", core, size);
	free(core);
}

static int
set_up(void **state)
{
	static const char symbols[] = "ffffffff81000000 T _stext\n"
				      "ffffffff81000000 T start_it\n"
				      "ffffffff81004800 T _etext\n"
				      "ffffffffc0000010 t first\t[toy]\n"
				      "ffffffffc0001020 t last\t[toy]\n"
				      "ffffffffc0009000 d data\t[toy]\n";
	static const char modules[] = "toy 65536 0 - Live 0xffffffffc0000000\n";
	static struct kernel_text_stage stage;

	memset(&stage, 0, sizeof(stage));
	snprintf(stage.procfs, sizeof(stage.procfs), "/tmp/kernel-text-XXXXXX");
	if (!mkdtemp(stage.procfs))
		return -1;
	write_text(&stage, "kallsyms", symbols, strlen(symbols));
	write_text(&stage, "modules", modules, strlen(modules));
	write_core(&stage);
	*state = &stage;
	return 0;
}

static int
tear_down(void **state)
{
	struct kernel_text_stage *stage = *state;

	free(stage->layout);
	return remove_tree(stage->procfs);
}

static int
run(const struct kernel_text_stage *stage, const struct capture_request *request, struct capture_outcome *outcome)
{
	struct byte_writer writer = BYTE_WRITER_INIT;

	assert_int_equal(capture_request_encode(request, &writer), 0);
	kernel_text_run(stage->procfs, &writer, outcome);
	writer_fini(&writer);
	return outcome->error;
}

static void
take(struct kernel_text_stage *stage, const struct capture_request *request)
{
	struct capture_outcome outcome;
	const struct captured *captured = &outcome.reply.captured;

	assert_int_equal(run(stage, request, &outcome), 0);
	assert_true(outcome.reply.has_ended);
	if (captured->layout.data)
		assert_int_equal(captured_layout_decode(captured->layout.data, captured->layout.size, &stage->layout),
		                 0);
	if (captured->parcel_count > 0) {
		const struct captured_value *parcel = &outcome.reply.parcels[0];

		assert_int_equal(captured->parcel_count, 1);
		stage->count = captured_parcel_decode(parcel->data, parcel->size, stage->numbers, stage->bytes);
		assert_int_equal(stage->numbers[0], parcel->block);
	}
	capture_outcome_fini(&outcome);
}

static void
fails(const struct kernel_text_stage *stage, const struct capture_request *request, int err)
{
	struct capture_outcome outcome;

	assert_int_equal(run(stage, request, &outcome), err);
	capture_outcome_fini(&outcome);
}

static void
blocks_with_samples_come_with_those_beside_them(void **state)
{
	static const struct request_place places[] = {{0, 1}, {4, 1}};
	const struct capture_request request = {.image = KERNEL, .places = places, .place_count = 2, .names = true};
	struct kernel_text_stage *stage = *state;

	take(stage, &request);
	assert_int_equal(stage->count, 4); /* 0, 1; 3, 4: there is no 5 */
	assert_int_equal(stage->numbers[1], 1);
	assert_int_equal(stage->numbers[2], 3);
	assert_int_equal(stage->numbers[3], 4);
	assert_int_equal(stage->bytes[0], 'a');
	assert_int_equal(stage->bytes[2 * CAPTURED_BLOCK_SIZE], 'd');
	assert_int_equal(stage->bytes[4 * CAPTURED_BLOCK_SIZE - 1], 'e');
}

/* The kernel's address is not disclosed. */
static void
the_layout_has_distances_for_addresses(void **state)
{
	const struct capture_request request = {.image = KERNEL, .names = true};
	struct kernel_text_stage *stage = *state;

	take(stage, &request);
	assert_non_null(stage->layout);
	assert_int_equal(stage->layout->machine, EM_X86_64);
	assert_int_equal(stage->layout->segment_count, 1);
	assert_int_equal(stage->layout->segments[0].address, 0);
	assert_int_equal(stage->layout->segments[0].offset, 0);
	assert_int_equal(stage->layout->segments[0].size, 5 * 4096);
	assert_int_equal(stage->layout->section_count, 1);
	assert_true(stage->layout->sections[0].is_code);
}

static void
known_blocks_are_left_out(void **state)
{
	static const struct request_place place = {2, 1};
	static const uint32_t known[] = {1, 2};
	const struct capture_request request = {
		.image = KERNEL, .places = &place, .place_count = 1, .known = known, .known_count = 2};
	struct kernel_text_stage *stage = *state;

	take(stage, &request);
	assert_int_equal(stage->count, 1);
	assert_int_equal(stage->numbers[0], 3);
	assert_null(stage->layout);
}

/* Its data lie elsewhere. */
static void
a_module_ends_with_its_last_function(void **state)
{
	static const struct request_place place = {1, 1};
	const struct capture_request request = {.image = MODULE, .places = &place, .place_count = 1, .names = true};
	struct kernel_text_stage *stage = *state;

	take(stage, &request);
	assert_int_equal(stage->layout->segments[0].size, 2 * 4096);
	assert_int_equal(stage->count, 2);
	assert_int_equal(stage->bytes[0], 'f');
	assert_int_equal(stage->bytes[CAPTURED_BLOCK_SIZE], 'g');
}

static void
remove_file(const struct kernel_text_stage *stage, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", stage->procfs, name);
	assert_int_equal(unlink(path), 0);
}

/* Listing the symbols takes the kernel 40 ms, too long to do it each time that another block has samples. */
static void
where_the_image_lies_is_known_and_no_symbol_listed(void **state)
{
	static const struct request_place place = {1, 1};
	struct capture_request request = {
		.image = KERNEL,
		.start = KERNEL_AT,
		.end = KERNEL_AT + 0x4800,
		.places = &place,
		.place_count = 1,
		.names = true,
	};
	struct kernel_text_stage *stage = *state;

	remove_file(stage, "kallsyms");
	take(stage, &request);
	assert_int_equal(stage->layout->segments[0].size, 5 * 4096);
	assert_int_equal(stage->count, 3);
	assert_int_equal(stage->bytes[0], 'a');
	free(stage->layout);
	stage->count = 0;
	request.image = (struct image)MODULE;
	request.start = MODULE_AT;
	request.end = MODULE_AT + 0x1021;
	take(stage, &request);
	assert_int_equal(stage->layout->segments[0].size, 2 * 4096);
	assert_int_equal(stage->count, 2);
	assert_int_equal(stage->bytes[0], 'f');
}

/* The request has the address of the last sample; the module was unloaded and loaded at another one since. */
static void
a_module_that_has_moved_is_looked_for(void **state)
{
	static const struct request_place place = {1, 1};
	const struct capture_request request = {
		.image = MODULE,
		.start = MODULE_AT - 0x10000,
		.end = MODULE_AT - 0x10000 + 0x21,
		.places = &place,
		.place_count = 1,
		.names = true,
	};
	struct kernel_text_stage *stage = *state;

	take(stage, &request);
	assert_int_equal(stage->layout->segments[0].size, 2 * 4096);
	assert_int_equal(stage->bytes[0], 'f');
}

static void
a_block_is_known_with_those_beside_it(void **state)
{
	static const uint32_t known[] = {0, 1, 5, 6, 7, 9};

	(void)state;
	assert_true(kernel_text_is_known(0, known, 6));
	assert_true(kernel_text_is_known(6, known, 6));
	assert_false(kernel_text_is_known(1, known, 6));
	assert_false(kernel_text_is_known(5, known, 6));
	assert_false(kernel_text_is_known(8, known, 6));
	assert_false(kernel_text_is_known(0, NULL, 0));
}

static void
what_is_not_there_is_said(void **state)
{
	const struct capture_request gone = {.image = {.kind = IMAGE_MODULE, .path = "[gone]"}},
				     odd = {.image = {IMAGE_MODULE, .path = "x"}}, kernel = {.image = KERNEL};
	struct kernel_text_stage *stage = *state;

	fails(stage, &gone, -ENOENT);
	fails(stage, &odd, -ENOENT);
	remove_file(stage, "kcore");
	fails(stage, &kernel, -ENODEV);
}

static void
a_core_that_is_none_is_refused(void **state)
{
	const struct capture_request request = {.image = KERNEL, .names = true};
	struct kernel_text_stage *stage = *state;

	write_text(stage, "kcore", "no core at all, but as long as the header of one would have to be, and some", 75);
	fails(stage, &request, -DCPI_EDAMAGED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(blocks_with_samples_come_with_those_beside_them),
		CASE(the_layout_has_distances_for_addresses),
		CASE(known_blocks_are_left_out),
		CASE(a_module_ends_with_its_last_function),
		CASE(where_the_image_lies_is_known_and_no_symbol_listed),
		CASE(a_module_that_has_moved_is_looked_for),
		CASE(a_block_is_known_with_those_beside_it),
		CASE(what_is_not_there_is_said),
		CASE(a_core_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
