#include "emulator/thread_birth.h"

#include <errno.h>

void
birth_init(struct birth *birth)
{
	pthread_mutex_init(&birth->lock, NULL);
	sem_init(&birth->done, 0, 0);
}

void
birth_expect(struct birth *birth)
{
	pthread_mutex_lock(&birth->lock);
	while (sem_trywait(&birth->done) == 0) /* of a clone() that failed after all */
		;
}

void
birth_done(struct birth *birth)
{
	sem_post(&birth->done);
}

void
birth_wait(struct birth *birth, bool has_child)
{
	while (has_child && sem_wait(&birth->done) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&birth->lock);
}
