/*
 * tb_flush.h - make the emulator drop all translated code, so that it is translated again
 *
 * QEMU 7.2 does so before a second thread begins, unless the program has mapped shared memory before: then it keeps the
 * translated code. (Libc maps a table of character sets shared.) Debian's emulators export the functions that flush at
 * any time. Thread rule: tb_flush_all() by a thread that makes a system call, the only one of its process.
 */
#ifndef DCPI_EMULATOR_TB_FLUSH_H
#define DCPI_EMULATOR_TB_FLUSH_H

#include <stdbool.h>

struct tb_flush {
	void *(*find)(int vcpu);
	void (*begin_alone)(void), (*end_alone)(void); /* between them no other thread executes guest code */
	void (*forget)(void *cpu);                     /* all translated code */
};

/* Look up the functions; false when this emulator does not export them. */
bool tb_flush_init(struct tb_flush *flush);

/* By the thread that is `vcpu`. */
void tb_flush_all(const struct tb_flush *flush, unsigned vcpu);

#endif
