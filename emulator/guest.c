#include "emulator/guest.h"

#include <errno.h>
#include <string.h>

#include "emulator/inherited_signals.h"

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

void
guest_call_began(struct guest *guest, int64_t number, const uint64_t arguments[5])
{
	const struct follow_calls *calls = guest->follow.calls;

	if (number == calls->execve || number == calls->execveat)
		follow_call(&guest->follow, number, arguments, guest_base(guest));
}

void
guest_call_ended(struct guest *guest, unsigned vcpu, int64_t number)
{
	const struct follow_calls *calls = guest->follow.calls;

	forked_cpus_forget(&guest->forked, vcpu);
	if (number == calls->mmap || number == calls->munmap || number == calls->mremap)
		places_forget(guest->places);
}
