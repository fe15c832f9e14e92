/*
 * cgroup_table.h - the paths of cgroups by the number that samples carry
 *
 * The number is the inode of the cgroup's directory (PERF_SAMPLE_CGROUP). No record announces that a cgroup is gone:
 * the directories are checked. Where not all of them are visible, the limits bound the table: beyond CGROUP_TABLE_MAX,
 * or CGROUP_TABLE_BYTES_MAX of paths, the least recently used one is forgotten (making, finding and checking are uses):
 * 8 MiB at most. Thread rule: one thread.
 */
#ifndef DCPI_PROCESS_CGROUP_TABLE_H
#define DCPI_PROCESS_CGROUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_TABLE_MAX       32768
#define CGROUP_TABLE_BYTES_MAX ((size_t)4 << 20)

struct cgroup_table;

struct cgroup_table *cgroup_table_new(void); /* NULL and errno (ENOMEM) */
void cgroup_table_free(struct cgroup_table *table);

/*
 * Read the hierarchy that perf sees below `cgroupfs`: version 1's perf_event where it is mounted, else version 2, which
 * is `cgroupfs` itself or its directory `unified`. 0, -ENOMEM, or the errno of opening it.
 */
int cgroup_table_scan(struct cgroup_table *table, const char *cgroupfs);

/* Call `visit` with each cgroup of that hierarchy until it returns something else than 0; returns that, or the errors
 * of cgroup_table_scan(). */
typedef int cgroup_visit(void *context, uint64_t id, const char *path);
int cgroup_table_walk(const char *cgroupfs, cgroup_visit *visit, void *context);

/* Cgroup `id` has this path from now on. 0 or -ENOMEM. */
int cgroup_table_set(struct cgroup_table *table, uint64_t id, const char *path);

/* The path of a cgroup, "" when it is not known; valid until the next change. */
const char *cgroup_table_find(struct cgroup_table *table, uint64_t id);

/*
 * Is the hierarchy below `cgroupfs` the machine's whole one? In a cgroup namespace it is a part, under other names than
 * the kernel's records have.
 */
bool cgroup_table_sees_all(const char *cgroupfs);

/*
 * Check whether some of the cgroups - 64, and a sixteenth of all - are still there, and forget those that were gone at
 * two checks that lie `grace_ns` or more apart: until then, samples of them may still come. Call it periodically.
 */
void cgroup_table_expire(struct cgroup_table *table, const char *cgroupfs, uint64_t now_ns, uint64_t grace_ns);

size_t cgroup_table_size(const struct cgroup_table *table);

#endif
