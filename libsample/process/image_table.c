#include "process/image_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "process/build_id.h"
#include "process/hash.h"

#define FOUR_GIB    (UINT64_C(1) << 32)
#define MEMORY_FILE "/memfd:"

/* ---- identity ---- */

static_assert(sizeof(struct image_identity) == 8 * 2 + 4 * 4 + 2 * 2 + BUILD_ID_SIZE_MAX, "no padding");

enum image_kind
image_kind_checked(enum image_kind kind)
{
	return (unsigned)kind < IMAGE_KINDS ? kind : IMAGE_UNKNOWN;
}

bool
image_identity(const struct image *image, struct image_identity *identity)
{
	memset(identity, 0, sizeof(*identity));
	identity->kind = (uint16_t)image_kind_checked(image->kind);
	if (image->build_id_size > 0 && image->build_id_size <= BUILD_ID_SIZE_MAX) {
		identity->build_id_size = image->build_id_size;
		memcpy(identity->build_id, image->build_id, image->build_id_size);
		return true;
	}
	if (image->inode == 0)
		return false;
	identity->device_major = image->device_major;
	identity->device_minor = image->device_minor;
	identity->inode = image->inode;
	identity->inode_generation = image->inode_generation;
	identity->content = image->content;
	return true;
}

/* ---- the image of a mapping ---- */

void
vdso_identity_read(struct vdso_identity *vdso)
{
	const void *start = (const void *)getauxval(AT_SYSINFO_EHDR);
	int size;

	memset(vdso, 0, sizeof(*vdso));
	if (!start)
		return;
	/* The kernel does not report its size; it has at least one page, and the notes follow the headers. */
	size = build_id_from_memory(start, 4096, vdso->build_id);
	if (size > 0)
		vdso->build_id_size = (uint8_t)size;
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* System V shared memory: "/SYSV" and its key as eight digits. */
static bool
is_sysv(const char *path)
{
	return starts_with(path, "/SYSV") && strspn(path + 5, "0123456789abcdef") == 8 && path[13] == '\0';
}

/* The common name for a kind of memory without a file, which may be `path` itself; NULL for a file. */
static const char *
anonymous_name(const char *path, bool deleted)
{
	if (path[0] == '/' && !deleted && path[1] != '/' && path[1] != 'd') /* the fast path of most files */
		return NULL;
	if (path[0] == '\0' || strcmp(path, "//anon") == 0 || strcmp(path, "/dev/zero") == 0)
		return "[anon]";
	if (starts_with(path, "[anon:") || starts_with(path, "[anon_shmem:"))
		return "[anon]";
	if (starts_with(path, "[stack:"))
		return "[stack]";
	if (starts_with(path, "anon_inode:"))
		return "[anon_inode]";
	if (deleted && strcmp(path, "/anon_hugepage") == 0)
		return "[anon]";
	if (deleted && is_sysv(path))
		return "[shm]";
	return path[0] == '[' ? path : NULL;
}

static bool
strip_deleted(const char *path, char buffer[PATH_MAX])
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);

	if (length < sizeof(suffix) - 1 || path[length - 1] != ')' ||
	    strcmp(path + length - (sizeof(suffix) - 1), suffix) != 0)
		return false;
	length -= sizeof(suffix) - 1;
	if (length > PATH_MAX - 1)
		length = PATH_MAX - 1;
	memcpy(buffer, path, length);
	buffer[length] = '\0';
	return true;
}

/* Take the mapping's build-id over. False: it has none. */
static bool
take_build_id(const struct record_mmap *mmap, struct image *image)
{
	if (mmap->build_id_size == 0 || mmap->build_id_size > BUILD_ID_SIZE_MAX)
		return false;
	memcpy(image->build_id, mmap->build_id, mmap->build_id_size);
	image->build_id_size = mmap->build_id_size;
	return true;
}

static void
image_of_vdso(const struct record_mmap *mmap, const struct vdso_identity *vdso, struct image *image)
{
	image->kind = IMAGE_VDSO;
	image->path = mmap->start < FOUR_GIB ? "[vdso32]" : "[vdso]";
	if (take_build_id(mmap, image) || mmap->start < FOUR_GIB) /* a recording has one */
		return;
	memcpy(image->build_id, vdso->build_id, sizeof(image->build_id));
	image->build_id_size = vdso->build_id_size;
}

static void
image_of_file(const struct record_mmap *mmap, struct image *image)
{
	image->kind = IMAGE_USER;
	if (take_build_id(mmap, image))
		return;
	image->device_major = mmap->device_major;
	image->device_minor = mmap->device_minor;
	image->inode = mmap->inode;
	image->inode_generation = mmap->inode_generation;
}

void
image_of_mapping(const struct record_mmap *mmap, const struct vdso_identity *vdso, struct image *image,
                 char buffer[PATH_MAX])
{
	const char *path = mmap->path ? mmap->path : "", *name;

	memset(image, 0, sizeof(*image));
	image->deleted = strip_deleted(path, buffer);
	if (image->deleted)
		path = buffer;
	image->path = path;
	if (strcmp(path, "[vdso]") == 0) {
		image_of_vdso(mmap, vdso, image);
		return;
	}
	if (strcmp(path, "[vsyscall]") == 0) {
		image->kind = IMAGE_VDSO;
		return;
	}
	name = anonymous_name(path, image->deleted);
	if (!name && starts_with(path, MEMORY_FILE) && mmap->build_id_size == 0)
		name = path + 1;
	if (name) {
		image->kind = IMAGE_ANON;
		image->path = name;
		image->deleted = false;
		return;
	}
	image_of_file(mmap, image);
}

void
image_of_memory_file(const struct record_mmap *mmap, struct image *image)
{
	if (image->kind != IMAGE_ANON || mmap->inode == 0 || !starts_with(image->path, &MEMORY_FILE[1]))
		return;
	image_of_file(mmap, image);
	image->path--; /* its slash */
	image->deleted = true;
}

bool
image_is_memory_file(const struct image *image)
{
	return image->kind == IMAGE_USER && image->build_id_size == 0 && starts_with(image->path, MEMORY_FILE);
}

void
image_make_memory(struct image *image)
{
	*image = (struct image){.kind = IMAGE_ANON, .path = image->path + 1};
}

/* ---- the table ---- */

struct image_node {
	UT_hash_handle hh;
	uint32_t number;
	struct image_identity identity;
	struct image image;
	char path[]; /* also the key of an image without identity */
};

struct image_table {
	struct image_node *by_identity;
	struct image_node *by_name[IMAGE_KINDS];
	struct image_node **nodes; /* by number */
	uint32_t count;
	size_t capacity;
	size_t bytes; /* of the nodes */
	bool is_full;
};

struct image_table *
image_table_new(void)
{
	return calloc(1, sizeof(struct image_table));
}

void
image_table_free(struct image_table *table)
{
	if (!table)
		return;
	HASH_CLEAR(hh, table->by_identity);
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++)
		HASH_CLEAR(hh, table->by_name[kind]);
	for (uint32_t i = 0; i < table->count; i++)
		free(table->nodes[i]);
	free(table->nodes);
	free(table);
}

int
image_table_intern(struct image_table *table, const struct image *image, uint32_t *number)
{
	const enum image_kind kind = image_kind_checked(image->kind);
	const char *path = image->path ? image->path : "";
	const size_t path_size = strlen(path) + 1, size = sizeof(struct image_node) + path_size;
	struct image_identity identity;
	struct image_node *node, **nodes;
	const bool identified = image_identity(image, &identity);

	if (identified)
		HASH_FIND(hh, table->by_identity, &identity, sizeof(identity), node);
	else
		HASH_FIND_STR(table->by_name[kind], path, node);
	if (node) {
		*number = node->number;
		return 0;
	}
	/* once full, always full: otherwise short names would still fit after a long one did not */
	if (table->is_full || image_table_bytes(table) + size > IMAGE_TABLE_BYTES_MAX) {
		table->is_full = true;
		return -ENOSPC;
	}
	nodes = array_grow(table->nodes, &table->capacity, (size_t)table->count + 1, sizeof(struct image_node *));
	if (!nodes)
		return -ENOMEM;
	table->nodes = nodes;
	node = calloc(1, size);
	if (!node)
		return -ENOMEM;
	memcpy(node->path, path, path_size);
	node->image = *image;
	node->image.kind = kind;
	node->image.path = node->path;
	node->identity = identity;
	if (identified)
		HASH_ADD(hh, table->by_identity, identity, sizeof(identity), node);
	else
		HASH_ADD_STR(table->by_name[kind], path, node);
	if (!hash_added(node)) {
		free(node);
		return -ENOMEM;
	}
	node->number = table->count;
	table->bytes += size;
	table->nodes[table->count++] = node;
	*number = node->number;
	return 0;
}

const struct image *
image_table_get(const struct image_table *table, uint32_t number)
{
	return &table->nodes[number]->image;
}

uint32_t
image_table_count(const struct image_table *table)
{
	return table->count;
}

size_t
image_table_bytes(const struct image_table *table)
{
	return table->bytes + table->capacity * sizeof(struct image_node *);
}

bool
image_table_is_full(const struct image_table *table)
{
	return table->is_full;
}

/* ---- why a sample has no image ---- */

struct unknown_cause_text {
	const char *name;
	const char *text;
};

static const struct unknown_cause_text causes[] = {
#define UNKNOWN_CAUSE_ENTRY(value, name, text) [value] = {name, text},
	UNKNOWN_CAUSES(UNKNOWN_CAUSE_ENTRY)
#undef UNKNOWN_CAUSE_ENTRY
};

const char *
unknown_cause_name(unsigned cause)
{
	return cause < UNKNOWN_CAUSE_COUNT ? causes[cause].name : "other";
}

const char *
unknown_cause_text(unsigned cause)
{
	return cause < UNKNOWN_CAUSE_COUNT ? causes[cause].text : "for another reason";
}
