#include "process/cgroup_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/hash.h"

#define DEPTH_MAX  64 /* directories below each other */
#define ROOT_INODE 1  /* of a whole hierarchy */
#define CHECKS_MIN 64

struct cgroup_node {
	uint64_t id;
	uint64_t gone_ns; /* when it was first seen that it is not there any more; 0: it was there */
	UT_hash_handle hh;
	char path[];
};

struct cgroup_table {
	struct cgroup_node *by_id; /* uthash keeps the order of adding: the head is the least recently used */
	size_t bytes;              /* of all paths, with their NUL */
};

struct cgroup_table *
cgroup_table_new(void)
{
	return calloc(1, sizeof(struct cgroup_table));
}

static void
forget(struct cgroup_table *table, struct cgroup_node *node)
{
	HASH_DELETE(hh, table->by_id, node);
	table->bytes -= strlen(node->path) + 1;
	free(node);
}

void
cgroup_table_free(struct cgroup_table *table)
{
	if (!table)
		return;
	HASH_FREE_ALL(table->by_id);
	free(table);
}

static struct cgroup_node *
node_find(struct cgroup_table *table, uint64_t id)
{
	struct cgroup_node *node;

	HASH_FIND(hh, table->by_id, &id, sizeof(id), node);
	return node;
}

int
cgroup_table_set(struct cgroup_table *table, uint64_t id, const char *path)
{
	size_t size = strnlen(path, PATH_MAX - 1) + 1;
	struct cgroup_node *node = node_find(table, id);

	if (node)
		forget(table, node);
	while (table->by_id &&
	       (cgroup_table_size(table) >= CGROUP_TABLE_MAX || table->bytes + size > CGROUP_TABLE_BYTES_MAX))
		forget(table, table->by_id);
	node = calloc(1, sizeof(*node) + size);
	if (!node)
		return -ENOMEM;
	node->id = id;
	memcpy(node->path, path, size - 1);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was forgotten is in none of the table's lists */
	HASH_ADD(hh, table->by_id, id, sizeof(id), node);
	if (!hash_added(node)) {
		free(node);
		return -ENOMEM;
	}
	table->bytes += size;
	return 0;
}

/* Make it the most recently used. NULL: there was no memory for that, and it is forgotten. */
static struct cgroup_node *
move_to_end(struct cgroup_table *table, struct cgroup_node *node)
{
	if (!node->hh.next)
		return node;
	HASH_DELETE(hh, table->by_id, node);
	HASH_ADD(hh, table->by_id, id, sizeof(node->id), node);
	if (hash_added(node))
		return node;
	table->bytes -= strlen(node->path) + 1;
	free(node);
	return NULL;
}

const char *
cgroup_table_find(struct cgroup_table *table, uint64_t id)
{
	struct cgroup_node *node = node_find(table, id);

	if (node)
		node = move_to_end(table, node);
	return node ? node->path : "";
}

size_t
cgroup_table_size(const struct cgroup_table *table)
{
	return HASH_COUNT(table->by_id);
}

/* A depth-first walk, with the path of the present directory. */
struct cgroup_walk {
	cgroup_visit *visit;
	void *context;
	size_t length;
	char path[PATH_MAX];
};

static int walk_directory(struct cgroup_walk *walk, int fd, unsigned depth);

static int
walk_child(struct cgroup_walk *walk, int parent, const char *name, unsigned depth)
{
	size_t length = walk->length, more = strlen(name);
	int fd, err;

	if (length + 1 + more >= sizeof(walk->path))
		return 0;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* removed meanwhile, or not readable */
	walk->path[length] = '/';
	memcpy(walk->path + length + 1, name, more + 1);
	walk->length += 1 + more;
	err = walk_directory(walk, fd, depth + 1);
	walk->length = length;
	walk->path[length] = '\0';
	return err;
}

/* Takes ownership of `fd`. */
static int
walk_directory(struct cgroup_walk *walk, int fd, unsigned depth)
{
	struct dirent *entry;
	struct stat status;
	DIR *directory = NULL;
	int err;

	if (fstat(fd, &status) == 0)
		err = walk->visit(walk->context, status.st_ino, walk->length ? walk->path : "/");
	else
		err = -errno;
	if (!err && depth < DEPTH_MAX)
		directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return err;
	}
	while (!err && (entry = readdir(directory)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = walk_child(walk, dirfd(directory), entry->d_name, depth);
	closedir(directory);
	return err;
}

/* The directory of the hierarchy, or -errno. */
static int
open_hierarchy(const char *cgroupfs)
{
	static const char *const candidates[] = {"perf_event", "unified"};
	struct statfs status;
	int root, fd;

	root = open(cgroupfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (fstatfs(root, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
		return root;
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		fd = openat(root, candidates[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			close(root);
			return fd;
		}
	}
	return root;
}

int
cgroup_table_walk(const char *cgroupfs, cgroup_visit *visit, void *context)
{
	struct cgroup_walk walk = {.visit = visit, .context = context};
	int fd = open_hierarchy(cgroupfs);

	return fd < 0 ? fd : walk_directory(&walk, fd, 0);
}

static int
visit_to_set(void *table, uint64_t id, const char *path)
{
	return cgroup_table_set(table, id, path);
}

int
cgroup_table_scan(struct cgroup_table *table, const char *cgroupfs)
{
	return cgroup_table_walk(cgroupfs, visit_to_set, table);
}

bool
cgroup_table_sees_all(const char *cgroupfs)
{
	struct statfs system;
	struct stat status;
	int fd = open_hierarchy(cgroupfs);
	bool sees_all;

	if (fd < 0)
		return false;
	sees_all = fstatfs(fd, &system) == 0 && fstat(fd, &status) == 0 && status.st_ino == ROOT_INODE &&
	           (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
	close(fd);
	return sees_all;
}

/* Another cgroup that was made under this name has another inode. */
static bool
is_there(const struct cgroup_node *node, int hierarchy)
{
	const char *path = node->path + strspn(node->path, "/");
	struct stat status;

	if (fstatat(hierarchy, *path ? path : ".", &status, AT_SYMLINK_NOFOLLOW) == 0)
		return status.st_ino == node->id;
	return errno != ENOENT;
}

static void
check_node(struct cgroup_table *table, struct cgroup_node *node, int hierarchy, uint64_t now_ns, uint64_t grace_ns)
{
	if (is_there(node, hierarchy))
		node->gone_ns = 0;
	else if (node->gone_ns == 0)
		node->gone_ns = now_ns;
	else if (now_ns - node->gone_ns >= grace_ns) {
		forget(table, node);
		return;
	}
	(void)move_to_end(table, node);
}

void
cgroup_table_expire(struct cgroup_table *table, const char *cgroupfs, uint64_t now_ns, uint64_t grace_ns)
{
	size_t size = cgroup_table_size(table), checks = CHECKS_MIN + size / 16;
	int hierarchy = open_hierarchy(cgroupfs);

	if (hierarchy < 0)
		return;
	for (checks = checks < size ? checks : size; checks > 0 && table->by_id; checks--)
		check_node(table, table->by_id, hierarchy, now_ns, grace_ns);
	close(hierarchy);
}
