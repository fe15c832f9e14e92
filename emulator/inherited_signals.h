/*
 * inherited_signals.h - signals that were ignored when the program was executed stay so in what it executes
 *
 * The emulator tells its guest that such a signal is ignored, but catches it: what the guest executes would have it as
 * if nobody had said anything (nohup, a shell's `trap ""`).
 * Thread rule: one thread.
 */
#ifndef DCPI_EMULATOR_INHERITED_SIGNALS_H
#define DCPI_EMULATOR_INHERITED_SIGNALS_H

#include <stdint.h>

/* As bits, signal 1 the lowest: those that are ignored now, before the emulator has taken them. */
uint32_t inherited_signals_read(void);

/*
 * Ignore them again, and forget them: only the first call does something, and must come before the guest's first
 * instruction. Later, the guest may have other wishes, which the emulator hands on by itself.
 */
void inherited_signals_ignore(uint32_t *signals);

#endif
