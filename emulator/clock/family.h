/*
 * family.h - what the processes of a run know of each other's time
 *
 * One file in the run's directory, mapped by all of them: where each has come to, who wrote how much into which pipe
 * and when, and how the run's time goes with the host's. A process that is executed goes on at the time of who executed
 * it, a child begins at its parent's, who waits for a child has its last. Who reads from a pipe has what was written,
 * when it was.
 *
 * Thread rule: any thread of any process. What another process may have destroyed gives wrong times, no more.
 */
#ifndef DCPI_EMULATOR_FAMILY_H
#define DCPI_EMULATOR_FAMILY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/machine.h"

#define FAMILY_NAME      "times" /* of the file */
#define FAMILY_PROCESSES 4096
#define FAMILY_PIPES     512
#define FAMILY_UNKNOWN   UINT64_MAX

struct family;

/* Of the run in `directory`; where that has no room for the file, of this process and its forks. NULL: no memory. */
struct family *family_new(const char *directory);
void family_free(struct family *family);

/* The process has come to `cycles`; it never goes back. And where it has; FAMILY_UNKNOWN. */
void family_set_time(struct family *family, pid_t process, uint64_t cycles);
uint64_t family_time(const struct family *family, pid_t process);

/* A child of this process begins, with a number that another may have had. */
void family_begin(struct family *family, pid_t process, pid_t parent, uint64_t cycles);

/* What a process's threads have had of cores, cycles, and of that in system calls; with what its children had. */
struct family_busy {
	uint64_t all, called;
};

void family_set_busy(struct family *family, pid_t process, const struct family_busy *busy);
void family_busy(const struct family *family, pid_t process, struct family_busy *busy);

/* The cores that a process is pinned to, a bit for each; what it executes is, too. False: it is not. */
#define FAMILY_AFFINITY_SIZE (MACHINE_CORES_MAX / 8)
void family_set_affinity(struct family *family, pid_t process, const uint8_t mask[FAMILY_AFFINITY_SIZE]);
bool family_affinity(const struct family *family, pid_t process, uint8_t mask[FAMILY_AFFINITY_SIZE]);

/* A descriptor of a pipe, as a number for it; 0: it is none. */
uint64_t family_pipe(int fd);

/* Something is being written at the time `cycles`; and was: this many bytes. */
void family_write(struct family *family, uint64_t pipe, uint64_t cycles);
void family_wrote(struct family *family, uint64_t pipe, uint64_t cycles, uint64_t bytes);

/* So many bytes were read at `cycles`: when the last of them was written; 0: not known. */
uint64_t family_read(struct family *family, uint64_t pipe, uint64_t cycles, uint64_t bytes);

/* When there was room in it for the last time. */
uint64_t family_room(struct family *family, uint64_t pipe);

/*
 * How time goes on the host: it is `origin_ns` + `dilation` * the time of the target. Set by the first who knows, which
 * the others then use; a process that falls behind moves the origin for all. False: not known yet.
 */
bool family_pace(const struct family *family, double *dilation, int64_t *origin_ns);
void family_set_pace(struct family *family, double dilation, int64_t origin_ns);
void family_slip(struct family *family, int64_t ns);

#endif
