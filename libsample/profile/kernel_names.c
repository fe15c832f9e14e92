#include "profile/kernel_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "process/kallsyms.h"
#include "profile/captured.h"

#define CHUNK_SIZE ((size_t)256 << 10) /* large enough for malloc to give it back to the system */

#define TEXT_END    "_etext" /* the linker's name for the end of the kernel's text */
#define PADDING     "__pfx_" /* the kernel's name for the bytes before a function, on x86 */
#define PADDING_MAX 64

/* A hundred thousand names, one after the other: as many single blocks would fragment the heap for ever. */
struct name_chunk {
	struct name_chunk *next;
	size_t used;
	char text[];
};

/* Names of one image; offsets are addresses until the image's bounds are known. */
struct kernel_names {
	char module[MODULE_NAME_SIZE]; /* "" for the kernel itself */
	uint64_t start, end;           /* addresses of its text */
	struct profile_symbol *symbols;
	size_t count, capacity;
	struct name_chunk *chunks; /* storage of the names; the first has room */
};

struct kernel_names_pass {
	struct kernel_names *names;
	size_t count;
	struct kernel_names *last; /* the image of the last symbol: those of a module follow each other; NULL: none */
};

/* In modules of arm64 and RISC-V, $x and $d mark where code and data begin: they name no function. */
static bool
is_function(const struct kallsyms_symbol *symbol)
{
	return strchr("tTwW", symbol->type) && symbol->name[0] != '$';
}

/* A copy that lives as long as the names; NULL: no memory. */
static const char *
names_keep(struct kernel_names *names, const char *name)
{
	const size_t size = strlen(name) + 1, room = CHUNK_SIZE - sizeof(struct name_chunk);
	struct name_chunk *chunk = names->chunks;
	char *copy;

	if (size > room)
		return NULL;
	if (!chunk || room - chunk->used < size) {
		chunk = malloc(CHUNK_SIZE);
		if (!chunk)
			return NULL;
		chunk->next = names->chunks;
		chunk->used = 0;
		names->chunks = chunk;
	}
	copy = chunk->text + chunk->used;
	memcpy(copy, name, size);
	chunk->used += size;
	return copy;
}

static int
names_add(struct kernel_names *names, uint64_t address, const char *name)
{
	const char *kept = names_keep(names, name);
	struct profile_symbol *added = kept ? ARRAY_APPEND(names->symbols, names->count, names->capacity) : NULL;

	if (!added)
		return -ENOMEM;
	*added = (struct profile_symbol){.offset = address, .name = kept};
	return 0;
}

static void
names_fini(struct kernel_names *names)
{
	struct name_chunk *next;

	for (struct name_chunk *chunk = names->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(names->symbols);
}

static struct kernel_names *
find_names(struct kernel_names_pass *pass, const char *module)
{
	if (pass->last && strcmp(pass->last->module, module) == 0)
		return pass->last;
	for (size_t i = 0; i < pass->count; i++)
		if (strcmp(pass->names[i].module, module) == 0)
			return pass->last = &pass->names[i];
	return NULL;
}

static int
visit_module(void *context, const struct kernel_module *module)
{
	struct kernel_names *names = find_names(context, module->name);

	if (names) {
		names->start = module->address;
		names->end = module->address + module->size;
	}
	return 0;
}

static int
visit_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct kernel_names *names = find_names(context, symbol->module);

	if (!names)
		return 0;
	if (!symbol->module[0] && !strcmp(symbol->name, "_stext"))
		names->start = symbol->address;
	else if (!symbol->module[0] && !strcmp(symbol->name, TEXT_END))
		names->end = symbol->address;
	return is_function(symbol) ? names_add(names, symbol->address, symbol->name) : 0;
}

static int
by_offset(const void *left, const void *right)
{
	const struct profile_symbol *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* kallsyms is sorted by address, but for some modules: mostly only names of one address are left to be sorted. */
static void
names_sort(struct kernel_names *names)
{
	struct profile_symbol *symbols = names->symbols;
	size_t first = 0;

	for (size_t i = 1; i < names->count; i++)
		if (symbols[i].offset < symbols[i - 1].offset) {
			qsort(symbols, names->count, sizeof(*symbols), by_offset);
			return;
		}
	for (size_t i = 1; i <= names->count; i++) {
		if (i < names->count && symbols[i].offset == symbols[first].offset)
			continue;
		if (i - first > 1)
			qsort(&symbols[first], i - first, sizeof(*symbols), by_offset);
		first = i;
	}
}

static bool
shares_address(const struct kernel_names *names, size_t at)
{
	const struct profile_symbol *symbols = names->symbols;

	return (at > 0 && symbols[at - 1].offset == symbols[at].offset) ||
	       (at + 1 < names->count && symbols[at + 1].offset == symbols[at].offset);
}

/* Is `at` the padding before the next function, and each of the two the only name of its address? */
static bool
is_padding(const struct kernel_names *names, size_t at)
{
	const struct profile_symbol *padding = &names->symbols[at], *function = padding + 1;

	return at + 1 < names->count && strncmp(padding->name, PADDING, strlen(PADDING)) == 0 &&
	       strcmp(padding->name + strlen(PADDING), function->name) == 0 &&
	       function->offset - padding->offset <= PADDING_MAX && !shares_address(names, at) &&
	       !shares_address(names, at + 1);
}

/* The padding before a function is part of it, also where the kernel patches code into it: one name covers both. */
static void
names_join_padding(struct kernel_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		struct profile_symbol symbol = names->symbols[i];

		if (is_padding(names, i))
			symbol.name = names->symbols[++i].name;
		names->symbols[kept++] = symbol;
	}
	names->count = kept;
}

/* Keep names in the image's text, with offsets from its start. */
static void
names_make_offsets(struct kernel_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		struct profile_symbol symbol = names->symbols[i];

		if (symbol.offset < names->start || symbol.offset >= names->end)
			continue;
		symbol.offset -= names->start;
		names->symbols[kept++] = symbol;
	}
	names->count = kept;
	names_sort(names);
	names_join_padding(names);
}

/* "[ext4]" is the module ext4; "": the kernel, and a path that no module has. */
static void
module_name(const struct image *image, char name[MODULE_NAME_SIZE])
{
	size_t size = strlen(image->path);

	name[0] = '\0';
	if (image->kind != IMAGE_MODULE || size < 2 || size - 2 >= MODULE_NAME_SIZE)
		return;
	memcpy(name, image->path + 1, size - 2);
	name[size - 2] = '\0';
}

static int
store_one(struct profile *profile, uint32_t number, struct kernel_names *names)
{
	int err;

	names_make_offsets(names);
	if (names->count == 0)
		return -ENOENT;
	err = names->module[0] ? 0 : names_add(names, names->end - names->start, TEXT_END);
	if (err)
		return err;
	return profile_put_symbols(profile, number, names->symbols, names->count);
}

void
kernel_names_store(struct profile *profile, const char *procfs, const struct kallsyms_copy *symbols,
                   struct kernel_names_image *images, size_t count)
{
	struct kernel_names_pass pass = {.names = calloc(count, sizeof(*pass.names)), .count = count};
	int err = pass.names ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		module_name(images[i].image, pass.names[i].module);
	if (!err)
		err = kernel_modules_read(procfs, visit_module, &pass);
	if (!err)
		err = symbols ? kallsyms_copy_visit(symbols, visit_symbol, &pass)
		              : kallsyms_read(procfs, visit_symbol, &pass);
	for (size_t i = 0; i < count; i++)
		images[i].err = err ? err : store_one(profile, images[i].number, &pass.names[i]);
	for (size_t i = 0; pass.names && i < count; i++)
		names_fini(&pass.names[i]);
	free(pass.names);
}

uint64_t
kernel_names_text_size(void *profile, const struct image *image)
{
	struct profile_symbol *symbols;
	uint64_t size = 0;
	uint32_t number;
	size_t count;

	if (profile_find_image(profile, image, &number) || profile_get_symbols(profile, number, &symbols, &count))
		return 0;
	if (count > 0 && image->kind == IMAGE_MODULE)
		size = symbols[count - 1].offset + 1; /* there is a function up to here */
	else if (count > 0 && symbols[count - 1].name && strcmp(symbols[count - 1].name, TEXT_END) == 0)
		size = symbols[count - 1].offset;
	profile_free_symbols(symbols);
	return size;
}

/* ---- images that wait for their names ---- */

/* Was there only no room for the names, for now? */
static bool
may_be_stored_later(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -DCPI_EFULL || err == -EIO || err == -ENOMEM ||
	       err == -EMFILE || err == -ENFILE;
}

/*
 * Store the names of all that are pending; the number of those that stay so. A module that was loaded after `symbols`
 * were read does.
 */
static size_t
store_pending(struct pending_kernel_names *pending, struct profile *profile, const struct kallsyms_copy *symbols,
              const struct log *log)
{
	size_t left = 0;

	kernel_names_store(profile, "/proc", symbols, pending->images, pending->count);
	for (size_t i = 0; i < pending->count; i++) {
		struct kernel_names_image *image = &pending->images[i];
		const bool is_newer = symbols && image->err == -ENOENT;
		const bool stays = is_newer || may_be_stored_later(image->err);

		if (image->err && !is_newer && !image->is_failure_said) {
			log_write(log, LOG_LEVEL_WARNING, "%s: its functions stay without names%s: %s",
			          image->image->path, stays ? " for now" : "", error_text(image->err));
			image->is_failure_said = true;
		}
		if (stays)
			pending->images[left++] = *image;
	}
	return left;
}

void
kernel_names_store_pending(struct pending_kernel_names *pending, struct profile *profile,
                           const struct image *const *images, uint32_t first, uint32_t count, const struct log *log)
{
	struct kernel_names_image *grown =
		reallocarray(pending->images, pending->count + count + 1, sizeof(*pending->images));
	const bool from_copy = pending->symbols;

	if (grown) {
		pending->images = grown;
		for (uint32_t i = 0; i < count; i++)
			if (image_is_of_kernel(images[i]) && !profile_has_symbols(profile, first + i))
				grown[pending->count++] =
					(struct kernel_names_image){.number = first + i, .image = images[i]};
		if (pending->count > 0)
			pending->count = store_pending(pending, profile, pending->symbols, log);
	}
	kallsyms_copy_free(pending->symbols);
	pending->symbols = NULL;
	/* Not at the next flush: a module that was loaded after the copy was made may be gone by then. */
	if (from_copy && pending->count > 0)
		pending->count = store_pending(pending, profile, NULL, log);
}

void
kernel_names_free_pending(struct pending_kernel_names *pending)
{
	free(pending->images);
	kallsyms_copy_free(pending->symbols);
	*pending = (struct pending_kernel_names){0};
}
