/*
 * make_database - write a profile database from a description, for tests of the tools
 *
 * make_database DIR < DESCRIPTION, one command a line, fields separated by blanks; in a field, \xNN is that byte (so
 * \x20 is a blank) and - alone is an empty text. Times are seconds since 1970. Numbers of images and contexts are
 * given by order: the first is 0. The first stack takes a number of the images.
 *
 *   event NAME REQUESTED UNIT PERIOD yes|no NOTE      of the epochs that follow; `no`: not available
 *   sampled EVENT TYPE PRECISE                        its perf type and precise_ip, in the epochs that follow
 *   noevents                                          forget the events
 *   cpu NAME                                          of the epochs that follow
 *   price EVENT RATE NANOSECONDS                      samples/s per CPU and cost of a sample, in the epochs that follow
 *   limit PPM                                         overhead limit of the epochs that follow
 *   start NS                                          processor time that dcpid used to start, of the next slice's
 * epoch host NAME                                         of the epochs that follow; else testhost epoch START LABEL
 *   image KIND BUILD-ID PATH                          kind as in image_table.h, or user; build-id in hexadecimal
 *   context COMM CGROUP LABEL
 *   count EVENT IMAGE CONTEXT OFFSET COUNT            event by name
 *   stack EVENT CONTEXT COUNT IMAGE+OFFSET...         call stacks of an event NAME.stacks, the outermost frame first
 *   edge EVENT IMAGE FROM TO COUNT                    ascending by from, of one event and image; its type is dcpix' own
 *   unknown EVENT CAUSE COUNT                         cause as unknown_cause_name() calls it
 *   lost EVENT COUNT | dropped EVENT COUNT | throttled EVENT COUNT
 *   running EVENT NANOSECONDS NANOSECONDS             for how long it was enabled, and on a counter
 *   cost NANOSECONDS | sideband COUNT | skipped COUNT
 *   ran LABEL BEGIN END SECONDS                       for how long runs under a label lasted in the next slice
 *   slice START END                                   flush what was said since the last slice as a slice of its own
 *   symbols IMAGE OFFSET NAME [OFFSET NAME]...        of a kernel image, after the slice that has it
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "process/context_table.h"
#include "process/image_table.h"
#include "process/stack_table.h"
#include "profile/label_times.h"
#include "profile/profile.h"
#include "profile/stacks.h"
#include "tally/tally.h"

#define SECOND_NS UINT64_C(1000000000)
#define ITEMS_MAX 1024

struct database_builder {
	struct profile *profile;
	struct image_table *images;
	struct context_table *contexts;
	struct stack_table *stacks;
	struct tally *tally;
	struct epoch epoch;
	struct profile_edge edges[ITEMS_MAX]; /* of the next flush */
	size_t edge_count;
	struct slice slice;                        /* what the next flush writes */
	uint64_t start_cpu_ns;                     /* and adds to the epoch's */
	uint32_t images_written, contexts_written; /* already in the database */
	uint32_t nodes_written;
	struct label_times times;
	unsigned line;
};

static void fail(const struct database_builder *builder, const char *what) __attribute__((noreturn));

static void
fail(const struct database_builder *builder, const char *what)
{
	fprintf(stderr, "make_database: line %u: %s\n", builder->line, what);
	exit(1);
}

static void
require(const struct database_builder *builder, int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "make_database: line %u: %s: %s\n", builder->line, what, error_text(err));
	exit(1);
}

static uint64_t
number(const struct database_builder *builder, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		fail(builder, "not a number");
	return value;
}

/* Undo \xNN in place; - is empty. */
static char *
unescape(char *field)
{
	char *to = field;

	if (strcmp(field, "-") == 0)
		field[0] = '\0';
	for (char *from = field; *from; to++) {
		unsigned byte;

		if (from[0] == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return field;
}

static void
copy_text(const struct database_builder *builder, char *to, size_t size, const char *text)
{
	if (strlen(text) >= size)
		fail(builder, "text too long");
	memcpy(to, text, strlen(text) + 1);
}

static uint16_t
event_index(const struct database_builder *builder, const char *name)
{
	for (size_t i = 0; i < builder->epoch.event_count; i++)
		if (strcmp(builder->epoch.events[i].name, name) == 0)
			return (uint16_t)i;
	fail(builder, "no such event");
}

static void
add_event(struct database_builder *builder, char **fields)
{
	struct event *event = &builder->epoch.events[builder->epoch.event_count];

	if (builder->epoch.event_count == EVENTS_MAX)
		fail(builder, "too many events");
	builder->epoch.event_count++;
	memset(event, 0, sizeof(*event));
	copy_text(builder, event->name, sizeof(event->name), fields[1]);
	copy_text(builder, event->requested, sizeof(event->requested), fields[2]);
	copy_text(builder, event->encoding.unit, sizeof(event->encoding.unit), fields[3]);
	event->period = number(builder, fields[4]);
	event->available = strcmp(fields[5], "yes") == 0;
	if (strcmp(event->name, "executions") == 0 || strstr(event->name, EVENT_SUM_SUFFIX) ||
	    strstr(event->name, EVENT_STACKS_SUFFIX))
		event->encoding.type = EVENT_TYPE_DCPIX;
	copy_text(builder, event->note, sizeof(event->note), fields[6]);
	event->user = event->kernel = true;
}

static void
set_sampled(struct database_builder *builder, char **fields)
{
	struct event *event = &builder->epoch.events[event_index(builder, fields[1])];

	event->encoding.type = (uint32_t)number(builder, fields[2]);
	event->precise = (uint8_t)number(builder, fields[3]);
}

static void
set_cpu(struct database_builder *builder, char **fields)
{
	copy_text(builder, builder->epoch.cpu, sizeof(builder->epoch.cpu), fields[1]);
}

static void
set_price(struct database_builder *builder, char **fields)
{
	struct event *event = &builder->epoch.events[event_index(builder, fields[1])];

	event->rate = number(builder, fields[2]);
	event->cost_ns = number(builder, fields[3]);
}

static void
begin_epoch(struct database_builder *builder, char **fields)
{
	struct epoch *epoch = &builder->epoch;

	epoch->start_ns = epoch->end_ns = number(builder, fields[1]) * SECOND_NS;
	copy_text(builder, epoch->label, sizeof(epoch->label), fields[2]);
	if (!epoch->host[0])
		copy_text(builder, epoch->host, sizeof(epoch->host), "testhost");
	copy_text(builder, epoch->kernel, sizeof(epoch->kernel), "6.1.0 #1 x86_64");
	if (!*epoch->cpu)
		copy_text(builder, epoch->cpu, sizeof(epoch->cpu), "a CPU");
	epoch->cpu_count = 2;
	require(builder, profile_begin_epoch(builder->profile, epoch), "epoch");
}

static enum image_kind
kind_named(const struct database_builder *builder, const char *name)
{
	static const char *const names[IMAGE_KINDS] = {
		[IMAGE_UNKNOWN] = "unknown", [IMAGE_USER] = "user", [IMAGE_KERNEL] = "kernel",
		[IMAGE_MODULE] = "module",   [IMAGE_VDSO] = "vdso", [IMAGE_JIT] = "jit",
		[IMAGE_ANON] = "anon",
	};

	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++)
		if (strcmp(names[kind], name) == 0)
			return (enum image_kind)kind;
	fail(builder, "no such kind");
}

static void
add_image(struct database_builder *builder, char **fields)
{
	struct image image = {.kind = kind_named(builder, fields[1]), .path = fields[3]};
	uint32_t before = image_table_count(builder->images), found;

	for (const char *at = fields[2]; *at; at += 2) {
		unsigned byte;

		if (image.build_id_size == BUILD_ID_SIZE_MAX || sscanf(at, "%2x", &byte) != 1 || !at[1])
			fail(builder, "not a build-id");
		image.build_id[image.build_id_size++] = (uint8_t)byte;
	}
	require(builder, image_table_intern(builder->images, &image, &found), "image");
	if (found != before)
		fail(builder, "this image is there already");
}

static void
add_context(struct database_builder *builder, char **fields)
{
	struct context context = {.comm = fields[1], .cgroup = fields[2], .label = fields[3]};
	uint32_t found;

	require(builder, context_table_intern(builder->contexts, &context, &found), "context");
}

static void
add_count(struct database_builder *builder, char **fields)
{
	struct sample_key key = {
		.event = event_index(builder, fields[1]),
		.image = (uint32_t)number(builder, fields[2]),
		.context = (uint32_t)number(builder, fields[3]),
		.offset = number(builder, fields[4]),
	};
	uint64_t count = number(builder, fields[5]);

	if (key.image >= image_table_count(builder->images) || key.context >= context_table_count(builder->contexts))
		fail(builder, "no such image or context");
	require(builder, tally_add(builder->tally, &key, count), "count");
	builder->slice.events[key.event].samples += count;
}

/* The node of frame "IMAGE+OFFSET", of which `caller` is the caller's. */
static uint32_t
add_frame(const struct database_builder *builder, const char *frame, uint32_t caller)
{
	char *end;
	struct stack_node node = {.image = (uint32_t)strtoul(frame, &end, 10), .caller = caller};
	uint32_t number_of_node;

	if (end == frame || *end != '+' || node.image >= image_table_count(builder->images))
		fail(builder, "no frame");
	node.offset = number(builder, end + 1);
	require(builder, stack_table_intern(builder->stacks, &node, &number_of_node), "stack");
	return number_of_node;
}

static void
add_stack(struct database_builder *builder, char **fields, size_t count)
{
	const struct image stacks = {.kind = IMAGE_STACKS, .path = STACKS_PATH};
	struct sample_key key = {
		.event = event_index(builder, fields[1]),
		.context = (uint32_t)number(builder, fields[2]),
	};
	const uint64_t samples = number(builder, fields[3]);
	uint32_t node = 0;

	for (size_t i = 4; i < count; i++)
		node = add_frame(builder, fields[i], node);
	key.offset = node;
	require(builder, image_table_intern(builder->images, &stacks, &key.image), "image");
	if (key.context >= context_table_count(builder->contexts))
		fail(builder, "no such context");
	require(builder, tally_add(builder->tally, &key, samples), "stack");
	builder->slice.events[key.event].samples += samples;
}

static void
add_edge(struct database_builder *builder, char **fields)
{
	if (builder->edge_count == ITEMS_MAX)
		fail(builder, "too many edges");
	builder->edges[builder->edge_count++] = (struct profile_edge){
		.event = event_index(builder, fields[1]),
		.image = (uint32_t)number(builder, fields[2]),
		.from = number(builder, fields[3]),
		.to = number(builder, fields[4]),
		.count = number(builder, fields[5]),
	};
}

static void
add_unknown(struct database_builder *builder, char **fields)
{
	struct slice_event *event = &builder->slice.events[event_index(builder, fields[1])];

	for (unsigned cause = 0; cause < UNKNOWN_CAUSE_COUNT; cause++) {
		if (strcmp(unknown_cause_name(cause), fields[2]) != 0)
			continue;
		event->unknown[cause] += number(builder, fields[3]);
		event->samples += number(builder, fields[3]);
		return;
	}
	fail(builder, "no such cause");
}

static void
add_run(struct database_builder *builder, char **fields)
{
	const struct profile_label_time time = {
		.label = fields[1],
		.begin_ns = number(builder, fields[2]) * SECOND_NS,
		.end_ns = number(builder, fields[3]) * SECOND_NS,
		.elapsed_ns = number(builder, fields[4]) * SECOND_NS,
	};

	require(builder, label_times_add(&builder->times, &time), "ran");
}

static void
flush_slice(struct database_builder *builder, char **fields)
{
	const struct image *images[ITEMS_MAX];
	const struct context *contexts[ITEMS_MAX];
	struct profile_batch batch = {
		.first_image = builder->images_written,
		.image_count = image_table_count(builder->images) - builder->images_written,
		.images = images,
		.first_context = builder->contexts_written,
		.context_count = context_table_count(builder->contexts) - builder->contexts_written,
		.contexts = contexts,
		.first_node = builder->nodes_written + 1,
		.node_count = stack_table_count(builder->stacks) - builder->nodes_written,
		.nodes = stack_table_nodes(builder->stacks, builder->nodes_written + 1),
		.slice = &builder->slice,
		.edges = builder->edges,
		.edge_count = builder->edge_count,
		.start_cpu_ns = builder->start_cpu_ns,
		.times = builder->times.list,
		.time_count = builder->times.count,
	};

	if (batch.image_count > ITEMS_MAX || batch.context_count > ITEMS_MAX)
		fail(builder, "too many images or contexts in one slice");
	for (uint32_t i = 0; i < batch.image_count; i++)
		images[i] = image_table_get(builder->images, batch.first_image + i);
	for (uint32_t i = 0; i < batch.context_count; i++)
		contexts[i] = context_table_get(builder->contexts, batch.first_context + i);
	builder->slice.epoch = builder->epoch.id;
	builder->slice.start_ns = number(builder, fields[1]) * SECOND_NS;
	builder->slice.end_ns = number(builder, fields[2]) * SECOND_NS;
	builder->slice.event_count = builder->epoch.event_count;
	batch.entries = tally_sort(builder->tally, &batch.entry_count);
	require(builder, profile_flush(builder->profile, &batch), "flush");
	tally_clear(builder->tally);
	builder->edge_count = 0;
	builder->start_cpu_ns = 0;
	label_times_fini(&builder->times);
	builder->images_written += batch.image_count;
	builder->contexts_written += batch.context_count;
	builder->nodes_written += batch.node_count;
	memset(&builder->slice, 0, sizeof(builder->slice));
}

static void
put_symbols(struct database_builder *builder, char **fields, size_t count)
{
	struct profile_symbol *symbols = calloc(count, sizeof(*symbols));
	size_t used = 0;

	if (!symbols)
		fail(builder, "out of memory");
	for (size_t i = 2; i + 1 < count; i += 2)
		symbols[used++] = (struct profile_symbol){.offset = number(builder, fields[i]), .name = fields[i + 1]};
	require(builder, profile_put_symbols(builder->profile, (uint32_t)number(builder, fields[1]), symbols, used),
	        "symbols");
	free(symbols);
}

static void
obey(struct database_builder *builder, char **fields, size_t count)
{
	static const struct statement {
		const char *name;
		size_t fields;
		void (*run)(struct database_builder *builder, char **fields);
	} commands[] = {
		{"event", 7, add_event},     {"epoch", 3, begin_epoch}, {"image", 4, add_image},
		{"context", 4, add_context}, {"count", 6, add_count},   {"unknown", 4, add_unknown},
		{"slice", 3, flush_slice},   {"price", 4, set_price},   {"edge", 6, add_edge},
		{"sampled", 4, set_sampled}, {"cpu", 2, set_cpu},       {"ran", 5, add_run},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(fields[0], commands[i].name) != 0)
			continue;
		if (count != commands[i].fields)
			fail(builder, "wrong number of fields");
		commands[i].run(builder, fields);
		return;
	}
	if (strcmp(fields[0], "symbols") == 0 && count >= 4)
		put_symbols(builder, fields, count);
	else if (strcmp(fields[0], "stack") == 0 && count >= 5)
		add_stack(builder, fields, count);
	else if (strcmp(fields[0], "noevents") == 0)
		builder->epoch.event_count = 0;
	else if (strcmp(fields[0], "dropped") == 0 && count == 3)
		builder->slice.events[event_index(builder, fields[1])].dropped += number(builder, fields[2]);
	else if (strcmp(fields[0], "lost") == 0 && count == 3)
		builder->slice.events[event_index(builder, fields[1])].lost += number(builder, fields[2]);
	else if (strcmp(fields[0], "throttled") == 0 && count == 3)
		builder->slice.events[event_index(builder, fields[1])].throttled += number(builder, fields[2]);
	else if (strcmp(fields[0], "running") == 0 && count == 4) {
		struct slice_event *event = &builder->slice.events[event_index(builder, fields[1])];

		event->enabled_ns += number(builder, fields[2]);
		event->running_ns += number(builder, fields[3]);
	} else if (strcmp(fields[0], "host") == 0 && count == 2)
		copy_text(builder, builder->epoch.host, sizeof(builder->epoch.host), fields[1]);
	else if (strcmp(fields[0], "limit") == 0 && count == 2)
		builder->epoch.overhead_limit_ppm = (uint32_t)number(builder, fields[1]);
	else if (strcmp(fields[0], "start") == 0 && count == 2)
		builder->start_cpu_ns += number(builder, fields[1]);
	else if (strcmp(fields[0], "cost") == 0 && count == 2)
		builder->slice.daemon_cpu_ns += number(builder, fields[1]);
	else if (strcmp(fields[0], "sideband") == 0 && count == 2)
		builder->slice.sideband_lost += number(builder, fields[1]);
	else if (strcmp(fields[0], "skipped") == 0 && count == 2)
		builder->slice.skipped += number(builder, fields[1]);
	else
		fail(builder, "no such command");
}

/* Split `line`, whose fields point into it then; the array grows as it must. */
static size_t
split_line(const struct database_builder *builder, char *line, char ***fields, size_t *capacity)
{
	size_t count = 0;
	char *field;

	while ((field = strsep(&line, " \t\n"))) {
		if (!*field)
			continue;
		if (count == *capacity) {
			*capacity = *capacity ? 2 * *capacity : 64;
			*fields = reallocarray(*fields, *capacity, sizeof(**fields));
			if (!*fields)
				fail(builder, "out of memory");
		}
		(*fields)[count++] = unescape(field);
	}
	return count;
}

static void
read_description(struct database_builder *builder, FILE *description)
{
	char *line = NULL, **fields = NULL;
	size_t size = 0, capacity = 0;

	while (getline(&line, &size, description) >= 0) {
		size_t count;

		builder->line++;
		count = split_line(builder, line, &fields, &capacity);
		if (count > 0 && fields[0][0] != '#')
			obey(builder, fields, count);
	}
	free(fields);
	free(line);
}

int
main(int argc, char **argv)
{
	struct profile_options options = {.write = true};
	struct database_builder builder = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: make_database DIR < DESCRIPTION\n");
		return 2;
	}
	builder.images = image_table_new();
	builder.contexts = context_table_new();
	builder.stacks = stack_table_new(1 << 20);
	builder.tally = tally_new(1 << 24);
	if (!builder.images || !builder.contexts || !builder.stacks || !builder.tally)
		fail(&builder, "out of memory");
	require(&builder, profile_open(argv[1], &options, &builder.profile), argv[1]);
	read_description(&builder, stdin);
	label_times_fini(&builder.times);
	profile_close(builder.profile);
	tally_free(builder.tally);
	stack_table_free(builder.stacks);
	context_table_free(builder.contexts);
	image_table_free(builder.images);
	return 0;
}
