/*
 * notify.h - telling the service manager how things are (sd_notify(3)'s protocol)
 *
 * Datagrams to the socket that $NOTIFY_SOCKET names; without one every call does nothing. A message that cannot be
 * delivered at once is dropped: the manager must never hold up the collection.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_NOTIFY_H
#define DCPI_COLLECTORD_NOTIFY_H

#include <stdint.h>
#include <sys/types.h>

struct notify;

/* What the environment says; each NULL when not set. */
struct notify_environment {
	const char *socket;        /* $NOTIFY_SOCKET: a path, or "@name" for an abstract socket */
	const char *watchdog_usec; /* $WATCHDOG_USEC */
	const char *watchdog_pid;  /* $WATCHDOG_PID: whom it is for */
};

/* NULL and errno: ENOMEM; EINVAL for a socket name that is none; what socket(2) says. */
struct notify *notify_new(const struct notify_environment *environment);
void notify_free(struct notify *notify); /* NULL is allowed */

/* How often the watchdog wants to hear from us at least; 0: there is none. */
uint64_t notify_watchdog_ns(const struct notify *notify);

/* How often to do what feeds the watchdog: every `usual_ns`, or twice in its time when that is more often. */
uint64_t notify_feeding_ns(const struct notify *notify, uint64_t usual_ns);

/* Each 0 - also when there is nobody to tell - or -errno. `status` is a line for people. */
int notify_ready(struct notify *notify, const char *status);
int notify_reloading(struct notify *notify); /* with MONOTONIC_USEC, as Type=notify-reload wants it */
int notify_stopping(struct notify *notify, const char *status);
int notify_status(struct notify *notify, const char *status);
int notify_watchdog(struct notify *notify);

#endif
