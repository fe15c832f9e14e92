#include "base/guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct guard_signal {
	int number;
	const char *reason;
} guarded[] = {
	{SIGSEGV, "a read fell outside of it"},
	{SIGBUS, "a part of it cannot be read"},
	{SIGABRT, "it contradicts itself"},
};
#define GUARDED_COUNT (sizeof(guarded) / sizeof(guarded[0]))

static __thread struct guard *volatile innermost;
static __thread const struct guard_excuse *volatile excuse;
static __thread char handler_stack[32768]; /* the fault may be a stack overflow */
static struct sigaction before[GUARDED_COUNT];
static char *const *_Atomic new_arguments; /* NULL: end instead */
static char *const *_Atomic new_environment;

/* strlen(3) and write(2) are async-signal-safe; there is nothing to be done about a write that fails. */
static void
write_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
	const struct guard *guard = innermost;
	size_t i = 0;

	(void)context;
	while (guarded[i].number != number)
		i++;
	if (!guard || info->si_code == SI_USER) {
		/* not ours: it comes again when we return, to whom it would have come */
		sigaction(number, &before[i], NULL);
		raise(number);
		return;
	}
	write_text(program_invocation_short_name);
	write_text(": ");
	write_text(guard->subject);
	write_text(": ");
	if (excuse && excuse->applies(excuse->context)) {
		write_text(excuse->sentence);
		write_text("\n");
		_exit(excuse->status);
	}
	write_text(guard->claim);
	write_text(" (");
	write_text(guarded[i].reason);
	write_text("); ");
	write_text(guard->advice);
	write_text("\n");
	if (guard->begins_anew && new_arguments)
		execve("/proc/self/exe", new_arguments, new_environment);
	_exit(guard->status);
}

void
guard_begin_anew_with(char *const *arguments, char *const *environment)
{
	new_environment = environment;
	new_arguments = arguments;
}

void
guard_enter(struct guard *guard)
{
	stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};

	guard->outer = innermost;
	innermost = guard;
	if (guard->outer)
		return;
	sigaltstack(&stack, NULL);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < GUARDED_COUNT; i++)
		sigaction(guarded[i].number, &action, &before[i]);
}

void
guard_leave(struct guard *guard)
{
	stack_t off = {.ss_flags = SS_DISABLE};

	innermost = guard->outer;
	if (innermost)
		return;
	for (size_t i = 0; i < GUARDED_COUNT; i++)
		sigaction(guarded[i].number, &before[i], NULL);
	sigaltstack(&off, NULL);
}

void
guard_set_excuse(const struct guard_excuse *new)
{
	excuse = new;
}

struct guard *
guard_innermost(void)
{
	return innermost;
}

void
guard_share(struct guard *guard)
{
	stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};

	innermost = guard;
	sigaltstack(&stack, NULL);
}

void
guard_unshare(void)
{
	stack_t off = {.ss_flags = SS_DISABLE};

	innermost = NULL;
	sigaltstack(&off, NULL);
}
