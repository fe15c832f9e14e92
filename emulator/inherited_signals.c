#include "emulator/inherited_signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define SIGNALS 31 /* of the real-time signals, the emulator and the C library use some */

/* The emulator needs its own handlers of faults; SIGKILL and SIGSTOP cannot be ignored. */
static bool
is_left_alone(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGKILL || signal == SIGSTOP;
}

uint32_t
inherited_signals_read(void)
{
	struct sigaction action;
	uint32_t signals = 0;

	for (int signal = 1; signal <= SIGNALS; signal++)
		if (!is_left_alone(signal) && sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			signals |= UINT32_C(1) << (signal - 1);
	return signals;
}

void
inherited_signals_ignore(uint32_t *signals)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (int signal = 1; *signals && signal <= SIGNALS; signal++)
		if (*signals >> (signal - 1) & 1)
			sigaction(signal, &ignore, NULL);
	*signals = 0;
}
