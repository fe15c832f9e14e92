#include "process/kernel_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "process/attribution.h"
#include "process/build_id.h"
#include "process/kallsyms.h"
#include "process/kernel_map_state.h"

#define NOTES_SIZE_MAX  65536
#define JIT_NAME_SIZE   512   /* KSYM_NAME_LEN */
#define JIT_SIZE_GUESS  65536 /* of run-time code that was there before us: kallsyms tells no sizes */
#define MAPPINGS_MAX    ADDRESS_SPACE_MAPPINGS_MAX
#define REREAD_INTERVAL UINT64_C(1000000000) /* ns */

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
	kernel_modules_fini(&map->list);
	kallsyms_copy_free(map->symbols);
	free(map);
}

/* The build-id in a file of notes below sysfs; none leaves the image without. */
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
	do
		size = notes ? read(fd, notes, NOTES_SIZE_MAX) : 0;
	while (size < 0 && errno == EINTR);
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

/* What one pass over the symbols looks for. */
struct findings {
	uint64_t start, end;
	struct jit_symbol {
		uint64_t address;
		char *name;
	} * jit;
	size_t count, capacity;
	struct kallsyms_copy
		*copy; /* NULL: there is no memory for it, and whoever needs the symbols reads them again */
};

static int
note_jit(struct findings *findings, const struct kallsyms_symbol *symbol)
{
	size_t capacity = findings->capacity ? findings->capacity * 2 : 64;
	struct jit_symbol *more;

	if (findings->count == MAPPINGS_MAX / 2)
		return 0;
	if (findings->count == findings->capacity) {
		more = realloc(findings->jit, capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		findings->jit = more;
		findings->capacity = capacity;
	}
	more = &findings->jit[findings->count];
	more->address = symbol->address;
	more->name = strdup(symbol->name);
	if (!more->name)
		return -ENOMEM;
	findings->count++;
	return 0;
}

static int
visit_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct findings *findings = context;

	if (findings->copy && kallsyms_copy_add(findings->copy, symbol)) {
		kallsyms_copy_free(findings->copy);
		findings->copy = NULL;
	}
	if (strcmp(symbol->module, "bpf") == 0 || strncmp(symbol->module, "__builtin__", 11) == 0)
		return note_jit(findings, symbol);
	if (symbol->module[0] != '\0')
		return 0;
	if (strcmp(symbol->name, "_stext") == 0)
		findings->start = symbol->address;
	else if (strcmp(symbol->name, "_etext") == 0)
		findings->end = symbol->address;
	return 0;
}

static int
compare_address(const void *left, const void *right)
{
	const struct jit_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* The run-time code of the list, in ascending order; what records told meanwhile, with its size, stays as it is. */
static int
insert_listed_jit(struct kernel_map *map, const struct findings *findings)
{
	int err = 0;

	for (size_t i = 0; !err && i < findings->count; i++) {
		const uint64_t start = findings->jit[i].address;
		const struct mapping *behind = address_space_behind(map->jit, start);
		uint64_t end = start <= UINT64_MAX - JIT_SIZE_GUESS ? start + JIT_SIZE_GUESS : UINT64_MAX;

		if (i + 1 < findings->count && findings->jit[i + 1].address < end)
			end = findings->jit[i + 1].address;
		if (behind && behind->start < end)
			end = behind->start;
		if (start < end)
			err = insert_jit(map, start, end, findings->jit[i].name);
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

static int
insert_findings(struct kernel_map *map, const struct findings *findings)
{
	struct image image = {.kind = IMAGE_KERNEL, .path = "[kernel]"};
	int err = insert_listed_jit(map, findings);

	if (err || map->text.image || !findings->start || findings->end <= findings->start)
		return err;
	read_notes(map, "kernel/notes", &image);
	return set_text(map, &image, findings->start, findings->end);
}

static int
list_symbols(struct kernel_map *map, struct kallsyms_copy *copy)
{
	struct findings findings = {.copy = copy};
	int err = kallsyms_read(map->procfs, visit_symbol, &findings);

	if (findings.count > 1)
		qsort(findings.jit, findings.count, sizeof(*findings.jit), compare_address);
	if (!err)
		err = insert_findings(map, &findings);
	for (size_t i = 0; i < findings.count; i++)
		free(findings.jit[i].name);
	free(findings.jit);
	kallsyms_copy_free(map->symbols);
	map->symbols = findings.copy;
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

/* Of a kernel whose size is known the symbols are read as far as its first. 1, 0 when it is not known, or -ENOMEM. */
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

/* Until symbols are listed, run-time code may lie behind the text of a module, in what else its size counts. */
static uint64_t
sure_size(const struct kernel_map *map, const struct kernel_module *module, const struct image *image)
{
	uint64_t known;

	if (!map->unlisted)
		return module->size;
	known = map->known && image->build_id_size > 0 ? map->known->text_size(map->known->context, image) : 0;
	return known < module->size ? known : module->size;
}

static int
insert_module(struct kernel_map *map, struct address_space **space, const struct kernel_module *module)
{
	char path[MODULE_NAME_SIZE + 2], notes[MODULE_NAME_SIZE + 40];
	struct image image = {.kind = IMAGE_MODULE, .path = path};
	struct mapped_image *mapped;
	uint64_t size;
	int err;

	snprintf(path, sizeof(path), "[%s]", module->name);
	snprintf(notes, sizeof(notes), "module/%s/notes/.note.gnu.build-id", module->name);
	if (!strchr(module->name, '/'))
		read_notes(map, notes, &image);
	size = sure_size(map, module, &image);
	if (size == 0)
		return 0;
	mapped = mapped_image_get(map->images, &image);
	if (!mapped)
		return -ENOMEM;
	err = address_space_insert(space, &map->budget, module->start, module->start + size, 0, mapped);
	mapped_image_release(mapped);
	return err;
}

/* Read the list of modules; nothing changes when it is the same as before, and they are as long as they were. */
static int
read_modules(struct kernel_map *map, bool anyhow)
{
	struct kernel_modules list = {0};
	struct address_space *space = NULL;
	int err = kernel_modules_read(map->procfs, &list);

	if (err || (!anyhow && kernel_modules_equal(&list, &map->list))) {
		kernel_modules_fini(&list);
		return err;
	}
	for (size_t i = 0; !err && i < list.count; i++)
		err = insert_module(map, &space, &list.modules[i]);
	if (err) {
		address_space_release(space);
		kernel_modules_fini(&list);
		return err;
	}
	address_space_release(map->modules);
	map->modules = space;
	kernel_modules_fini(&map->list);
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
may_reread(const struct kernel_map *map, struct reread *reread, uint64_t time_ns)
{
	if (!map->scanned || map->hidden)
		return false;
	if (reread->done && time_ns < reread->time_ns + REREAD_INTERVAL)
		return false;
	reread->done = true;
	reread->time_ns = time_ns;
	return true;
}

/* What lies at an address beside the text: run-time code, or a module. NULL: neither. */
static const struct mapping *
find_beside(struct kernel_map *map, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(map->jit, address);

	if (mapping)
		return mapping;
	mapping = address_space_find(map->modules, address);
	if (may_reread(map, mapping ? &map->for_change : &map->for_nothing, time_ns) && read_modules(map, false) == 0)
		mapping = address_space_find(map->modules, address);
	if (mapping || !map->unlisted)
		return mapping;
	map->unlisted = false;
	(void)list_symbols(map, NULL); /* what fails leaves the address unknown, as ever */
	(void)read_modules(map, true);
	mapping = address_space_find(map->jit, address);
	return mapping ? mapping : address_space_find(map->modules, address);
}

int
kernel_map_find(struct kernel_map *map, uint64_t address, uint64_t time_ns, const struct mapping **mapping)
{
	const bool is_text = map->text.image && address >= map->text.start && address < map->text.end;

	*mapping = is_text ? &map->text : find_beside(map, address, time_ns);
	if (*mapping)
		return 0;
	return 1 + (map->hidden ? UNKNOWN_KERNEL_HIDDEN : map->incomplete ? UNKNOWN_MEMORY : UNKNOWN_KERNEL_ADDRESS);
}
