#include "dcpi-tools/x/counts_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/emulated/code_read.h"
#include "dcpi-tools/emulated/run_directory.h"
#include "emulator/counts/counts_file.h"

struct x_reading {
	int fd;
	struct counted *counted;
	struct record_header header;
	struct code_read code;
	uint64_t *executed; /* by block */
	uint32_t context;
};

static int
add_edge(struct x_reading *reading, uint32_t from_number, uint32_t to_number, uint64_t count)
{
	const struct code_read_block *from, *to;
	struct profile_edge edge = {.count = count};

	if (count == 0)
		return 0;
	if (from_number >= reading->code.block_count || to_number == 0 || to_number >= reading->code.block_count)
		return -DCPI_EDAMAGED;
	from = &reading->code.blocks[from_number];
	to = &reading->code.blocks[to_number];
	/* A string instruction repeats: its execution is counted already. */
	if (from->repeats && from->image == to->image && from->last == to->offset)
		return 0;
	reading->executed[to_number] += count;
	if (!to->image || from->image != to->image)
		return 0;
	edge.image = to->image - 1;
	edge.from = from->last;
	edge.to = to->offset;
	return edge_list_gather(&reading->counted->edges, &edge);
}

static int
read_slots(struct x_reading *reading, uint64_t offset)
{
	struct counts_slot *slots = calloc(reading->code.block_count, sizeof(*slots));
	int err;

	if (!slots)
		return -ENOMEM;
	err = code_read_at(reading->fd, slots, reading->code.block_count * sizeof(*slots), offset);
	for (uint32_t i = 1; !err && i < reading->code.block_count; i++) {
		err = add_edge(reading, slots[i].from[0], i, slots[i].count[0]);
		if (!err)
			err = add_edge(reading, slots[i].from[1], i, slots[i].count[1]);
	}
	free(slots);
	return err;
}

static int
read_edges(struct x_reading *reading, uint64_t offset, uint32_t count)
{
	struct counts_edge *edges;
	int err;

	if (count > COUNTS_EDGES_MAX)
		return -DCPI_EDAMAGED;
	edges = calloc((size_t)count + 1, sizeof(*edges));
	if (!edges)
		return -ENOMEM;
	err = code_read_at(reading->fd, edges, count * sizeof(*edges), offset);
	for (uint32_t i = 0; !err && i < count; i++)
		err = add_edge(reading, edges[i].from, edges[i].to, edges[i].count);
	free(edges);
	return err;
}

static int
read_vcpu(struct x_reading *reading, uint32_t vcpu)
{
	const uint64_t offset = COUNTS_VCPU_OFFSET(vcpu);
	uint32_t beginning[2]; /* last and edge_count */
	int err;

	err = code_read_at(reading->fd, beginning, sizeof(beginning), offset);
	if (!err)
		err = read_slots(reading, offset + offsetof(struct counts_vcpu, slots));
	return err ? err : read_edges(reading, offset + offsetof(struct counts_vcpu, edges), beginning[1]);
}

static int
add_block_counts(struct x_reading *reading, const struct code_read_block *block, uint64_t executed)
{
	struct sample_key key = {.image = block->image - 1, .context = reading->context, .offset = block->offset};
	int err = 0;

	if (!block->image) {
		counted_add_anonymous(reading->counted, 0, executed * block->instruction_count);
		return 0;
	}
	for (size_t i = 0; !err && i < block->instruction_count; i++) {
		err = counted_add(reading->counted, &key, executed);
		key.offset += block->sizes[i];
	}
	return err;
}

static int
read_all(struct x_reading *reading, const char *label)
{
	struct record_header *header = &reading->header;
	struct context context = {.comm = header->comm, .cgroup = "", .label = label};
	int err = code_read_at(reading->fd, header, sizeof(*header), 0);

	if (err)
		return err;
	if (header->magic != COUNTS_MAGIC || header->vcpu_count > COUNTS_VCPUS_MAX)
		return -DCPI_EDAMAGED;
	header->comm[sizeof(header->comm) - 1] = '\0';
	err = context_table_intern(reading->counted->contexts, &context, &reading->context);
	if (!err)
		err = code_read_init(&reading->code, reading->fd, COUNTS_HEADER_SIZE, header->log_size,
		                     reading->counted->images);
	if (err)
		return err;
	reading->executed = calloc(reading->code.block_count, sizeof(*reading->executed));
	if (!reading->executed)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < header->vcpu_count; i++)
		err = read_vcpu(reading, i);
	for (size_t i = 1; !err && i < reading->code.block_count; i++)
		err = add_block_counts(reading, &reading->code.blocks[i], reading->executed[i]);
	return err;
}

int
counts_read_file(int fd, const char *label, struct counted *counted, struct counts_summary *summary)
{
	struct x_reading reading = {.fd = fd, .counted = counted};
	int err = read_all(&reading, label);

	if (!err) {
		summary->programs++;
		summary->unfollowed += reading.header.unfollowed;
		summary->uncounted += reading.header.unrecorded;
	}
	code_read_fini(&reading.code);
	free(reading.executed);
	return err;
}

struct x_summing {
	const char *label;
	struct counted *counted;
	struct counts_summary *summary;
};

static int
read_named(void *context, const struct run_file *file)
{
	const struct x_summing *summing = context;
	struct counts_summary *summary = summing->summary;
	int err = -DCPI_EDAMAGED;

	if (file->fd >= 0)
		err = counts_read_file(file->fd, summing->label, summing->counted, summary);
	if (err == -DCPI_EDAMAGED) {
		summary->damaged++;
		return 0;
	}
	summary->processes += file->number == 0;
	summary->running += run_file_is_running(file);
	return err;
}

int
counts_read(const char *directory, const char *label, struct counted *counted, struct counts_summary *summary)
{
	struct x_summing summing = {.label = label, .counted = counted, .summary = summary};

	memset(summary, 0, sizeof(*summary));
	return run_directory_each_file(directory, COUNTS_PREFIX, read_named, &summing);
}
