/*
 * go_functions.h - the functions of a Go program, by the table that Go's runtime finds its own callers with
 *
 * Go writes no .eh_frame, and Debian's programs have no symbols, but every program keeps its .gopclntab ("pc line
 * table", Go's src/runtime/symtab.go and src/internal/abi/symtab.go): for each function its name and, for each
 * instruction, how far the stack pointer is below where it was at the function's entry. Read are the tables of Go 1.18
 * and later, of 64-bit little-endian machines. The file may be malicious: nothing is read outside of the section.
 * Thread rule: one thread per elf_file; a struct go_functions is plain data that points into the file.
 */
#ifndef DCPI_IMAGE_GO_FUNCTIONS_H
#define DCPI_IMAGE_GO_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/elf_file.h"

struct go_functions {
	const uint8_t *bytes; /* of the section */
	size_t size;
	uint64_t count;                  /* of functions */
	uint64_t text;                   /* ELF virtual address that entries are relative to */
	size_t names, stacks, functions; /* offsets of the parts */
	size_t flags;                    /* of a function: the offset of its flags */
	uint8_t quantum;                 /* bytes that instructions are multiples of */
};

struct go_function {
	uint64_t address, size; /* ELF virtual address */
	const char *name;       /* in the file */
	const uint8_t *stack;   /* for struct go_stack */
	/*
	 * Nothing on its stack lies above it: what a thread or goroutine begins with (runtime.goexit), and what goes on
	 * on the scheduler's stack (runtime.systemstack).
	 */
	bool begins_stack;
	bool switches_stack; /* it calls on another stack, and comes back to its own by the frame pointer */
	bool is_assembly;
};

/* False: the file has no such table that can be read. */
bool go_functions_find(struct go_functions *functions, const struct elf_file *file);

/* Calls `visit` for each, ascending, until it gives something else than 0, which is returned. Damage ends the list. */
typedef int go_function_visit(void *context, const struct go_function *function);
int go_functions_each(const struct go_functions *functions, go_function_visit *visit, void *context);

/* A stretch of a function, in which the stack pointer is `depth` bytes below where it was at the entry. */
struct go_stack {
	const struct go_functions *functions;
	const uint8_t *at;
	uint64_t begin, end; /* offsets from the function's entry */
	int64_t depth;
	bool is_first;
};

void go_stack_begin(struct go_stack *stack, const struct go_functions *functions, const uint8_t *at);

/* The next stretch; false: there is none, or it is damaged. */
bool go_stack_next(struct go_stack *stack);

#endif
