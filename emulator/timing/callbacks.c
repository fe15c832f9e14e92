#include "emulator/timing/callbacks.h"

#include "emulator/timing/callback_data.h"
#include "emulator/timing/hot.h"

/* Callbacks have no place for a context. */
static struct {
	uint8_t *threads, *data;          /* where the first thread is, and its plain hits of data, as thread_data() */
	qemu_plugin_meminfo_t store_bits; /* of what the emulator tells of an access: it is a store */
} state;

HOT_INLINE struct thread *
thread_of(unsigned vcpu)
{
	return (struct thread *)(state.threads + (vcpu << THREAD_SHIFT));
}

/* As long as the first thread is alone, what it has is found without its number. */
HOT_INLINE struct plain_hits *
data_of(unsigned vcpu, const bool is_alone)
{
	return (struct plain_hits *)(is_alone ? state.data : state.data + (vcpu << THREAD_SHIFT));
}

/* It stays where the callback was given it, for who is rarely told of it; else the compiler moves it away each time. */
HOT_INLINE const void *
staying(const void *data)
{
	__asm__("" : "+r"(data));
	return data;
}

HOT_INLINE void
load(unsigned vcpu, uint64_t address, const void *data, unsigned size, const bool is_alone)
{
	struct plain_hits *plain = data_of(vcpu, is_alone);
	struct thread *thread = thread_of_data(plain);

	data = staying(data);
	if (!HOT_LIKELY(hot_access_line(plain, address, size, false)))
		hot_load(thread, plain, address, data);
}

HOT_INLINE void
store(unsigned vcpu, uint64_t address, const void *data, unsigned size, const bool is_alone)
{
	struct plain_hits *plain = data_of(vcpu, is_alone);
	struct thread *thread = thread_of_data(plain);

	if (!HOT_LIKELY(hot_access_line(plain, address, size, true)))
		thread->ways.store(thread, size, address, data);
}

HOT_INLINE void
update(unsigned vcpu, uint64_t address, const void *data, unsigned size, const bool is_alone)
{
	struct plain_hits *plain = data_of(vcpu, is_alone);
	struct thread *thread = thread_of_data(plain);

	data = staying(data);
	if (!HOT_LIKELY(hot_access_line(plain, address, size, true)))
		hot_update(thread, plain, address, data);
}

HOT_INLINE void
group(unsigned vcpu, uint64_t address, const void *data, bool writes, const bool is_alone)
{
	struct plain_hits *plain = data_of(vcpu, is_alone);
	struct thread *thread = thread_of_data(plain);

	if (!HOT_LIKELY(hot_use_lines(plain, callback_first_byte(address, data), callback_last_byte(address, data),
	                              writes)))
		thread->ways.group(thread, writes, address, data);
}

#define ACCESS_CALLBACK_OF(name, access, size, is_alone)                                                               \
	static void name(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)                      \
	{                                                                                                              \
		(void)info;                                                                                            \
		access(vcpu, address, data, size, is_alone);                                                           \
	}

#define BOTH_CALLBACK_OF(name, size, is_alone)                                                                         \
	static void name(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)                      \
	{                                                                                                              \
		if (info & state.store_bits)                                                                           \
			store(vcpu, address, data, size, is_alone);                                                    \
		else                                                                                                   \
			load(vcpu, address, data, size, is_alone);                                                     \
	}

/* Of any thread, and of the first that is alone. */
#define ACCESS_CALLBACK(name, access, size)                                                                            \
	ACCESS_CALLBACK_OF(name, access, size, false)                                                                  \
	ACCESS_CALLBACK_OF(alone_##name, access, size, true)

#define BOTH_CALLBACK(name, size)                                                                                      \
	BOTH_CALLBACK_OF(name, size, false)                                                                            \
	BOTH_CALLBACK_OF(alone_##name, size, true)

ACCESS_CALLBACK(load_1, load, 1)
ACCESS_CALLBACK(load_2, load, 2)
ACCESS_CALLBACK(load_4, load, 4)
ACCESS_CALLBACK(load_8, load, 8)
ACCESS_CALLBACK(load_other, load, (unsigned)callback_last(data) + 1)
ACCESS_CALLBACK(store_1, store, 1)
ACCESS_CALLBACK(store_2, store, 2)
ACCESS_CALLBACK(store_4, store, 4)
ACCESS_CALLBACK(store_8, store, 8)
ACCESS_CALLBACK(store_other, store, (unsigned)callback_last(data) + 1)
ACCESS_CALLBACK(update_1, update, 1)
ACCESS_CALLBACK(update_2, update, 2)
ACCESS_CALLBACK(update_4, update, 4)
ACCESS_CALLBACK(update_8, update, 8)
BOTH_CALLBACK(both_1, 1)
BOTH_CALLBACK(both_2, 2)
BOTH_CALLBACK(both_4, 4)
BOTH_CALLBACK(both_8, 8)
BOTH_CALLBACK(both_other, (unsigned)callback_last(data) + 1)

ACCESS_CALLBACK(load_group, group, false)
ACCESS_CALLBACK(access_group, group, true)

/* How many bytes it is, the emulator knows. */
static SLOW void
ask_size(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	slow_access(thread, callback_access(data), address, 1u << qemu_plugin_mem_size_shift(info),
	            info & state.store_bits);
}

/* It is asked for where the first of them is no plain hit. */
static void
ask(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct plain_hits *plain = data_of(vcpu, false);

	if (!HOT_LIKELY(hot_access_line(plain, address, 1, info & state.store_bits)))
		ask_size(thread_of_data(plain), info, address, data);
}

/*
 * Of a load that reads beyond, whether these bytes are behind what the instruction loads. Its callbacks follow each
 * other, unless it is begun again.
 */
static bool
is_beyond(struct thread *thread, const struct access *access, uint64_t address)
{
	const struct block_instruction *instruction = &access->code->block->instructions[access->index];
	const uint64_t step = instruction->callback_size;
	const uint64_t size = block_beyond_bytes(instruction);
	struct half_load *half = &thread->half;

	if (address != half->next)
		half->from = address;
	half->next = address + step < half->from + size ? address + step : THREAD_NEVER;
	return address >= half->from + size / 2;
}

static void
first_half(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	(void)info;
	if (!is_beyond(thread_of(vcpu), callback_access(data), address))
		load(vcpu, address, data, (unsigned)callback_last(data) + 1, false);
}

/* Lines and pages have any size. */
static void
load_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	hot_load(thread, thread->data_plain, address, data);
}

static void
store_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	thread->ways.store(thread, (unsigned)callback_last(data) + 1, address, data);
}

static void
update_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	hot_update(thread, thread->data_plain, address, data);
}

static void
both_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (info & state.store_bits)
		store_any(vcpu, info, address, data);
	else
		load_any(vcpu, info, address, data);
}

static void
ask_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	ask_size(thread_of(vcpu), info, address, data);
}

static void
first_half_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	if (!is_beyond(thread_of(vcpu), callback_access(data), address))
		load_any(vcpu, info, address, data);
}

static void
load_group_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	thread->ways.group(thread, false, address, data);
}

static void
access_group_any(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct thread *thread = thread_of(vcpu);

	(void)info;
	thread->ways.group(thread, true, address, data);
}

/* The word says it by a bit, whichever that is: the emulator is asked once, and not at each access. */
static qemu_plugin_meminfo_t
find_store_bits(void)
{
	qemu_plugin_meminfo_t bits = 0;

	for (qemu_plugin_meminfo_t bit = 1; bit; bit <<= 1)
		bits |= qemu_plugin_mem_is_store(bit) ? bit : 0;
	return bits;
}

/* By enum access_kind. */
#define USUAL_CALLBACKS(alone)                                                                                         \
	alone##load_1, alone##load_2, alone##load_4, alone##load_8, alone##load_other, alone##store_1, alone##store_2, \
		alone##store_4, alone##store_8, alone##store_other, alone##both_1, alone##both_2, alone##both_4,       \
		alone##both_8, alone##both_other, alone##update_1, alone##update_2, alone##update_4, alone##update_8,  \
		ask, first_half, alone##load_group, alone##access_group

struct callbacks
callbacks_choose(const struct timing *timing, struct thread *first)
{
	static const qemu_plugin_vcpu_mem_cb_t usual[ACCESS_KINDS] = {USUAL_CALLBACKS()};
	static const qemu_plugin_vcpu_mem_cb_t alone[ACCESS_KINDS] = {USUAL_CALLBACKS(alone_)};
	static const qemu_plugin_vcpu_mem_cb_t any[ACCESS_KINDS] = {
		load_any,   load_any,  load_any,       load_any,       load_any,         store_any,
		store_any,  store_any, store_any,      store_any,      both_any,         both_any,
		both_any,   both_any,  both_any,       update_any,     update_any,       update_any,
		update_any, ask_any,   first_half_any, load_group_any, access_group_any,
	};
	struct callbacks callbacks = {.accesses = NULL};

	state.threads = (uint8_t *)first;
	state.data = (uint8_t *)thread_data(first);
	state.store_bits = find_store_bits();
	if (timing->memory && timing->is_common && thread_has_data(first)) {
		callbacks.accesses = usual;
		callbacks.alone = alone;
	} else if (timing->memory) {
		callbacks.accesses = callbacks.alone = any;
	}
	return callbacks;
}
