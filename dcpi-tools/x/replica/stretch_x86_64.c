#include "dcpi-tools/x/replica/stretch_x86_64.h"

#include "dcpi-tools/x/replica/branch_x86_64.h"
#include "dcpi-tools/x/replica/memory_x86_64.h"

#define BREAKPOINT 0xcc

static bool
read_instruction(uint64_t place, struct x86_encoding *encoding)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)place;
	const uint64_t left = MEMORY_PAGE - (place & (MEMORY_PAGE - 1));

	if (!memory_has_page(place))
		return false;
	if (x86_encoding_parse(code, left < X86_LONGEST ? left : X86_LONGEST, encoding) == 0)
		return true;
	return left < X86_LONGEST && memory_has_page(place + left) &&
	       x86_encoding_parse(code, X86_LONGEST, encoding) == 0;
}

static bool
is_complete(const struct replica_shared *shared)
{
	return shared->count >= shared->steps_max || shared->count >= REPLICA_STEPS_MAX;
}

/*
 * Note what is executed from here on, as far as that is certain; a jump ahead is, and no place comes twice. Where it is
 * not certain any more.
 */
static uint64_t
note_places(struct x_stretch *stretch, uint64_t place)
{
	struct replica_shared *shared = stretch->shared;
	struct x86_encoding encoding;

	stretch->begin = shared->count;
	while (!is_complete(shared) && read_instruction(place, &encoding)) {
		const enum branch_kind kind = branch_kind_of(&encoding);
		const uint64_t next = kind == BRANCH_DIRECT ? branch_target(&encoding, place) : place + encoding.size;

		if (kind == BRANCH_DECIDED || kind == BRANCH_LEAVES || next <= place || !memory_has_page(next))
			break;
		shared->places[shared->count++] = place;
		place = next;
	}
	return place;
}

/* At a place where a stretch ends: where control goes. */
static enum replica_end
decide(struct x_stretch *stretch, ucontext_t *user)
{
	struct replica_shared *shared = stretch->shared;
	const struct branch_memory memory = {memory_read, memory_write, shared->registers.fs_base,
	                                     shared->registers.gs_base};
	const uint64_t place = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
	const uint8_t *code = (const uint8_t *)(uintptr_t)place;
	struct x86_encoding encoding;
	enum branch_kind kind;

	if (is_complete(shared))
		return REPLICA_END_STEPS;
	if (__atomic_load_n(&shared->must_end, __ATOMIC_RELAXED))
		return REPLICA_END_TIME;
	if (!read_instruction(place, &encoding))
		return REPLICA_END_FAULT;
	kind = branch_kind_of(&encoding);
	if (kind == BRANCH_LEAVES)
		return REPLICA_END_CALL;
	if (kind == BRANCH_NONE || !branch_take(code, &encoding, user->uc_mcontext.gregs, &memory))
		return REPLICA_END_FAULT;
	shared->places[shared->count++] = place;
	return 0;
}

/* From one to the next, up to one that has something to execute. */
enum replica_end
stretch_begin(struct x_stretch *stretch, ucontext_t *user)
{
	enum replica_end end;
	uint64_t place;

	do {
		place = note_places(stretch, (uint64_t)user->uc_mcontext.gregs[REG_RIP]);
		if (place != (uint64_t)user->uc_mcontext.gregs[REG_RIP]) {
			uint8_t *code = (uint8_t *)(uintptr_t)place;

			stretch->planted_at = place;
			stretch->planted_over = *code;
			*code = BREAKPOINT;
			return 0;
		}
		end = decide(stretch, user);
	} while (!end);
	return end;
}

enum replica_end
stretch_next(struct x_stretch *stretch, ucontext_t *user)
{
	const uint64_t place = (uint64_t)user->uc_mcontext.gregs[REG_RIP] - 1;

	if (place != stretch->planted_at) /* one of the program's own, that it has just written */
		return stretch_break_off(stretch, user);
	*(uint8_t *)(uintptr_t)place = stretch->planted_over;
	user->uc_mcontext.gregs[REG_RIP] = (greg_t)place;
	return stretch_begin(stretch, user);
}

/* What comes after this place was not executed. */
enum replica_end
stretch_break_off(struct x_stretch *stretch, ucontext_t *user)
{
	struct replica_shared *shared = stretch->shared;
	uint32_t at = stretch->begin;

	while (at < shared->count && shared->places[at] != (uint64_t)user->uc_mcontext.gregs[REG_RIP])
		at++;
	shared->count = at < shared->count ? at : stretch->begin;
	return REPLICA_END_FAULT;
}
