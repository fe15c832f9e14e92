#include "tests/unit/image/elf_fixture.h"

#include <unistd.h>

#include "base/array.h"
#include "code/frame_pointers.h"

/* ---- where frames are ---- */

/* A letter for each byte: '.' not known, 'c' called, 's' saved, 'k' kept. */
struct place_map {
	char *letters;
	size_t size, last;
	char place;
};

static int
note_place(void *context, size_t offset, enum frame_place place)
{
	struct place_map *map = context;

	assert_true(offset >= map->last && offset <= map->size);
	memset(map->letters + map->last, map->place, offset - map->last);
	map->last = offset;
	map->place = ".csk"[place];
	return 0;
}

/* The places in code that is assembled from `source`, at address 0. Free it. */
static char *
places_of(const struct folder *folder, const char *source)
{
	uint8_t bytes[4096];
	struct place_map map = {.place = '.'};
	char path[PATH_MAX];
	FILE *file;
	struct decoder *decoder = decoder_new(ARCHITECTURE_X86_64);

	assert_non_null(decoder);
	write_file(folder, "places.S", "%s", source);
	assert_true(run_in(folder, "gcc -c -o places.o places.S && objcopy -O binary -j .text places.o places"));
	file = fopen(path_in(folder, "places", path), "r");
	assert_non_null(file);
	map.size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	map.letters = calloc(1, map.size + 1);
	assert_int_equal(frame_pointers_each(decoder, bytes, map.size, 0, note_place, &map), 0);
	decoder_free(decoder);
	note_place(&map, map.size, FRAME_UNKNOWN);
	return map.letters;
}

#define PROLOGUE "	push %rbp\n	mov %rsp, %rbp\n"
#define RETURN   "	pop %rbp\n	ret\n"
#define PADDING  "	.balign 16, 0xcc\n"

static void
frames_are_where_the_instructions_have_them(void **state)
{
	static const struct {
		const char *source, *places;
	} cases[] = {
		{PROLOGUE "	nop\n" RETURN, "cssskkc"},
		{"	endbr64\n" PROLOGUE "	push %rbx\n	pop %rbx\n" RETURN PADDING, "cccccssskkkc...."},
		/* the encoding of V8 */
		{"	push %rbp\n	.byte 0x48, 0x8b, 0xec\n" RETURN, "cssskc"},
		/* padding between two, as in the second one's first instruction */
		{PROLOGUE RETURN PADDING PROLOGUE RETURN, "cssskccccccccccccssskc"},
		/* what padding separates may have no frame */
		{PROLOGUE RETURN PADDING "	mov %rdi, %rax\n	ret\n" PADDING PROLOGUE RETURN,
	         "cssskc..........................cssskc"},
		/* a tail call, and code behind it that a jump ahead reaches with the frame */
		{PROLOGUE "	jne 1f\n	leave\n	jmp .-100\n1:	leave\n	ret\n", "cssskkkcckc"},
		/* a return with the frame: the function that has it is another one, behind a call that does not return
	         */
		{PROLOGUE "	nopl 1(%rax)\n	nopl (%rax)\n	call .\n	mov %rdi, %rax\n	ret\n",
	         "cssskkkkkkkkkkkk...."},
		{PROLOGUE "	call .\n	ret\n", ".........."},
		/* so does a jump to where the frame is not there yet */
		{PROLOGUE "1:	nop\n	jmp 1b-4\n", "......."},
		/* the stack pointer changes where the frame is not there any more */
		{PROLOGUE "	pop %rbp\n	nop\n	pop %rcx\n	nop\n	ret\n", "cssskcc.."},
		/* %rbp gets another value */
		{PROLOGUE "	xor %ebp, %ebp\n	nop\n", "cssskk."},
		/* a part of a function has a frame: what is before and behind it may have none */
		{"	test %edi, %edi\n	je 1f\n	nop\n" PROLOGUE RETURN "1:	ret\n", ".....cssskc."},
		/* %rbp is a register like others */
		{"	push %rbp\n	nop\n	mov %rsi, %rbp\n	pop %rbp\n	ret\n", "......."},
		/* a copy of the return address is pushed: the caller's stack pointer is elsewhere */
		{"	push -8(%r10)\n" PROLOGUE RETURN, ".........."},
		/* the bytes of a prologue that are the end of another instruction */
		{"	push %r13\n	mov %rsp, %rbp\n	pop %rbp\n	ret\n", "......."},
	};

	need_tool("gcc");
	need_tool("objcopy");
#ifndef __x86_64__
	skip_because("the program is for x86-64");
#endif
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		char *places = places_of(*state, cases[i].source);

		assert_string_equal(places, cases[i].places);
		free(places);
	}
}

/* ---- which code keeps frame pointers ---- */

/* Some functions that do, in code that does not: they may be of assembler, and what is around them has no frames. */
static void
code_with_few_beginnings_keeps_none(void **state)
{
	static const uint8_t beginning[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3};
	const size_t size = 100 * 2048;
	uint8_t *code = calloc(1, size);
	struct frame_evidence evidence = {0};

	(void)state;
	for (size_t i = 0; i < 63; i++)
		memcpy(code + i * 32, beginning, sizeof(beginning));
	frame_evidence_add(&evidence, code, 64 * 32);
	assert_int_equal(evidence.beginnings, 63);
	assert_false(frame_pointers_are_kept(&evidence)); /* there are too few */
	for (size_t i = 63; i < 100; i++)
		memcpy(code + i * 32, beginning, sizeof(beginning));
	evidence = (struct frame_evidence){0};
	frame_evidence_add(&evidence, code, size);
	assert_true(frame_pointers_are_kept(&evidence));
	frame_evidence_add(&evidence, code + 100 * 32, 4096);
	assert_false(frame_pointers_are_kept(&evidence)); /* too few for their size */
	free(code);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_where_the_instructions_have_them),
		cmocka_unit_test(code_with_few_beginnings_keeps_none),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
