#include "dcpi-tools/import/import_tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/guard.h"
#include "code/unwind_build.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/build_ids.h"
#include "image/image_file.h"
#include "profile/captured.h"
#include "unwind/call_stack.h"
#include "unwind/table.h"

/* An image of the session. */
struct import_table {
	bool is_known;
	enum unwind_code code;
	struct unwind_table *table; /* NULL: not made yet, or given back */
	uint64_t used;              /* when it was needed last */
};

struct import_tables {
	struct import_tables_options options;
	const struct image_table *images;
	struct import_table *list; /* by number */
	size_t capacity;
	size_t memory;
	uint64_t clock; /* calls of import_tables_find() */
	int error;
};

/* ---- one table ---- */

static struct image
complete_image(const struct import_tables *tables, uint32_t number)
{
	struct image image = *image_table_get(tables->images, number);

	build_ids_complete(tables->options.build_ids, &image);
	return image;
}

static int
look_up(struct profile *known, const struct image *image, struct unwind_table **table)
{
	uint32_t number;
	int err = known ? profile_find_image(known, image, &number) : -ENOENT;

	return err ? err : profile_get_unwind(known, number, table);
}

static int
read_file(const struct image *image, uint8_t **bytes, size_t *size)
{
	struct image_file *file;
	const struct elf_file *elf;
	int err = image_file_open(image, &file);

	if (err)
		return err;
	image_file_find_debug(file);
	elf = image_file_elf(file);
	err = elf ? unwind_build(elf, image_file_debug(file), bytes, size) : -ENOENT;
	image_file_close(file);
	return err;
}

/* A fault inside of libelf or libdw is the file's, not the recording's. */
static int
read_guarded(const struct image *image, uint8_t **bytes, size_t *size)
{
	struct guard guard = {
		.claim = "its unwind table cannot be made: the file is damaged",
		.advice = "move it away: stacks then end at it",
		.status = STATUS_FAILURE,
	};
	char *shown = text_shown(image->path);
	int err;

	if (!shown)
		return -ENOMEM;
	guard.subject = shown;
	guard_enter(&guard);
	err = read_file(image, bytes, size);
	guard_leave(&guard);
	free(shown);
	return err;
}

static int
make(struct import_tables *tables, const struct image *image, struct import_table *entry)
{
	uint8_t *bytes = NULL;
	size_t size;
	int err;

	err = look_up(tables->options.known, image, &entry->table);
	if (!err || err == -ENOMEM)
		return err;
	err = read_guarded(image, &bytes, &size);
	if (!err)
		err = unwind_table_load(bytes, size, &entry->table);
	free(bytes);
	return err;
}

/* ---- all ---- */

struct import_tables *
import_tables_new(const struct import_tables_options *options)
{
	struct import_tables *tables = calloc(1, sizeof(*tables));

	if (tables)
		tables->options = *options;
	return tables;
}

void
import_tables_begin(struct import_tables *tables, const struct image_table *images)
{
	for (size_t i = 0; i < tables->capacity; i++)
		unwind_table_free(tables->list[i].table);
	if (tables->list)
		memset(tables->list, 0, tables->capacity * sizeof(*tables->list));
	tables->memory = 0;
	tables->images = images;
}

void
import_tables_free(struct import_tables *tables)
{
	if (!tables)
		return;
	import_tables_begin(tables, NULL);
	free(tables->list);
	free(tables);
}

static struct import_table *
entry_of(struct import_tables *tables, uint32_t number)
{
	const size_t before = tables->capacity;
	struct import_table *grown;

	if (number < before)
		return &tables->list[number];
	grown = array_grow(tables->list, &tables->capacity, (size_t)number + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + before, 0, (tables->capacity - before) * sizeof(*grown));
	tables->list = grown;
	return &grown[number];
}

/* Give back tables until they are within the limit, those first that were not needed for longest, but not `kept`. */
static void
evict(struct import_tables *tables, const struct import_table *kept)
{
	while (tables->memory > tables->options.memory_limit) {
		struct import_table *oldest = NULL;

		for (size_t i = 0; i < tables->capacity; i++) {
			struct import_table *entry = &tables->list[i];

			if (entry->table && entry != kept && (!oldest || entry->used < oldest->used))
				oldest = entry;
		}
		if (!oldest)
			return;
		tables->memory -= oldest->table->memory;
		unwind_table_free(oldest->table);
		oldest->table = NULL;
	}
}

static void
load(struct import_tables *tables, uint32_t number, struct import_table *entry)
{
	const struct image image = complete_image(tables, number);
	const int err = make(tables, &image, entry);

	if (err == -ENOMEM)
		tables->error = err;
	if (err) {
		entry->table = NULL;
		entry->code = UNWIND_CODE_WITHOUT_TABLE;
		return;
	}
	tables->memory += entry->table->memory;
	evict(tables, entry);
}

enum unwind_code
import_tables_find(void *context, uint32_t number, const struct unwind_table **table)
{
	struct import_tables *tables = context;
	struct import_table *entry = entry_of(tables, number);

	if (!entry) {
		tables->error = -ENOMEM;
		return UNWIND_CODE_WITHOUT_TABLE;
	}
	if (!entry->is_known) {
		entry->is_known = true;
		entry->code = call_stack_code(image_table_get(tables->images, number));
	}
	if (entry->code != UNWIND_CODE_TABLE)
		return entry->code;
	entry->used = ++tables->clock;
	if (!entry->table)
		load(tables, number, entry);
	*table = entry->table;
	return entry->code;
}

int
import_tables_error(const struct import_tables *tables)
{
	return tables->error;
}
