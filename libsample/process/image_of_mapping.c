#include "process/image_of_mapping.h"

#include <string.h>
#include <sys/auxv.h>

#include "process/build_id.h"

#define FOUR_GIB (UINT64_C(1) << 32)

void
vdso_identity_read(struct vdso_identity *vdso)
{
	const void *start = (const void *)getauxval(AT_SYSINFO_EHDR);
	int size;

	memset(vdso, 0, sizeof(*vdso));
	if (!start)
		return;
	/* Its size is not told, but one page there always is, and the notes follow the headers. */
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

/* The one name for a kind of memory without a file; NULL for a file, `path` for a name that is one already. */
static const char *
anonymous_name(const char *path, bool deleted)
{
	if (path[0] == '/' && !deleted && path[1] != '/' && path[1] != 'd') /* nearly all */
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

static void
image_of_vdso(const struct record_mmap *mmap, const struct vdso_identity *vdso, struct image *image)
{
	image->kind = IMAGE_VDSO;
	image->path = mmap->start < FOUR_GIB ? "[vdso32]" : "[vdso]";
	if (mmap->build_id_size > 0 && mmap->build_id_size <= BUILD_ID_SIZE_MAX) { /* a recording knows it */
		memcpy(image->build_id, mmap->build_id, mmap->build_id_size);
		image->build_id_size = mmap->build_id_size;
		return;
	}
	if (mmap->start < FOUR_GIB)
		return;
	memcpy(image->build_id, vdso->build_id, sizeof(image->build_id));
	image->build_id_size = vdso->build_id_size;
}

static void
image_of_file(const struct record_mmap *mmap, struct image *image)
{
	image->kind = IMAGE_USER;
	if (mmap->build_id_size > 0 && mmap->build_id_size <= BUILD_ID_SIZE_MAX) {
		memcpy(image->build_id, mmap->build_id, mmap->build_id_size);
		image->build_id_size = mmap->build_id_size;
		return;
	}
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
	if (!name && starts_with(path, "/memfd:") && mmap->build_id_size == 0)
		name = path + 1;
	if (name) {
		image->kind = IMAGE_ANON;
		image->path = name;
		image->deleted = false;
		return;
	}
	image_of_file(mmap, image);
}

#define MEMORY_FILE "/memfd:"

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
