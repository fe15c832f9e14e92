#include "process/kernel_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "process/build_id.h"
#include "process/image_table.h"

#define NOTES_SIZE_MAX       65536
#define JIT_NAME_SIZE        512   /* KSYM_NAME_LEN */
#define JIT_SIZE_GUESS       65536 /* of run-time code that was there before us: kallsyms has no sizes */
#define MAPPINGS_MAX         ADDRESS_SPACE_MAPPINGS_MAX
#define MODULES_MAX          16384
#define UNMAPPED_INTERVAL_NS (SECOND_NS / 10) /* drains are farther apart: each may find what was loaded since */
#define REPLACED_INTERVAL_NS SECOND_NS

/* The list of modules, by address. */
struct loaded_module {
	uint64_t start; /* of its text; first, for array_compare_u64() */
	uint64_t size;  /* of all it has in memory; text comes first */
	char name[MODULE_NAME_SIZE];
};

struct loaded_modules {
	struct loaded_module *list;
	size_t count, capacity;
};

/* When the list of modules was last read again for one reason: at most once an interval. */
struct modules_reread {
	bool done; /* at time_ns */
	uint64_t time_ns;
};

struct kernel_map {
	const char *procfs, *sysfs;
	struct mapped_images *images;
	const struct kernel_known *known; /* NULL, also after the scan */
	const struct log *log;
	struct mapping_budget budget;
	bool hidden;
	bool incomplete;           /* there was no memory for a mapping of a recording */
	struct mapping text;       /* image NULL: bounds are not known */
	struct address_space *jit; /* looked up first: its bounds are exact */
	struct address_space *modules;
	struct kallsyms_copy *symbols;         /* of the scan, until kernel_map_take_symbols() */
	struct loaded_modules list;            /* what `modules` was made of */
	bool scanned;                          /* else nothing of this machine is read */
	bool unlisted;                         /* symbols were not listed; modules are as long as is known */
	struct modules_reread unmapped_reread; /* because nothing lies at an address */
	struct modules_reread replaced_reread; /* because another module may lie there by now */
};

struct kernel_map *
kernel_map_new(const char *procfs, const char *sysfs, struct mapped_images *images, const struct kernel_known *known,
               const struct log *log)
{
	struct kernel_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->procfs = procfs;
	map->sysfs = sysfs;
	map->images = images;
	map->known = known;
	map->log = log;
	map->budget.limit = 2 * MAPPINGS_MAX;
	return map;
}

void
kernel_map_free(struct kernel_map *map)
{
	if (!map)
		return;
	mapped_image_release(map->text.image);
	address_space_release(map->jit);
	address_space_release(map->modules);
	free(map->list.list);
	kallsyms_copy_free(map->symbols);
	free(map);
}

/* Take the build-id from a file of notes below sysfs. If there is none, the image has none. */
static void
read_notes(const struct kernel_map *map, const char *name, struct image *image)
{
	char path[PATH_MAX];
	uint8_t *notes;
	ssize_t size;
	int fd, found;

	if (snprintf(path, sizeof(path), "%s/%s", map->sysfs, name) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	notes = malloc(NOTES_SIZE_MAX);
	size = notes ? TEMP_FAILURE_RETRY(read(fd, notes, NOTES_SIZE_MAX)) : 0;
	found = size > 0 ? build_id_from_notes(notes, (size_t)size, image->build_id) : 0;
	if (found > 0)
		image->build_id_size = (uint8_t)found;
	free(notes);
	close(fd);
}

static int
insert_jit(struct kernel_map *map, uint64_t start, uint64_t end, const char *name)
{
	char path[JIT_NAME_SIZE + 2];
	struct image image = {.kind = IMAGE_JIT, .path = path};
	struct mapped_image *mapped;
	int err;

	snprintf(path, sizeof(path), "[%.*s]", JIT_NAME_SIZE - 1, name);
	mapped = mapped_image_get(map->images, &image);
	if (!mapped)
		return -ENOMEM;
	err = address_space_insert(&map->jit, &map->budget, start, end, 0, mapped);
	mapped_image_release(mapped);
	return err;
}

/* What one pass over the symbols collects. */
struct kernel_jit_symbol {
	uint64_t address; /* first, for array_compare_u64() */
	char *name;
};

struct listed_symbols {
	uint64_t start, end; /* of the text */
	struct kernel_jit_symbol *jit;
	size_t count, capacity;
	struct kallsyms_copy *copy; /* NULL: no memory for it; the next pass reads the symbols from the kernel */
};

static int
note_jit(struct listed_symbols *listed, const struct kallsyms_symbol *symbol)
{
	struct kernel_jit_symbol *added;

	if (listed->count == MAPPINGS_MAX / 2)
		return 0;
	added = ARRAY_APPEND(listed->jit, listed->count, listed->capacity);
	if (!added)
		return -ENOMEM;
	*added = (struct kernel_jit_symbol){.address = symbol->address, .name = strdup(symbol->name)};
	return added->name ? 0 : -ENOMEM;
}

static int
visit_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct listed_symbols *listed = context;

	if (listed->copy && kallsyms_copy_add(listed->copy, symbol)) {
		kallsyms_copy_free(listed->copy);
		listed->copy = NULL;
	}
	if (strcmp(symbol->module, "bpf") == 0 || strncmp(symbol->module, "__builtin__", 11) == 0)
		return note_jit(listed, symbol);
	if (symbol->module[0] != '\0')
		return 0;
	if (strcmp(symbol->name, "_stext") == 0)
		listed->start = symbol->address;
	else if (strcmp(symbol->name, "_etext") == 0)
		listed->end = symbol->address;
	return 0;
}

/* Insert the listed run-time code, in ascending order. Code that records have registered meanwhile keeps its size. */
static int
insert_listed_jit(struct kernel_map *map, const struct listed_symbols *listed)
{
	int err = 0;

	for (size_t i = 0; !err && i < listed->count; i++) {
		const uint64_t start = listed->jit[i].address;
		const struct mapping *behind = address_space_behind(map->jit, start);
		uint64_t end = start <= UINT64_MAX - JIT_SIZE_GUESS ? start + JIT_SIZE_GUESS : UINT64_MAX;

		if (i + 1 < listed->count && listed->jit[i + 1].address < end)
			end = listed->jit[i + 1].address;
		if (behind && behind->start < end)
			end = behind->start;
		if (start < end)
			err = insert_jit(map, start, end, listed->jit[i].name);
	}
	return err;
}

static int
set_text(struct kernel_map *map, const struct image *image, uint64_t start, uint64_t end)
{
	mapped_image_release(map->text.image);
	map->text = (struct mapping){.start = start, .end = end, .image = mapped_image_get(map->images, image)};
	return map->text.image ? 0 : -ENOMEM;
}

/* Insert the run-time code, and the text if its bounds are not known yet. Takes ownership of `copy`. */
static int
list_symbols(struct kernel_map *map, struct kallsyms_copy *copy)
{
	struct image image = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	struct listed_symbols listed = {.copy = copy};
	int err = kallsyms_read(map->procfs, visit_symbol, &listed);

	if (listed.count > 1)
		qsort(listed.jit, listed.count, sizeof(*listed.jit), array_compare_u64);
	if (!err)
		err = insert_listed_jit(map, &listed);
	if (!err && !map->text.image && listed.start && listed.end > listed.start) {
		read_notes(map, "kernel/notes", &image);
		err = set_text(map, &image, listed.start, listed.end);
	}
	for (size_t i = 0; i < listed.count; i++)
		free(listed.jit[i].name);
	free(listed.jit);
	kallsyms_copy_free(map->symbols);
	map->symbols = listed.copy;
	if (err) {
		kallsyms_copy_free(map->symbols);
		map->symbols = NULL;
	}
	return err;
}

static int
visit_start(void *context, const struct kallsyms_symbol *symbol)
{
	uint64_t *start = context;

	if (symbol->module[0] != '\0' || strcmp(symbol->name, "_stext") != 0)
		return 0;
	*start = symbol->address;
	return 1;
}

/*
 * If the size of this kernel's text is known, read the symbols only as far as _stext. 1; 0: it is not known; -ENOMEM.
 */
static int
scan_known(struct kernel_map *map)
{
	struct image image = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	uint64_t size, start = 0;
	int err;

	if (!map->known)
		return 0;
	read_notes(map, "kernel/notes", &image);
	size = image.build_id_size > 0 ? map->known->text_size(map->known->context, &image) : 0;
	if (size == 0 || kallsyms_read(map->procfs, visit_start, &start) != 1 || start > UINT64_MAX - size)
		return 0;
	err = set_text(map, &image, start, start + size);
	return err ? err : 1;
}

static int
note_module(void *context, const struct kernel_module *module)
{
	const size_t length = strlen(module->name);
	struct loaded_modules *modules = context;
	struct loaded_module *added;

	if (module->size == 0 || module->size > UINT64_MAX - module->address || length >= MODULE_NAME_SIZE)
		return 0;
	if (modules->count == MODULES_MAX)
		return 0;
	added = ARRAY_APPEND(modules->list, modules->count, modules->capacity);
	if (!added)
		return -ENOMEM;
	*added = (struct loaded_module){.start = module->address, .size = module->size};
	memcpy(added->name, module->name, length);
	return 0;
}

static bool
modules_equal(const struct loaded_modules *left, const struct loaded_modules *right)
{
	if (left->count != right->count)
		return false;
	for (size_t i = 0; i < left->count; i++) {
		const struct loaded_module *a = &left->list[i], *b = &right->list[i];

		if (a->start != b->start || a->size != b->size || strcmp(a->name, b->name) != 0)
			return false;
	}
	return true;
}

static int
insert_module(struct kernel_map *map, struct address_space **space, const struct loaded_module *module)
{
	char path[MODULE_NAME_SIZE + 2], notes[MODULE_NAME_SIZE + 40];
	struct image image = {.kind = IMAGE_MODULE, .path = path};
	uint64_t size = module->size, known = 0;
	struct mapped_image *mapped;
	int err;

	snprintf(path, sizeof(path), "[%s]", module->name);
	snprintf(notes, sizeof(notes), "module/%s/notes/.note.gnu.build-id", module->name);
	if (!strchr(module->name, '/'))
		read_notes(map, notes, &image);
	if (map->unlisted) { /* run-time code may lie behind the text of the module, within the size in the list */
		if (map->known && image.build_id_size > 0)
			known = map->known->text_size(map->known->context, &image);
		size = known < size ? known : size;
	}
	if (size == 0)
		return 0;
	mapped = mapped_image_get(map->images, &image);
	if (!mapped)
		return -ENOMEM;
	err = address_space_insert(space, &map->budget, module->start, module->start + size, 0, mapped);
	mapped_image_release(mapped);
	return err;
}

/* Read the list of modules. If it has not changed, the map stays as it is, unless `always`. */
static int
read_modules(struct kernel_map *map, bool always)
{
	struct address_space *space = NULL;
	struct loaded_modules list = {0};
	int err = kernel_modules_read(map->procfs, note_module, &list);

	if (list.count > 1)
		qsort(list.list, list.count, sizeof(*list.list), array_compare_u64);
	if (err || (!always && modules_equal(&list, &map->list))) {
		free(list.list);
		return err;
	}
	for (size_t i = 0; !err && i < list.count; i++)
		err = insert_module(map, &space, &list.list[i]);
	if (err) {
		address_space_release(space);
		free(list.list);
		return err;
	}
	address_space_release(map->modules);
	map->modules = space;
	free(map->list.list);
	map->list = list;
	return 0;
}

int
kernel_map_scan(struct kernel_map *map)
{
	int err;

	map->scanned = true;
	err = scan_known(map);
	map->unlisted = err == 1;
	if (err == 0)
		err = list_symbols(map, kallsyms_copy_new());
	if (err == -ENOMEM)
		return err;
	err = map->unlisted ? 0 : err;
	if (err || !map->text.image) {
		map->hidden = true;
		log_write(
			map->log, LOG_LEVEL_WARNING,
			"%s/kallsyms: %s: kernel samples will be counted as unknown (kernel.kptr_restrict, CAP_SYSLOG)",
			map->procfs, err ? error_text(err) : "no text is listed");
	}
	err = read_modules(map, false);
	map->known = NULL;
	if (err && err != -ENOMEM && !map->hidden)
		log_write(map->log, LOG_LEVEL_WARNING, "%s/modules: %s", map->procfs, error_text(err));
	return err == -ENOMEM ? err : 0;
}

struct kallsyms_copy *
kernel_map_take_symbols(struct kernel_map *map)
{
	struct kallsyms_copy *symbols = map->symbols;

	map->symbols = NULL;
	return symbols;
}

int
kernel_map_apply(struct kernel_map *map, const struct record *record)
{
	uint64_t start = record->ksymbol.address, end = start + record->ksymbol.length;

	if (end <= start)
		return 0;
	if (record->ksymbol.is_unregister)
		return address_space_remove(&map->jit, &map->budget, start, end);
	return insert_jit(map, start, end, record->ksymbol.name ? record->ksymbol.name : "");
}

static bool
may_reread(const struct kernel_map *map, struct modules_reread *reread, uint64_t interval_ns, uint64_t time_ns)
{
	if (!map->scanned || map->hidden)
		return false;
	if (reread->done && time_ns < reread->time_ns + interval_ns)
		return false;
	reread->done = true;
	reread->time_ns = time_ns;
	return true;
}

/* What lies at an address outside the text: run-time code, or a module. NULL: neither. */
static const struct mapping *
find_outside_text(struct kernel_map *map, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(map->jit, address);

	if (mapping)
		return mapping;
	mapping = address_space_find(map->modules, address);
	if ((mapping ? may_reread(map, &map->replaced_reread, REPLACED_INTERVAL_NS, time_ns)
	             : may_reread(map, &map->unmapped_reread, UNMAPPED_INTERVAL_NS, time_ns)) &&
	    read_modules(map, false) == 0)
		mapping = address_space_find(map->modules, address);
	if (mapping || !map->unlisted)
		return mapping;
	map->unlisted = false;
	(void)list_symbols(map, NULL); /* if it fails, the address stays unknown */
	(void)read_modules(map, true);
	mapping = address_space_find(map->jit, address);
	return mapping ? mapping : address_space_find(map->modules, address);
}

int
kernel_map_find(struct kernel_map *map, uint64_t address, uint64_t time_ns, const struct mapping **mapping)
{
	const bool is_text = map->text.image && address >= map->text.start && address < map->text.end;

	*mapping = is_text ? &map->text : find_outside_text(map, address, time_ns);
	if (*mapping)
		return 0;
	return 1 + (map->hidden ? UNKNOWN_KERNEL_HIDDEN : map->incomplete ? UNKNOWN_MEMORY : UNKNOWN_KERNEL_ADDRESS);
}

/* ---- the kernel of a recording ---- */

#define KERNEL_PREFIX "[kernel.kallsyms]"

/*
 * perf gives the address of the symbol that it names: _text or _stext, and offsets count from _stext. On x86 both are
 * equal; on arm64 the head lies between them, 64 KiB of an image that is loaded at a multiple of 2 MiB.
 */
#define ARM64_HEAD_SIZE  UINT64_C(0x10000)
#define ARM64_TEXT_ALIGN UINT64_C(0x200000)
#define ARM64_FIRST      UINT64_C(0xffff000000000000)
#define X86_FIRST        UINT64_C(0xffffffff80000000)

static uint64_t
text_start(const struct record_mmap *mmap)
{
	const uint64_t end = mmap->start + mmap->length;
	const bool is_within = mmap->file_offset >= mmap->start && mmap->file_offset < end;
	const uint64_t start = is_within ? mmap->file_offset : mmap->start;
	const bool is_arm64 = start >= ARM64_FIRST && start < X86_FIRST && start % ARM64_TEXT_ALIGN == 0;

	if (is_arm64 && strcmp(mmap->path, KERNEL_PREFIX "_text") == 0 && end - start > ARM64_HEAD_SIZE)
		return start + ARM64_HEAD_SIZE;
	return start;
}

/* "/lib/modules/6.1/kernel/fs/some-thing.ko.xz" and "[some_thing]" are "[some_thing]". False: not a module. */
static bool
module_name(const char *path, char name[KERNEL_MAP_NAME_SIZE])
{
	const char *start = strrchr(path, '/'), *end;
	size_t size;

	start = start ? start + 1 : path;
	if (path[0] == '[') {
		end = strchr(++start, ']');
	} else {
		end = strstr(start, ".ko");
		if (path[0] != '/')
			end = NULL;
	}
	if (!end || end == start || (size_t)(end - start) >= MODULE_NAME_SIZE)
		return false;
	size = (size_t)(end - start);
	name[0] = '[';
	memcpy(name + 1, start, size);
	for (size_t i = 0; i < size; i++)
		if (name[1 + i] == '-')
			name[1 + i] = '_';
	memcpy(name + 1 + size, "]", 2);
	return true;
}

enum image_kind
kernel_map_name(const char *path, char name[KERNEL_MAP_NAME_SIZE])
{
	if (strncmp(path, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0) {
		snprintf(name, KERNEL_MAP_NAME_SIZE, "[kernel]");
		return IMAGE_KERNEL;
	}
	return module_name(path, name) ? IMAGE_MODULE : IMAGE_UNKNOWN;
}

int
kernel_map_apply_mmap(struct kernel_map *map, const struct record_mmap *mmap)
{
	char name[KERNEL_MAP_NAME_SIZE];
	struct image image = {.path = name};
	struct mapped_image *mapped;
	int err;

	if (mmap->length == 0 || mmap->length > UINT64_MAX - mmap->start || !mmap->path)
		return 0;
	image.kind = kernel_map_name(mmap->path, name);
	if (image.kind == IMAGE_UNKNOWN)
		return 0;
	if (mmap->build_id_size <= BUILD_ID_SIZE_MAX) {
		memcpy(image.build_id, mmap->build_id, mmap->build_id_size);
		image.build_id_size = mmap->build_id_size;
	}
	mapped = mapped_image_get(map->images, &image);
	if (!mapped) {
		map->incomplete = true;
		return -ENOMEM;
	}
	if (image.kind == IMAGE_KERNEL) {
		mapped_image_release(map->text.image);
		map->text = (struct mapping){
			.start = text_start(mmap),
			.end = mmap->start + mmap->length,
			.image = mapped,
		};
		return 0;
	}
	err = address_space_insert(&map->modules, &map->budget, mmap->start, mmap->start + mmap->length, 0, mapped);
	mapped_image_release(mapped);
	map->incomplete |= err != 0;
	return err;
}
