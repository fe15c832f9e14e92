/*
 * loop.h - the part of libevent's loop that dcpid needs
 *
 * It keeps libevent's `struct event` apart from that of event/event.h.
 * Thread rule: one thread.
 */
#ifndef DCPI_COLLECTORD_LOOP_H
#define DCPI_COLLECTORD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct loop_watch;

typedef void loop_callback(void *context);

struct event_base *loop_new(void);       /* NULL and errno (ENOMEM) */
void loop_free(struct event_base *base); /* after what it watches. NULL is allowed */
int loop_run(struct event_base *base);   /* until event_base_loopbreak(). 0 or -EIO */

/* Call `callback` again and again; each NULL and errno (ENOMEM). */
struct loop_watch *loop_watch_descriptor(struct event_base *base, int fd, loop_callback *callback, void *context);
struct loop_watch *loop_watch_signal(struct event_base *base, int number, loop_callback *callback, void *context);
struct loop_watch *loop_watch_timer(struct event_base *base, uint64_t interval_ns, loop_callback *callback,
                                    void *context);

/* A descriptor is enabled from the start on. A wake-up by a perf ring while it is disabled is lost: the kernel clears
 * the ring's poll flag when epoll asks for it, which it does when the descriptor is added again. */
void loop_watch_enable(struct loop_watch *descriptor, bool on);

/* Call `callback` once for each time it is armed; one that is armed already keeps its time. 0 or -ENOMEM. */
struct loop_watch *loop_watch_alarm(struct event_base *base, loop_callback *callback, void *context);
int loop_watch_arm(struct loop_watch *alarm, uint64_t delay_ns);
int loop_watch_rearm(struct loop_watch *alarm, uint64_t delay_ns); /* an armed one gets the new time */

void loop_watch_free(struct loop_watch *watch); /* NULL is allowed */

#endif
