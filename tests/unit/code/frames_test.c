#include "tests/unit/image/elf_fixture.h"

#include <unistd.h>

#include "base/array.h"
#include "code/frames.h"

/* ---- where frames are ---- */

/*
 * A letter for each byte: '.' not known, 'c' called, 'd' called and deeper, 's' the same with %rbp saved, 'k' kept, 'l'
 * linked.
 */
struct place_map {
	char *letters;
	size_t size, last;
	char place;
};

static int
note_place(void *context, size_t offset, const struct frame_place *place)
{
	struct place_map *map = context;

	assert_true(offset >= map->last && offset <= map->size);
	memset(map->letters + map->last, map->place, offset - map->last);
	map->last = offset;
	map->place = place->kind != FRAME_CALLED ? ".ckl"[place->kind] : place->saved ? 's' : place->depth ? 'd' : 'c';
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
	assert_int_equal(frames_each(decoder, bytes, map.size, 0, note_place, &map), 0);
	decoder_free(decoder);
	note_place(&map, map.size, &(struct frame_place){0});
	return map.letters;
}

#define PROLOGUE "	push %rbp\n	mov %rsp, %rbp\n"
#define RETURN   "	pop %rbp\n	ret\n"
#define FILL     "	.balign 16, 0xcc\n"  /* as linkers do between functions */
#define FIRST    "	int3\n	int3\n" FILL /* behind it, what begins is a function */

static void
frames_are_where_the_instructions_have_them(void **state)
{
	static const struct {
		const char *source, *places;
	} cases[] = {
		{PROLOGUE "	nop\n" RETURN, "cssskkc"},
		{"	endbr64\n" PROLOGUE "	push %rbx\n	pop %rbx\n" RETURN, "cccccssskkkc"},
		{"	push %rbp\n	.byte 0x48, 0x8b, 0xec\n	leave\n	ret\n", "cssskc"},
		/* compilers put other instructions between the two of the prologue */
		{"	push %rbp\n	xor %eax, %eax\n	mov %rsp, %rbp\n" RETURN, "cssssskc"},
		{"	push %rbp\n	push %rbx\n	mov %rsp, %rbp\n	pop %rbx\n" RETURN, "........"},
		/* of a function without a frame it is known what it pushed, if it returns with the stack it was called
	           with */
		{FIRST "	mov %edi, %eax\n	ret\n", "................ccc"},
		{FIRST "	push %rbx\n	sub $16, %rsp\n	push $1\n	add $24, %rsp\n	pop %rbx\n	ret\n",
	         "................cdddddddddddc"},
		{FIRST
	         "	push %rbx\n	push %rbp\n	xor %ebp, %ebp\n	pop %rbp\n	pop %rbx\n	ret\n",
	         "................cdsssdc"},
		{FIRST "	mov %edi, %eax\n	jmp *%rax\n", "...................."},
		{FIRST "	pop %rax\n	push %rbx\n	push %rax\n	ret\n", "...................."},
		{FIRST "	and $-16, %rsp\n	ret\n", "....................."},
		/* or if it is called */
		{FIRST "	mov %edi, %eax\n	jmp *%rax\n" FILL PROLOGUE "	call .-20\n" RETURN,
	         "................cccccccccccccccccssskkkkkkc"},
		/* it is a part of a function with a frame when it uses that */
		{FIRST "	mov -8(%rbp), %eax\n	ret\n", "...................."},
		/* code behind a return that a jump reaches, a jump back, or nothing but a table */
		{PROLOGUE "	jne 1f\n	leave\n	ret\n1:	leave\n	ret\n", "cssskkkckc"},
		{FIRST "	jmp 1f\n2:	nop\n1:	jne 2b\n	push %rbx\n	jmp 3f\n4:	nop\n3:	jne "
	               "4b\n	pop %rbx\n	ret\n	int3\n" FIRST PROLOGUE RETURN,
	         "................ccccccddddddcccccssskc"},
		{FIRST PROLOGUE "	jmp *%rax\n	nop\n	call .\n	leave\n	ret\n" FILL,
	         "................cssskkkkkkkkkccc"},
		/* between nops, it may be another function: it is not when it jumps back, or removes the frame */
		{PROLOGUE "	jmp *%rax\n	nop\n	leave\n	ret\n", "cssskkkkc"},
		{PROLOGUE "1:	nop\n	jmp *%rax\n	nop\n	jmp 1b\n", "cssskkkkkk"},
		{PROLOGUE "	jmp *%rax\n	nop\n	ret\n", "cssskkcc"},
		{PROLOGUE "	jmp *%rax\n	nop\n	push %rbp\n", "cssskk.."},
		{PROLOGUE "	jmp *%rax\n	nop\n	jmp *%rax\n", "cssskk..."},
		/* a call may not return */
		{PROLOGUE "	nopl 1(%rax)\n	nopl (%rax)\n	call .\n	mov %rdi, %rax\n	ret\n",
	         "cssskkkkkkkkkkkkcccc"},
		{PROLOGUE "	call .\n	ret\n", "cssskkkkkc"},
		/* %rbp gets another value */
		{PROLOGUE "	xor %ebp, %ebp\n	nop\n", "cssskk."},
		{"	push %rbp\n	nop\n	mov %rsi, %rbp\n	pop %rbp\n	ret\n", "......."},
		/* a part of a function has a frame */
		{"	test %edi, %edi\n	je 1f\n" PROLOGUE RETURN "1:	ret\n", "....cssskcc"},
		{FIRST "	test %edi, %edi\n	je 1f\n" PROLOGUE RETURN "1:	ret\n",
	         "................cccccssskcc"},
		/* where the stack is aligned, and where V8 inserts what lies below the return address, the caller's
	           stack pointer is not known, but its frame pointer is */
		{FIRST "	lea 8(%rsp), %r10\n	and $-32, %rsp\n	push -8(%r10)\n" PROLOGUE
	               "	nop\n	leave\n",
	         ".................................ll"},
		{FIRST "	pop %rax\n	push %rbx\n	push %rax\n" PROLOGUE "	nop\n	leave\n",
	         ".......................ll"},
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
