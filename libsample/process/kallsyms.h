/*
 * kallsyms.h - the kernel's own lists of its functions and of its modules
 *
 * Each is read in one pass and given to a visitor entry by entry; addresses are used to find bases and sizes and are
 * never stored.
 * Thread rule: stateless, except struct kallsyms_copy: one thread at a time.
 */
#ifndef DCPI_PROCESS_KALLSYMS_H
#define DCPI_PROCESS_KALLSYMS_H

#include <stdint.h>

struct kallsyms_symbol {
	uint64_t address;
	char type;          /* as nm(1) prints it; 't', 'T', 'w', 'W' are code */
	const char *name;   /* valid during the call */
	const char *module; /* without brackets, "" for the kernel itself, "bpf" for BPF programs; as `name` */
};

/* Returns 0 to go on; anything else ends the pass and becomes its result. */
typedef int kallsyms_visit(void *context, const struct kallsyms_symbol *symbol);

/*
 * Visit every symbol of `procfs`/kallsyms whose address is not 0; if it cannot be read, of the first process's. 0,
 * -errno, -EACCES when the addresses are hidden (all zero), or what `visit` returned.
 */
int kallsyms_read(const char *procfs, kallsyms_visit *visit, void *context);

/*
 * The functions of the kernel, and the symbols that bound its text, as one pass listed them. The kernel needs as long
 * to make the list as dcpid works in minutes: a pass keeps what it has seen for the next one that needs it.
 */
struct kallsyms_copy;

struct kallsyms_copy *kallsyms_copy_new(void);       /* empty; NULL: no memory */
void kallsyms_copy_free(struct kallsyms_copy *copy); /* NULL is allowed */

/* Keep `symbol`, if it is a function or bounds the text. 0 or -ENOMEM: then the copy is incomplete, and of no use. */
int kallsyms_copy_add(struct kallsyms_copy *copy, const struct kallsyms_symbol *symbol);

/* Visit what was kept, in the order of kallsyms_copy_add(). 0, or what `visit` returned. */
int kallsyms_copy_visit(const struct kallsyms_copy *copy, kallsyms_visit *visit, void *context);

#define MODULE_NAME_SIZE 64 /* with its NUL; the kernel's limit is 56 */

struct kernel_module {
	const char *name; /* valid during the call */
	uint64_t address; /* of its text */
	uint64_t size;    /* bytes, of all its parts: at least that of its text */
};

/* Returns 0 to go on; anything else ends the pass and becomes its result. */
typedef int kernel_modules_visit(void *context, const struct kernel_module *module);

/*
 * Visit every module of `procfs`/modules that has an address. 0 (also when the kernel has no modules at all), -errno,
 * -EACCES when the addresses are hidden (all zero), or what `visit` returned.
 */
int kernel_modules_read(const char *procfs, kernel_modules_visit *visit, void *context);

#endif
