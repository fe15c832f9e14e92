#include "tests/unit/image/elf_fixture.h"

#include <unistd.h>

#include "base/array.h"
#include "code/frames.h"

/* ---- where frames are ---- */

/*
 * A letter for each byte: '.' not known, 'c' called, 'd' called and deeper, 's' deeper with %rbp saved, 'k' kept, 'l'
 * linked.
 */
struct place_map {
	char *letters;
	size_t size, last, called_depth;
	char place;
};

static int
note_place(void *context, size_t offset, const struct frame_place *place)
{
	struct place_map *map = context;

	assert_true(offset >= map->last && offset <= map->size);
	memset(map->letters + map->last, map->place, offset - map->last);
	map->last = offset;
	if (place->kind != FRAME_CALLED)
		map->place = (char[]){'.', 'c', 'k', 'l'}[place->kind];
	else if (place->saved)
		map->place = 's';
	else
		map->place = place->depth > map->called_depth ? 'd' : 'c';
	return 0;
}

/* A machine whose code is assembled here, each instruction of which has so many bytes, 1: any number. */
struct assembler {
	enum unwind_machine machine;
	const char *command;
	size_t size, called_depth;
};

static const struct assembler x86_64 = {UNWIND_X86_64, "gcc -c -o places.o places.S && objcopy", 1, 8};
static const struct assembler aarch64 = {
	UNWIND_AARCH64, "aarch64-linux-gnu-gcc -march=armv8.3-a -c -o places.o places.S && aarch64-linux-gnu-objcopy",
	4, 0};

/* The places in code that is assembled from `source`, at address 0. Free it. */
static char *
places_of(const struct folder *folder, const struct assembler *assembler, const char *source)
{
	uint8_t bytes[4096];
	struct place_map map = {.place = '.', .called_depth = assembler->called_depth};
	char path[PATH_MAX];
	FILE *file;
	struct frames *frames = frames_new(assembler->machine);

	assert_non_null(frames);
	write_file(folder, "places.S", "%s", source);
	assert_true(run_in(folder, "%s -O binary -j .text places.o places", assembler->command));
	file = fopen(path_in(folder, "places", path), "r");
	assert_non_null(file);
	map.size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	map.letters = calloc(1, map.size + 1);
	assert_int_equal(frames_each(frames, bytes, map.size, 0, note_place, &map), 0);
	frames_free(frames);
	note_place(&map, map.size, &(struct frame_place){0});
	for (size_t i = 0; i <= map.size / assembler->size; i++)
		map.letters[i] = map.letters[i * assembler->size];
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
		{FIRST "	push %rbp\n	xchg %rbp, %rsp\n	pop %rbp\n	ret\n",
	         "......................"},
		/* or if it is called; a loop moves the stack pointer nobody knows how often */
		{FIRST "	lea -65536(%rsp), %r11\n1:	push %rax\n	cmp %r11, %rsp\n	jne "
	               "1b\n	call *%rax\n" FILL PROLOGUE "	call .-20\n" RETURN,
	         "................cccccccc........cssskkkkkkc"},
		{FIRST "	mov %edi, %eax\n	jmp *%rax\n" FILL PROLOGUE "	call .-20\n" RETURN,
	         "................cccccccccccccccccssskkkkkkc"},
		/* it is a part of a function with a frame when it uses that */
		{FIRST "	mov -8(%rbp), %eax\n	ret\n", "...................."},
		{FIRST "	jmp 2f\n1:	nop\n	jmp *%rax\n2:	jne 1b\n	mov -8(%rbp), %eax\n	"
	               "ret\n	int3\n" FIRST PROLOGUE RETURN,
	         "..................cccccccccccccccssskc"},
		/* code behind a return that a jump reaches, a jump back, or nothing but a table */
		{PROLOGUE "	jne 1f\n	leave\n	ret\n1:	leave\n	ret\n", "cssskkkckc"},
		{FIRST "	jmp 1f\n2:	nop\n1:	jne 2b\n	push %rbx\n	jmp 3f\n4:	nop\n3:	jne "
	               "4b\n	pop %rbx\n	ret\n	int3\n" FIRST PROLOGUE RETURN,
	         "................ccccccddddddcccccssskc"},
		{FIRST PROLOGUE "	jmp *%rax\n	nop\n	call .\n	leave\n	ret\n" FILL,
	         "................cssskkkkkkkkkccc"},
		/* at a multiple of 16, it may be another function, which linkers put right behind the first one */
		{FIRST PROLOGUE "	.skip 10, 0x90\n" RETURN "	mov %edi, %eax\n	jmp *%rax\n" FILL,
	         "................cssskkkkkkkkkkkc................"},
		/* between nops, it may be another function: not when it jumps back, or uses or removes the frame */
		{PROLOGUE "	jmp *%rax\n	nop\n	leave\n	ret\n", "cssskkkkc"},
		{PROLOGUE "1:	nop\n	jmp *%rax\n	nop\n	jmp 1b\n", "cssskkkkkk"},
		{PROLOGUE "	jmp *%rax\n	nop\n	mov -8(%rbp), %eax\n	jmp *%rax\n", "cssskkkkkkkk"},
		{PROLOGUE "	jmp *%rax\n	nop\n	ret\n", "cssskkcc"},
		{PROLOGUE "	jmp *%rax\n	nop\n	push %rbp\n", "cssskk.."},
		{PROLOGUE "	jmp *%rax\n	nop\n	jmp *%rax\n", "cssskk..."},
		/* a call may not return */
		{PROLOGUE "	nopl 1(%rax)\n	nopl (%rax)\n	call .\n	mov %rdi, %rax\n	ret\n",
	         "cssskkkkkkkkkkkkcccc"},
		{PROLOGUE "	call .\n	ret\n", "cssskkkkkc"},
		{PROLOGUE "	call .\n	test %edi, %edi\n	je 1f\n" PROLOGUE RETURN "1:	ret\n",
	         "cssskkkkkcccccssskcc"},
		{PROLOGUE
	         "	call .\n	mov (%rdi), %rax\n	test %rax, %rax\n	je 1f\n	ret\n1:	push %rbp\n",
	         "cssskkkkkcccccccccc"},
		{FIRST "	push %rax\n	call .\n" PROLOGUE RETURN FILL PROLOGUE "	call .-20\n" RETURN,
	         "................cdddddcssskccccccssskkkkkkc"},
		/* a function that began behind a call takes the place of the rows since then */
		{FIRST "	push %rbx\n1:	nop\n	pop %rbx\n	ret\n" FILL FIRST "	push %rbx\n	je 2f\n"
	               "	push %rcx\n	call *%rax\n	nop\n2:	nop\n	je 1b\n	ret\n",
	         "................cddccccccccccccccccccccccccccccccdddddccccc"},
		/* %rbp gets another value */
		{PROLOGUE "	xor %ebp, %ebp\n	nop\n", "cssskk."},
		{"	push %rbp\n	nop\n	mov %rsi, %rbp\n	pop %rbp\n	ret\n", "......."},
		/* a part of a function has a frame */
		{"	test %edi, %edi\n	je 1f\n" PROLOGUE RETURN "1:	ret\n", "cccccssskcc"},
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
		char *places = places_of(*state, &x86_64, cases[i].source);

		assert_string_equal(places, cases[i].places);
		free(places);
	}
}

/* A letter is an instruction. */
static void
frames_of_arm_are_where_the_instructions_have_them(void **state)
{
	static const struct {
		const char *source, *places;
	} cases[] = {
		{"	stp x29, x30, [sp, #-32]!\n	mov x29, sp\n	str x19, [sp, #16]\n	bl .\n"
	         "	ldr x19, [sp, #16]\n	ldp x29, x30, [sp], #32\n	ret\n",
	         "cskkkkc"},
		/* signed return addresses, and a record that is not where the stack ends */
		{"	paciasp\n	sub sp, sp, #48\n	nop\n	stp x29, x30, [sp, #32]\n	add x29, sp, "
	         "#32\n	nop\n"
	         "	ldp x29, x30, [sp, #32]\n	add sp, sp, #48\n	autiasp\n	ret\n",
	         "ccddskkdcc"},
		{"	bti c\n	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n	ldp x29, x30, [sp], #16\n	"
	         "retaa\n",
	         "ccskc"},
		/* a function without a frame is known by its return */
		{"	b .\n	cbz x0, 1f\n	mov x0, #1\n	ret\n1:	mov x0, #2\n	ret\n", ".ccccc"},
		{"	b .\n	str x19, [sp, #-16]!\n	ldr x19, [sp], #16\n	ret\n", "...."},
		/* a function that calls has its return address elsewhere */
		{"	b .\n	cbz x0, 1f\n	ret\n1:	bl .\n	nop\n", ".cc.."},
		/* the stack grows by a register's value: only the record is known */
		{"	mov x12, #23296\n	sub sp, sp, x12\n	stp x29, x30, [sp]\n	mov x29, sp\n	nop\n",
	         "c...l"},
		/* x29 and x30 are registers like others, and a stack pointer that moves while the frame is kept is no
	           matter */
		{"	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n	mov x30, x0\n	sub sp, sp, x1\n	mov "
	         "sp, x29\n"
	         "	ldp x29, x30, [sp], #16\n	ret\n",
	         "cskkkkc"},
		{"	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n	ldr x29, [x0]\n	nop\n", "csk."},
		/* behind a call that does not return, a function begins */
		{"	stp x29, x30, [sp, #-16]!\n	mov x29, sp\n	bl .\n	paciasp\n	stp x29, x30, [sp, "
	         "#-16]!\n",
	         "cskcc"},
	};

	need_tool("aarch64-linux-gnu-gcc");
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		char *places = places_of(*state, &aarch64, cases[i].source);

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
	struct frames *few = frames_new(UNWIND_X86_64), *enough = frames_new(UNWIND_X86_64);

	(void)state;
	for (size_t i = 0; i < 63; i++)
		memcpy(code + i * 32, beginning, sizeof(beginning));
	frames_look_at(few, code, 64 * 32);
	assert_false(frames_are_kept(few)); /* too few */
	for (size_t i = 63; i < 100; i++)
		memcpy(code + i * 32, beginning, sizeof(beginning));
	frames_look_at(enough, code, size);
	assert_true(frames_are_kept(enough));
	frames_look_at(enough, code + 100 * 32, 4096);
	assert_false(frames_are_kept(enough)); /* too few for their size */
	frames_free(few);
	frames_free(enough);
	free(code);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_where_the_instructions_have_them),
		cmocka_unit_test(frames_of_arm_are_where_the_instructions_have_them),
		cmocka_unit_test(code_with_few_beginnings_keeps_none),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
