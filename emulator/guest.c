#include "emulator/guest.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "emulator/inherited_signals.h"

static __thread bool is_making_thread; /* the system call that this thread makes */

int
guest_init(struct guest *guest, const char *target, int argc, char **argv, const void *self)
{
	int err = started_read(&guest->started, argc, argv, self);

	if (err)
		return err;
	guest->follow.calls = follow_calls_of(target);
	if (!guest->follow.calls)
		return -ENOSYS;
	guest->follow.emulation = started_emulation(&guest->started);
	guest->is_x86 = strcmp(target, "x86_64") == 0;
	guest->ignored_signals = inherited_signals_read();
	birth_init(&guest->birth);
	return 0;
}

int
guest_tell(struct guest *guest, places_visit *add_image, void (*not_followed)(void *context), void *context)
{
	guest->places = places_new(add_image, context);
	if (!guest->places)
		return -errno;
	guest->follow.not_followed = not_followed;
	guest->follow.context = context;
	return 0;
}

void
guest_fini(struct guest *guest)
{
	places_free(guest->places);
	guest->places = NULL;
}

void
guest_take_block(struct guest *guest, struct translation *translation)
{
	struct code_block *block = &translation->block;

	inherited_signals_ignore(&guest->ignored_signals);
	atomic_store_explicit(&guest->base, translation->guest_base, memory_order_relaxed);
	block->image = 0;
	if (translation->size > 0)
		block->image = places_find(guest->places, translation->bytes, translation->size, &block->offset);
	if (!block->image)
		block->offset = 0;
}

/* QEMU makes forks of vfork(), and refuses clone3(). */
bool
guest_call_makes_thread(const struct guest *guest, int64_t number, uint64_t flags)
{
	return number == guest->follow.calls->clone && (flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM;
}

void
guest_thread_began(struct guest *guest)
{
	birth_done(&guest->birth);
}

void
guest_forked(struct guest *guest)
{
	birth_init(&guest->birth);
	forked_cpus_begin(&guest->forked);
}

void
guest_call_began(struct guest *guest, int64_t number, const uint64_t arguments[5])
{
	const struct follow_calls *calls = guest->follow.calls;

	if (number == calls->execve || number == calls->execveat)
		follow_call(&guest->follow, number, arguments, guest_base(guest));
	is_making_thread = guest_call_makes_thread(guest, number, arguments[0]);
	if (is_making_thread)
		birth_expect(&guest->birth);
}

void
guest_call_ended(struct guest *guest, unsigned vcpu, int64_t number, int64_t result)
{
	const struct follow_calls *calls = guest->follow.calls;

	if (is_making_thread)
		birth_wait(&guest->birth, result > 0);
	is_making_thread = false;
	forked_cpus_forget(&guest->forked, vcpu);
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		places_forget(guest->places);
}
