/*
 * profile_events.h - the events that an emulated epoch has
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_EMU_PROFILE_EVENTS_H
#define DCPI_TOOLS_EMU_PROFILE_EVENTS_H

#include "emulator/record/record_file.h"
#include "event/event.h"

#define PROFILE_NO_EVENT UINT16_MAX

struct profile_events {
	struct event events[EVENTS_MAX];
	uint16_t count;
	uint16_t sampled[SETUP_EVENT_COUNT]; /* numbers of them; PROFILE_NO_EVENT */
	uint16_t executions;
	uint16_t truth[REASON_COUNT];
};

void profile_events_init(struct profile_events *events, const struct setup *setup);

#endif
