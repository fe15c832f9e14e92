/*
 * daemon.h - the life of dcpid: the event loop, its timers, signals and commands
 *
 * Callbacks only forward: samples and flushes to the collection, requests of clients to the functions of
 * their commands, states to the service manager. Thread rule: one thread, one daemon a process (it takes the signals
 * over).
 */
#ifndef DCPI_COLLECTORD_DAEMON_H
#define DCPI_COLLECTORD_DAEMON_H

#include <stddef.h>
#include <stdint.h>

#include "collectord/config.h"
#include "collectord/damage_restart.h"
#include "collectord/logging.h"
#include "collectord/notify.h"

/*
 * Collect until a signal, a command or the end of `options->seconds` ends it. `config` is what `options` gave;
 * `restart` is prepared. 0, or an error with a sentence in `why`. The limit of `logging` follows a configuration that
 * is read again.
 */
int daemon_run(const struct dcpid_options *options, const struct config *config, struct damage_restart *restart,
               struct logging *logging, struct notify *notify, char *why, size_t size);

#endif
