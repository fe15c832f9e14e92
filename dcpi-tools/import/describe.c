#include "dcpi-tools/import/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As dcpid writes it: the name, and what tells models apart where names do not. */
static void
describe_cpu(const struct perf_data_machine *machine, char *cpu, size_t size)
{
	const char *id = machine->cpu_id ? machine->cpu_id : "";
	char vendor[16];
	unsigned family, model;
	size_t used;
	uint64_t midr;

	snprintf(cpu, size, "%s", machine->cpu ? machine->cpu : "");
	used = strlen(cpu);
	if (sscanf(id, "%15[^,],%u,%u", vendor, &family, &model) == 3) {
		snprintf(cpu + used, size - used, " (%s family %u model %u)", vendor, family, model);
		return;
	}
	midr = strtoull(id, NULL, 16);
	if (strncmp(id, "0x", 2) == 0 && midr)
		snprintf(cpu, size, "ARM implementer 0x%02" PRIx64 ", part 0x%03" PRIx64, midr >> 24 & 0xff,
		         midr >> 4 & 0xfff);
}

void
describe_epoch(const struct perf_data_machine *machine, const struct perf_import_request *request,
               const struct import_events *events, struct epoch *epoch)
{
	const char *host = request->host ? request->host : machine->host;

	snprintf(epoch->label, sizeof(epoch->label), "%s", request->label);
	snprintf(epoch->host, sizeof(epoch->host), "%s", host ? host : "");
	snprintf(epoch->kernel, sizeof(epoch->kernel), "%s%s%s", machine->release ? machine->release : "",
	         machine->release && machine->architecture ? " " : "",
	         machine->architecture ? machine->architecture : "");
	describe_cpu(machine, epoch->cpu, sizeof(epoch->cpu));
	epoch->cpu_count = machine->cpu_count;
	epoch->event_count = events->count;
	memcpy(epoch->events, events->events, events->count * sizeof(*epoch->events));
}
