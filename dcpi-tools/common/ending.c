#include "dcpi-tools/common/ending.h"

#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

static const int asking[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

#define ASKING (sizeof(asking) / sizeof(asking[0]))

static void
collect(sigset_t *signals)
{
	sigemptyset(signals);
	for (size_t i = 0; i < ASKING; i++)
		sigaddset(signals, asking[i]);
}

void
ending_hold(sigset_t *before)
{
	sigset_t signals;

	collect(&signals);
	sigprocmask(SIG_BLOCK, &signals, before);
}

bool
ending_is_asked(int signal_number)
{
	struct sigaction action;
	size_t i = 0;

	while (i < ASKING && asking[i] != signal_number)
		i++;
	return i < ASKING && sigaction(signal_number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

int
ending_take(void)
{
	static const struct timespec now = {0};
	sigset_t signals;
	int taken, asked = 0;

	collect(&signals);
	/* what is ignored waits all the same while it is blocked */
	while ((taken = sigtimedwait(&signals, NULL, &now)) > 0)
		if (!asked && ending_is_asked(taken))
			asked = taken;
	return asked;
}

void
ending_release(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

int
ending_by(int signal_number)
{
	const struct rlimit no_core = {0};
	sigset_t own;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigemptyset(&own);
	sigaddset(&own, signal_number);
	sigprocmask(SIG_UNBLOCK, &own, NULL);
	raise(signal_number);
	return 128 + signal_number;
}
