/*
 * retranslation.h - all code is translated again
 *
 * QEMU 7.2 does it before a second thread begins, unless the program has mapped shared memory before: then what there
 * is is kept. (Libc maps a table of character sets so.) Debian's emulators export what makes it do it at any time.
 * Thread rule: retranslate() by a thread that makes a system call, the only one of its process.
 */
#ifndef DCPI_EMULATOR_RETRANSLATION_H
#define DCPI_EMULATOR_RETRANSLATION_H

#include <stdbool.h>

struct retranslation {
	void *(*find)(int vcpu);
	void (*begin_alone)(void), (*end_alone)(void); /* no other thread executes anything meanwhile */
	void (*forget)(void *cpu);                     /* whatever was translated */
};

/* Whether this emulator can. */
bool retranslation_init(struct retranslation *retranslation);

/* By the thread that is `vcpu`. */
void retranslate(const struct retranslation *retranslation, unsigned vcpu);

#endif
