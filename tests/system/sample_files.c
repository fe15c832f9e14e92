/*
 * sample_files.c - a database with samples of procedures of the files it is given, for tests/system/explain.sh
 *
 * sample_files SEED RANDOM DIR FILE...: of each file that is an ELF file of code of ours, the largest procedure and
 * RANDOM others are sampled; a line "ADDRESS BYTES INSTRUCTIONS PATH" for each. The same seed gives the same samples.
 * They are such as the analysis has to stand, not such as a program would have: on instructions and between them, few
 * or many, one event or all. Every second file was counted exactly, by numbers that contradict each other and the code.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "code/procedures.h"
#include "process/build_id.h"
#include "process/image_table.h"
#include "profile/profile.h"
#include "tally/tally.h"

#define SECOND_NS    UINT64_C(1000000000)
#define PLACES_MAX   4000 /* of one procedure that have samples */
#define TALLY_LIMIT  (1 << 22)
#define SAMPLED_LAST 3 /* events 0 to 3 of the first epoch are those of samples */

struct sample_builder {
	struct profile *profile;
	struct image_table *images;
	struct tally *samples, *executions;
	struct profile_edge *edges;
	size_t edge_count, edge_capacity;
	uint64_t random;
	unsigned others; /* procedures of a file besides the largest */
};

struct resolved_file {
	uint32_t number;
	bool is_counted;
	struct image_file *file;
	struct symbol_table *symbols;
	struct image_contents *contents;
	struct procedures *procedures;
};

static void
require(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "sample_files: %s: %s\n", what, error_text(err));
	exit(1);
}

/* xorshift64*, Vigna 2016; below `limit`. */
static uint64_t
chance(struct sample_builder *builder, uint64_t limit)
{
	builder->random ^= builder->random >> 12;
	builder->random ^= builder->random << 25;
	builder->random ^= builder->random >> 27;
	return (builder->random * UINT64_C(2685821657736338717) >> 11) % limit;
}

/* Mostly small, seldom up to 2^40: as samples are. */
static uint64_t
random_count(struct sample_builder *builder)
{
	return 1 + (chance(builder, UINT64_C(1) << 20) >> chance(builder, 21) << (chance(builder, 64) ? 0 : 20));
}

static void
begin_epoch(struct sample_builder *builder, const char *label, const char *const *names, size_t count)
{
	struct epoch epoch = {.start_ns = 100 * SECOND_NS, .end_ns = 100 * SECOND_NS, .cpu_count = 2};

	snprintf(epoch.label, sizeof(epoch.label), "%s", label);
	for (size_t i = 0; i < count; i++) {
		struct event *event = &epoch.events[epoch.event_count++];
		const bool is_clock = strcmp(names[i], "cpu-clock") == 0;
		const bool is_exact = strcmp(names[i], "executions") == 0;

		snprintf(event->name, sizeof(event->name), "%s", names[i]);
		snprintf(event->requested, sizeof(event->requested), "%s", names[i]);
		snprintf(event->encoding.unit, sizeof(event->encoding.unit), "%s",
		         is_clock   ? "ns"
		         : is_exact ? "instructions"
		                    : "misses");
		event->encoding.type = is_exact ? EVENT_TYPE_DCPIX : 0;
		event->period = is_exact ? 1 : 10007;
		event->available = event->user = true;
	}
	require(profile_begin_epoch(builder->profile, &epoch), "epoch");
}

static void
add_sample(struct sample_builder *builder, struct tally *tally, uint32_t image, uint64_t offset, uint16_t event)
{
	const struct sample_key key = {.image = image, .offset = offset, .event = event};

	require(tally_add(tally, &key, random_count(builder)), "tally");
}

static void
add_edge(struct sample_builder *builder, uint32_t image, uint64_t from, uint64_t to)
{
	builder->edges =
		array_grow(builder->edges, &builder->edge_capacity, builder->edge_count + 1, sizeof(*builder->edges));
	if (!builder->edges)
		require(-ENOMEM, "edges");
	builder->edges[builder->edge_count++] =
		(struct profile_edge){.from = from, .to = to, .count = random_count(builder), .image = image};
}

static void
sample(struct sample_builder *builder, const struct resolved_file *file, const struct symbol *symbol)
{
	const uint64_t size = symbol->size ? symbol->size : 1;
	const uint64_t places = 1 + chance(builder, size < PLACES_MAX ? size : PLACES_MAX);
	const bool all_events = chance(builder, 2);

	for (uint64_t i = 0; i < places; i++)
		add_sample(builder, builder->samples, file->number, symbol->offset + chance(builder, size),
		           all_events ? (uint16_t)chance(builder, SAMPLED_LAST + 1) : 0);
	add_sample(builder, builder->samples, file->number, symbol->offset, 0); /* time: one at least */
}

/* The ELF address of an instruction as an offset of the image; 0 when it has none. */
static uint64_t
offset_of(const struct resolved_file *file, uint64_t address)
{
	uint64_t offset;

	return image_file_offset(file->file, address, &offset) ? 0 : offset;
}

static void
count_exactly(struct sample_builder *builder, const struct resolved_file *file, const struct flow_graph *graph)
{
	for (size_t i = 0; i < graph->instruction_count; i++)
		if (chance(builder, 8))
			add_sample(builder, builder->executions, file->number,
			           offset_of(file, graph->instructions[i].address), 0);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		const struct flow_block *from;

		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE || !chance(builder, 8))
			continue;
		from = &graph->blocks[edge->from];
		add_edge(builder, file->number,
		         offset_of(file, graph->instructions[from->first + from->count - 1].address),
		         offset_of(file, graph->instructions[graph->blocks[edge->to].first].address));
	}
}

static void
take_procedure(struct sample_builder *builder, const struct resolved_file *file, const struct symbol *symbol,
               const char *path)
{
	struct flow_graph *graph;
	uint64_t address;

	if (!symbol->size || image_file_address(file->file, symbol->offset, &address) ||
	    procedures_graph(file->procedures, symbol, &graph))
		return;
	sample(builder, file, symbol);
	if (file->is_counted)
		count_exactly(builder, file, graph);
	printf("0x%" PRIx64 " %" PRIu64 " %zu %s\n", address, symbol->size, graph->instruction_count, path);
	flow_graph_free(graph);
}

static const struct symbol *
largest(const struct symbol_table *symbols)
{
	const struct symbol *found = symbol_table_at(symbols, 0);

	for (size_t i = 1; i < symbol_table_size(symbols); i++)
		if (symbol_table_at(symbols, i)->size > found->size)
			found = symbol_table_at(symbols, i);
	return found;
}

static int
open_file(struct resolved_file *file, const struct image *image)
{
	int err;

	err = image_file_open(image, &file->file);
	if (!err)
		err = symbol_table_from_file(file->file, &file->symbols);
	if (!err)
		err = image_contents_new(file->file, &file->contents);
	if (err)
		return err;
	file->procedures = procedures_new(file->file, file->symbols, file->contents);
	return file->procedures ? 0 : -errno;
}

static void
close_file(struct resolved_file *file)
{
	procedures_free(file->procedures);
	image_contents_free(file->contents);
	symbol_table_free(file->symbols);
	image_file_close(file->file);
}

/* Without a build-id it is known by its inode. */
static int
identify(const char *path, struct image *image)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), size;
	struct stat status;

	if (fd < 0)
		return -errno;
	size = build_id_from_file(fd, image->build_id);
	if (size > 0)
		image->build_id_size = (uint8_t)size;
	if (fstat(fd, &status) == 0) {
		image->device_major = major(status.st_dev);
		image->device_minor = minor(status.st_dev);
		image->inode = status.st_ino;
	}
	close(fd);
	return 0;
}

static void
take_file(struct sample_builder *builder, const char *path)
{
	struct image image = {.kind = IMAGE_USER, .path = path};
	const uint32_t before = image_table_count(builder->images);
	struct resolved_file file = {0};
	size_t count;

	if (identify(path, &image) == 0 && open_file(&file, &image) == 0) {
		require(image_table_intern(builder->images, &image, &file.number), path);
		file.is_counted = file.number % 2;
		count = file.number == before ? symbol_table_size(file.symbols) : 0; /* a copy of another file: once */
		if (count)
			take_procedure(builder, &file, largest(file.symbols), path);
		for (unsigned i = 0; i < builder->others && count; i++)
			take_procedure(builder, &file, symbol_table_at(file.symbols, chance(builder, count)), path);
	}
	close_file(&file);
}

static int
compare_edges(const void *a, const void *b)
{
	const struct profile_edge *one = a, *other = b;

	if (one->image != other->image)
		return one->image < other->image ? -1 : 1;
	return (one->from > other->from) - (one->from < other->from);
}

/* All images with the first. */
static void
flush(struct sample_builder *builder, uint32_t epoch, struct tally *tally, size_t event_count)
{
	const uint32_t image_count = image_table_count(builder->images);
	const struct image **images = calloc(image_count + 1, sizeof(const struct image *));
	const struct context context = {.comm = "sampled", .cgroup = "/", .label = ""};
	const struct context *contexts[] = {&context};
	struct slice slice = {.epoch = epoch, .start_ns = 100 * SECOND_NS, .end_ns = 200 * SECOND_NS};
	struct profile_batch batch = {.images = images, .contexts = contexts, .slice = &slice};

	if (!images)
		require(-ENOMEM, "images");
	for (uint32_t i = 0; i < image_count; i++)
		images[i] = image_table_get(builder->images, i);
	slice.event_count = event_count;
	batch.image_count = epoch == 1 ? image_count : 0;
	batch.first_image = epoch == 1 ? 0 : image_count;
	batch.context_count = epoch == 1;
	batch.first_context = epoch != 1;
	batch.entries = tally_sort(tally, &batch.entry_count);
	for (size_t i = 0; i < batch.entry_count; i++)
		slice.events[batch.entries[i].event].samples += batch.entries[i].count;
	if (epoch != 1) {
		batch.edges = builder->edges;
		batch.edge_count = builder->edge_count;
	}
	require(profile_flush(builder->profile, &batch), "flush");
	free(images);
}

static void
write_database(struct sample_builder *builder)
{
	static const char *const sampled[] = {"cpu-clock", "cache-misses", "branch-misses", "dTLB-load-misses"};
	static const char *const counted[] = {"executions"};

	begin_epoch(builder, "sampled", sampled, SAMPLED_LAST + 1);
	flush(builder, 1, builder->samples, SAMPLED_LAST + 1);
	if (builder->edge_count)
		qsort(builder->edges, builder->edge_count, sizeof(*builder->edges), compare_edges);
	begin_epoch(builder, "dcpix", counted, 1);
	flush(builder, 2, builder->executions, 1);
}

int
main(int count, char **arguments)
{
	const struct profile_options options = {.write = true};
	struct sample_builder builder = {0};

	if (count < 5) {
		fprintf(stderr, "usage: sample_files SEED RANDOM DIR FILE...\n");
		return 2;
	}
	builder.random = strtoull(arguments[1], NULL, 10) * 2 + 1;
	builder.others = (unsigned)strtoul(arguments[2], NULL, 10);
	builder.images = image_table_new();
	builder.samples = tally_new(TALLY_LIMIT);
	builder.executions = tally_new(TALLY_LIMIT);
	if (!builder.images || !builder.samples || !builder.executions)
		require(-ENOMEM, "tables");
	require(profile_open(arguments[3], &options, &builder.profile), arguments[3]);
	for (int i = 4; i < count; i++)
		take_file(&builder, arguments[i]);
	write_database(&builder);
	profile_close(builder.profile);
	free(builder.edges);
	tally_free(builder.executions);
	tally_free(builder.samples);
	image_table_free(builder.images);
	return 0;
}
