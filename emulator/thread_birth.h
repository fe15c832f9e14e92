/*
 * thread_birth.h - a thread begins while its parent is in clone()
 *
 * With interface 1 QEMU tells of a new virtual CPU in its parent's clone(), with 2 on the new thread, when clone() may
 * have returned: then the parent waits for it here. So one thread begins at a time, its parent is known and stands
 * still. Thread rule: birth_expect() and birth_wait() by the parent, which holds a lock between them; birth_done() by
 * any.
 */
#ifndef DCPI_EMULATOR_THREAD_BIRTH_H
#define DCPI_EMULATOR_THREAD_BIRTH_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct birth {
	pthread_mutex_t lock;
	sem_t done;
};

void birth_init(struct birth *birth); /* also in the child of a fork */

void birth_expect(struct birth *birth);
void birth_done(struct birth *birth);
void birth_wait(struct birth *birth, bool has_child); /* its clone() has returned; false: it failed */

#endif
