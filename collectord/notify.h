/*
 * notify.h - the state of dcpid for the service manager (the protocol of sd_notify(3))
 *
 * Datagrams to the socket that $NOTIFY_SOCKET names; without one every call does nothing. A message that cannot be
 * delivered at once is dropped: the manager must never stop the collection. libsystemd's sd_notify() waits instead,
 * until the manager reads.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_NOTIFY_H
#define DCPI_COLLECTORD_NOTIFY_H

#include <stdint.h>
#include <sys/types.h>

struct notify;

/* Variables of the environment; NULL when not set. */
struct notify_environment {
	const char *socket;        /* $NOTIFY_SOCKET: a path, or "@name" for an abstract socket */
	const char *watchdog_usec; /* $WATCHDOG_USEC */
	const char *watchdog_pid;  /* $WATCHDOG_PID: the process that it is for */
};

/* NULL and errno: ENOMEM; EINVAL for a wrong socket name; errors of socket(2). */
struct notify *notify_new(const struct notify_environment *environment);
void notify_free(struct notify *notify); /* NULL is allowed */

/* The longest time between two notify_watchdog(); 0: there is no watchdog. */
uint64_t notify_watchdog_ns(const struct notify *notify);

/* The interval of the timer that feeds the watchdog: `longest_ns`, or half of the watchdog's time when that is less. */
uint64_t notify_feeding_ns(const struct notify *notify, uint64_t longest_ns);

/* Each 0 - also when there is no service manager - or -errno. `status` is a line for people. */
int notify_ready(struct notify *notify, const char *status);
int notify_reloading(struct notify *notify); /* with MONOTONIC_USEC, as Type=notify-reload wants it */
int notify_stopping(struct notify *notify, const char *status);
int notify_status(struct notify *notify, const char *status);
int notify_watchdog(struct notify *notify);

#endif
