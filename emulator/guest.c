#include "emulator/guest.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#define SIGNALS 31 /* of the real-time signals, the emulator and the C library use some */

static __thread bool is_making_thread; /* this thread is in a clone() that begins a thread */

/* The emulator needs its own handlers of faults; SIGKILL and SIGSTOP cannot be ignored. */
static bool
is_left_alone(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGKILL || signal == SIGSTOP;
}

uint32_t
guest_read_ignored_signals(void)
{
	struct sigaction action;
	uint32_t signals = 0;

	for (int signal = 1; signal <= SIGNALS; signal++)
		if (!is_left_alone(signal) && sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			signals |= UINT32_C(1) << (signal - 1);
	return signals;
}

void
guest_ignore_signals(uint32_t *signals)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (int signal = 1; *signals && signal <= SIGNALS; signal++)
		if (*signals >> (signal - 1) & 1)
			sigaction(signal, &ignore, NULL);
	*signals = 0;
}

/* Also in the child of a fork, where another thread may have held the lock. */
static void
init_clone_lock(struct guest *guest)
{
	pthread_mutex_init(&guest->clone_lock, NULL);
	sem_init(&guest->thread_began, 0, 0);
}

int
guest_init(struct guest *guest, const char *target, int argc, char **argv, const void *self)
{
	int err = plugin_args_read(&guest->started, argc, argv, self);

	if (err)
		return err;
	guest->follow.calls = exec_follow_calls_of(target);
	if (!guest->follow.calls)
		return -ENOSYS;
	guest->follow.emulation = guest->started.emulation;
	guest->is_x86 = strcmp(target, "x86_64") == 0;
	guest->ignored_signals = guest_read_ignored_signals();
	init_clone_lock(guest);
	return 0;
}

int
guest_tell(struct guest *guest, mapped_code_visit *add_image, void (*not_followed)(void *context), void *context)
{
	guest->code = mapped_code_new(add_image, context);
	if (!guest->code)
		return -errno;
	guest->follow.not_followed = not_followed;
	guest->follow.context = context;
	return 0;
}

void
guest_fini(struct guest *guest)
{
	mapped_code_free(guest->code);
	guest->code = NULL;
}

void
guest_take_block(struct guest *guest, struct translation *translation)
{
	struct code_block *block = &translation->block;

	guest_ignore_signals(&guest->ignored_signals);
	atomic_store_explicit(&guest->base, translation->guest_base, memory_order_relaxed);
	block->image = 0;
	if (translation->size > 0)
		block->image = mapped_code_find(guest->code, translation->bytes, translation->size, &block->offset);
	if (!block->image)
		block->offset = 0;
}

/* QEMU makes forks of vfork(), and refuses clone3(). */
bool
guest_call_makes_thread(const struct guest *guest, int64_t number, uint64_t flags)
{
	return number == guest->follow.calls->clone && (flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM;
}

bool
guest_call_sets_user(const struct guest *guest, int64_t number, const uint64_t arguments[3], uid_t *user)
{
	const struct exec_follow_calls *calls = guest->follow.calls;

	if (number == calls->setuid)
		*user = (uid_t)arguments[0];
	else if (number == calls->setreuid || number == calls->setresuid)
		*user = (uid_t)arguments[1]; /* the effective one */
	else
		return false;
	return *user != (uid_t)-1; /* it stays */
}

void
guest_thread_began(struct guest *guest)
{
	sem_post(&guest->thread_began);
}

void
guest_forked(struct guest *guest)
{
	init_clone_lock(guest);
	forked_cpus_begin(&guest->forked);
}

void
guest_call_began(struct guest *guest, int64_t number, const uint64_t arguments[5])
{
	const struct exec_follow_calls *calls = guest->follow.calls;

	if (number == calls->execve || number == calls->execveat)
		exec_follow_call(&guest->follow, number, arguments, guest_base(guest));
	is_making_thread = guest_call_makes_thread(guest, number, arguments[0]);
	if (!is_making_thread)
		return;
	pthread_mutex_lock(&guest->clone_lock);
	while (sem_trywait(&guest->thread_began) == 0) /* posted for a clone() that failed in the end */
		;
}

void
guest_call_ended(struct guest *guest, unsigned vcpu, int64_t number, int64_t result)
{
	const struct exec_follow_calls *calls = guest->follow.calls;

	if (is_making_thread) {
		while (result > 0 && sem_wait(&guest->thread_began) < 0 && errno == EINTR)
			;
		pthread_mutex_unlock(&guest->clone_lock);
	}
	is_making_thread = false;
	forked_cpus_forget(&guest->forked, vcpu);
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		mapped_code_forget(guest->code);
}
