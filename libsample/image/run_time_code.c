#include "image/run_time_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct entry {
	struct run_time_function function;
	size_t name;   /* where it is among the names, while these may move */
	size_t serial; /* the order of telling */
	uint64_t told_at;
};

struct run_time_code {
	struct entry *entries;
	size_t count, capacity;
	char *names;
	size_t names_size, names_capacity;
	size_t search_left; /* comparisons that may still go into finding what moved */
	uint64_t told_at;   /* what comes next */
	uint64_t complaints;
	bool is_cut;
};

#define SEARCH_MAX ((size_t)1 << 28) /* a quarter of a second */

struct run_time_code *
run_time_code_new(void)
{
	struct run_time_code *code = calloc(1, sizeof(*code));

	if (code)
		code->search_left = SEARCH_MAX;
	return code;
}

void
run_time_code_free(struct run_time_code *code)
{
	if (!code)
		return;
	free(code->entries);
	free(code->names);
	free(code);
}

void
run_time_code_complain(struct run_time_code *code)
{
	code->complaints++;
}

void
run_time_code_cut(struct run_time_code *code)
{
	code->is_cut = true;
}

void
run_time_code_told_at(struct run_time_code *code, uint64_t position)
{
	code->told_at = position;
}

/* A copy among the names; their memory may move. */
static int
keep_name(struct run_time_code *code, const char *name, size_t size, size_t *at)
{
	char *names = array_grow(code->names, &code->names_capacity, code->names_size + size + 1, 1);

	if (!names)
		return -ENOMEM;
	code->names = names;
	memcpy(names + code->names_size, name, size);
	names[code->names_size + size] = '\0';
	*at = code->names_size;
	code->names_size += size + 1;
	return 0;
}

static struct entry *
add_entry(struct run_time_code *code)
{
	struct entry *entries = array_grow(code->entries, &code->capacity, code->count + 1, sizeof(*entries));

	if (!entries)
		return NULL;
	code->entries = entries;
	entries[code->count].serial = code->count;
	entries[code->count].told_at = code->told_at;
	return &entries[code->count++];
}

static bool
is_in_user_memory(uint64_t address, uint64_t size)
{
	return size > 0 && size <= RUN_TIME_CODE_BYTES_MAX && address > 0 && address < RUN_TIME_ADDRESS_END - size;
}

int
run_time_code_add(struct run_time_code *code, uint64_t address, uint64_t size, uint64_t code_at, const char *name,
                  size_t name_size)
{
	struct entry *entry;
	size_t at;
	int err;

	name_size = strnlen(name, name_size < RUN_TIME_NAME_MAX ? name_size : RUN_TIME_NAME_MAX);
	if (!is_in_user_memory(address, size) || name_size == 0) {
		code->complaints++;
		return 0;
	}
	if (code->count >= RUN_TIME_FUNCTIONS_MAX || RUN_TIME_NAMES_MAX - code->names_size <= name_size) {
		code->is_cut = true;
		return 0;
	}
	err = keep_name(code, name, name_size, &at);
	if (err)
		return err;
	entry = add_entry(code);
	if (!entry)
		return -ENOMEM;
	entry->function = (struct run_time_function){.address = address, .size = size, .code_at = code_at};
	entry->name = at;
	return 0;
}

static const struct entry *
find_last(struct run_time_code *code, uint64_t address)
{
	for (size_t i = code->count; i > 0; i--) {
		if (code->search_left == 0) {
			code->is_cut = true;
			return NULL;
		}
		code->search_left--;
		if (code->entries[i - 1].function.address == address)
			return &code->entries[i - 1];
	}
	return NULL;
}

int
run_time_code_move(struct run_time_code *code, uint64_t from, uint64_t to)
{
	const struct entry *moved = find_last(code, from);
	struct entry *entry;
	struct entry copy;

	if (!moved || !is_in_user_memory(to, moved->function.size)) {
		code->complaints++;
		return 0;
	}
	if (code->count >= RUN_TIME_FUNCTIONS_MAX) {
		code->is_cut = true;
		return 0;
	}
	copy = *moved;
	entry = add_entry(code);
	if (!entry)
		return -ENOMEM;
	copy.serial = entry->serial;
	copy.told_at = entry->told_at;
	copy.function.address = to;
	*entry = copy;
	return 0;
}

static int
by_address(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->function.address != b->function.address)
		return a->function.address < b->function.address ? -1 : 1;
	return a->serial < b->serial ? -1 : 1;
}

static uint64_t
end_of(const struct run_time_function *function)
{
	return function->address + function->size;
}

/* Does `a` stay, where it overlaps `b`? Then it may be contested. */
static bool
stays(struct entry *a, const struct entry *b, uint64_t seen)
{
	const bool was_a = a->told_at < seen, was_b = b->told_at < seen;

	if (was_a == was_b)
		return a->serial > b->serial;
	if (was_a && strcmp(a->function.name, b->function.name) != 0)
		a->function.is_contested = true;
	return was_a;
}

void
run_time_code_finish(struct run_time_code *code, uint64_t seen)
{
	struct entry *entries = code->entries;
	size_t kept = 0;

	if (code->count == 0)
		return;
	qsort(entries, code->count, sizeof(*entries), by_address);
	for (size_t i = 0; i < code->count; i++) {
		struct entry entry = entries[i];

		entry.function.name = code->names + entry.name;
		if (kept > 0 && end_of(&entries[kept - 1].function) > entry.function.address) {
			if (stays(&entries[kept - 1], &entry, seen))
				continue;
			kept--; /* what is before that ends where it began, or before */
			entry.function.is_contested = entries[kept].function.is_contested;
			(void)stays(&entry, &entries[kept], seen);
		}
		entries[kept++] = entry;
	}
	code->count = kept;
}

size_t
run_time_code_count(const struct run_time_code *code)
{
	return code->count;
}

const struct run_time_function *
run_time_code_at(const struct run_time_code *code, size_t index)
{
	return &code->entries[index].function;
}

size_t
run_time_code_first(const struct run_time_code *code, uint64_t address)
{
	size_t low = 0, high = code->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (end_of(&code->entries[middle].function) > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct run_time_function *
run_time_code_find(const struct run_time_code *code, uint64_t address)
{
	const size_t at = run_time_code_first(code, address);

	if (at == code->count || code->entries[at].function.address > address)
		return NULL;
	return &code->entries[at].function;
}

uint64_t
run_time_code_complaints(const struct run_time_code *code)
{
	return code->complaints;
}

bool
run_time_code_is_cut(const struct run_time_code *code)
{
	return code->is_cut;
}
