/*
 * config_events.h - the events of the configuration
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_COLLECTORD_CONFIG_EVENTS_H
#define DCPI_COLLECTORD_CONFIG_EVENTS_H

#include "base/config.h"
#include "collectord/config.h"

#define CONFIG_PERIOD_MAX UINT64_C(1000000000000) /* events, or ns for clocks */
#define CONFIG_RATE_MAX   20000                   /* samples per second and CPU */

/* What is collected when nothing else is said. */
void config_events_default(struct config *config);

/* The list `events`, in place of those that `config` has. 0 or -DCPI_ECONFIG. */
int config_events_read(const struct config_source *source, const config_setting_t *list, struct config *config);

#endif
