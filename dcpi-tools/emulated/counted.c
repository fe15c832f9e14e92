#include "dcpi-tools/emulated/counted.h"
#include "profile/memory_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KEYS_MAX    ((size_t)1 << 28) /* distinct instructions */
#define WRITE_TRIES 5
#define CPU_PREFIX  "model name\t: "

int
counted_init(struct counted *counted)
{
	memset(counted, 0, sizeof(*counted));
	counted->images = image_table_new();
	counted->contexts = context_table_new();
	counted->tally = tally_new(KEYS_MAX);
	return counted->images && counted->contexts && counted->tally ? 0 : -ENOMEM;
}

void
counted_fini(struct counted *counted)
{
	image_table_free(counted->images);
	context_table_free(counted->contexts);
	tally_free(counted->tally);
	edge_list_fini(&counted->edges);
	memset(counted, 0, sizeof(*counted));
}

int
counted_add(struct counted *counted, const struct sample_key *key, uint64_t count)
{
	if (count == 0)
		return 0;
	counted->totals[key->event] += count;
	return tally_add(counted->tally, key, count);
}

void
counted_add_anonymous(struct counted *counted, uint16_t event, uint64_t count)
{
	counted->totals[event] += count;
	counted->anonymous[event] += count;
}

static void
read_cpu(char cpu[EPOCH_TEXT_SIZE])
{
	FILE *info = fopen("/proc/cpuinfo", "re");
	char line[EPOCH_TEXT_SIZE];

	cpu[0] = '\0';
	while (info && fgets(line, sizeof(line), info)) {
		if (strncmp(line, CPU_PREFIX, strlen(CPU_PREFIX)) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(cpu, EPOCH_TEXT_SIZE, "%s", line + strlen(CPU_PREFIX));
		break;
	}
	if (info)
		fclose(info);
}

void
counted_describe_event(struct event *event, const char *name, const char *unit, const char *note)
{
	*event = (struct event){.encoding = {.type = EVENT_TYPE_DCPIX}, .period = 1, .available = true, .user = true};
	snprintf(event->name, sizeof(event->name), "%s", name);
	snprintf(event->requested, sizeof(event->requested), "%s", name);
	snprintf(event->note, sizeof(event->note), "%s", note);
	snprintf(event->encoding.unit, sizeof(event->encoding.unit), "%s", unit);
}

static void
describe_machine(const struct counted_epoch *description, struct epoch *epoch)
{
	struct utsname names = {0};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	(void)uname(&names);
	snprintf(epoch->host, sizeof(epoch->host), "%s", names.nodename);
	snprintf(epoch->kernel, sizeof(epoch->kernel), "%s %s %s", names.release, names.version, names.machine);
	if (description->cpu)
		snprintf(epoch->cpu, sizeof(epoch->cpu), "%s", description->cpu);
	else
		read_cpu(epoch->cpu);
	epoch->cpu_count = description->cpu ? description->cpu_count : cpus > 0 ? (uint32_t)cpus : 1;
}

static void
describe_epoch(const struct counted_epoch *description, struct epoch *epoch)
{
	if (description->machine)
		*epoch = *description->machine;
	else
		describe_machine(description, epoch);
	epoch->start_ns = description->start_ns;
	epoch->end_ns = description->end_ns;
	snprintf(epoch->label, sizeof(epoch->label), "%s", description->label);
	epoch->event_count = description->event_count;
	if (description->event_count)
		memcpy(epoch->events, description->events, description->event_count * sizeof(*epoch->events));
}

static struct slice *
make_slice(const struct counted *counted, const struct counted_epoch *description, uint32_t epoch)
{
	struct slice *slice = calloc(1, sizeof(*slice));

	if (!slice)
		return NULL;
	slice->epoch = epoch;
	slice->start_ns = description->start_ns;
	slice->end_ns = description->end_ns;
	slice->event_count = description->event_count;
	for (size_t i = 0; i < slice->event_count; i++) {
		slice->events[i].samples = counted->totals[i];
		slice->events[i].unknown[UNKNOWN_ADDRESS] = counted->anonymous[i];
	}
	return slice;
}

static int
flush(struct profile *profile, const struct counted *counted, const struct profile_batch *entries, uint32_t epoch,
      const struct counted_epoch *description)
{
	const uint32_t image_count = image_table_count(counted->images);
	const uint32_t context_count = context_table_count(counted->contexts);
	const struct image **images = calloc(image_count + 1, sizeof(*images));
	const struct context **contexts = calloc(context_count + 1, sizeof(*contexts));
	struct slice *slice = make_slice(counted, description, epoch);
	struct profile_label_time time = {
		.label = context_count ? context_table_get(counted->contexts, 0)->label : "", /* that of all contexts */
		.begin_ns = description->start_ns,
		.end_ns = description->end_ns,
		.elapsed_ns = description->end_ns - description->start_ns,
	};
	struct profile_batch batch = *entries;
	int err = -ENOMEM;

	if (!images || !contexts || !slice)
		goto out;
	for (uint32_t i = 0; i < image_count; i++)
		images[i] = image_table_get(counted->images, i);
	for (uint32_t i = 0; i < context_count; i++)
		contexts[i] = context_table_get(counted->contexts, i);
	batch.images = images;
	batch.image_count = image_count;
	batch.contexts = contexts;
	batch.context_count = context_count;
	batch.slice = slice;
	batch.times = &time;
	batch.time_count = time.begin_ns < time.end_ns;
	if (description->memory) {
		batch.rows = description->memory->rows;
		batch.row_count = description->memory->count;
	}
	err = profile_flush(profile, &batch);
out:
	free(slice);
	free(contexts);
	free(images);
	return err;
}

/* -ESTALE: dcpid compacted the database after it was opened, so that its file was replaced. */
static int
write_once(struct counted *counted, const char *directory, const struct counted_epoch *description,
           const struct profile_batch *entries, uint32_t *number)
{
	const struct profile_options options = {.write = true, .beside = true};
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	struct profile *profile = NULL;
	int err = epoch ? profile_open(directory, &options, &profile) : -ENOMEM;

	if (err)
		goto out;
	describe_epoch(description, epoch);
	err = profile_begin_epoch(profile, epoch);
	if (!err)
		err = flush(profile, counted, entries, epoch->id, description);
	*number = epoch->id;
	profile_close(profile);
out:
	free(epoch);
	return err;
}

int
counted_write(struct counted *counted, const char *directory, const struct counted_epoch *description, uint32_t *epoch)
{
	struct profile_batch entries = {0};
	int err = -ESTALE;

	edge_list_merge(&counted->edges);
	entries.entries = tally_sort(counted->tally, &entries.entry_count);
	entries.edges = counted->edges.edges;
	entries.edge_count = counted->edges.count;
	for (int i = 0; i < WRITE_TRIES && err == -ESTALE; i++)
		err = write_once(counted, directory, description, &entries, epoch);
	return err;
}

int
counted_can_write(const char *directory)
{
	const struct profile_options options = {.write = true, .beside = true};
	struct profile *profile;
	int err = profile_open(directory, &options, &profile);

	if (!err)
		profile_close(profile);
	return err;
}
