/*
 * inherited_signals.h - signals that were ignored when the program was executed are ignored in programs it executes
 *
 * The emulator shows its guest such a signal (of nohup, or a shell's `trap ""`) as ignored, but has a handler for it:
 * execve() would reset it to its default.
 * Thread rule: one thread.
 */
#ifndef DCPI_EMULATOR_INHERITED_SIGNALS_H
#define DCPI_EMULATOR_INHERITED_SIGNALS_H

#include <stdint.h>

/* The signals (bit n: signal n + 1) that are ignored now, before the emulator installs its handlers. */
uint32_t inherited_signals_read(void);

/*
 * Ignore them again, and clear `*signals`, so that later calls do nothing. The first call must come before the guest's
 * first instruction: later changes of the guest go through the emulator to the kernel.
 */
void inherited_signals_ignore(uint32_t *signals);

#endif
