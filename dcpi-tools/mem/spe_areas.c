#include "dcpi-tools/mem/spe_areas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "dcpi-tools/mem/source.h"
#include "memory/spe.h"
#include "process/hash.h"

#define AREAS_MAX    NODE_CPUS_MAX
#define PIECES_MAX   ((size_t)4 << 20)
#define WINDOW_BYTES ((size_t)16 << 10)
#define NO_THREAD    UINT32_MAX

/* Words of perf's PERF_RECORD_AUXTRACE_INFO: in its first version, and from the second on. */
#define INFO_1_TYPE        0
#define INFO_2_HEADER_SIZE 1 /* words */
#define INFO_2_TYPE        2
#define INFO_2_CPUS        3
#define INFO_2_WORDS       4
#define INFO_CPU_NUMBER    1 /* of those of a CPU, which follow the header */
#define INFO_CPU_WORDS     2 /* that follow this one */
#define INFO_CPU_MIDR      3

struct spe_piece {
	uint32_t area;                      /* perf's index, then the number in `areas` */
	uint32_t cpu, tid;                  /* as perf's record has it */
	uint64_t file_offset, size, offset; /* offset: in the area */
};

/* Bytes that the hardware wrote one behind the other, of a CPU or of a thread. */
struct spe_area {
	uint32_t cpu, tid; /* RECORD_NO_CPU; NO_THREAD */
	uint64_t midr;     /* of the CPU; 0: not known */
	size_t piece, end; /* the piece that is read, and the end of those of the area */
	uint64_t at;       /* bytes of it that are in the window, or were */
	uint8_t *window;   /* NULL: before the first piece */
	struct spe_decoder decoder;
	struct spe_record record; /* the next one, of a load or store */
	uint64_t time;            /* of it, ns; the area's place in the heap */
};

struct spe_owner {
	uint32_t tid, pid;
	UT_hash_handle hh;
};

struct spe_areas {
	int fd;
	uint32_t type;
	bool has_other_clock;
	struct counter_time time;
	uint64_t midr;       /* of all CPUs, where those of each are not known */
	uint64_t *cpu_midrs; /* by CPU; NULL: not known */
	struct spe_piece *pieces;
	size_t piece_count, piece_room;
	struct spe_area *areas;
	size_t area_count;
	struct spe_area **heap; /* those with a record, the earliest first */
	size_t heap_count;
	bool has_begun;
	struct spe_owner *owners; /* processes of threads */
	struct spe_thread {
		uint32_t tid, pid;
		bool is_known;
	} running[NODE_CPUS_MAX]; /* by CPU */
	struct spe_areas_counts counts;
};

/* ---- finding the areas ---- */

/* The first version has the event's type alone; later ones have their own number first, and each CPU's model. */
static int
take_info(struct spe_areas *areas, const struct perf_data_auxtrace *info)
{
	const uint64_t *words = info->words;
	size_t at;

	if (info->count < INFO_2_WORDS) {
		areas->type = info->count ? (uint32_t)words[INFO_1_TYPE] : 0;
		return 0;
	}
	areas->type = (uint32_t)words[INFO_2_TYPE];
	areas->cpu_midrs = calloc(NODE_CPUS_MAX, sizeof(*areas->cpu_midrs));
	if (!areas->cpu_midrs)
		return -ENOMEM;
	if (words[INFO_2_HEADER_SIZE] > info->count)
		return 0;
	at = (size_t)words[INFO_2_HEADER_SIZE];
	for (uint64_t i = 0; i < words[INFO_2_CPUS] && info->count - at > INFO_CPU_MIDR; i++) {
		const uint64_t *cpu = words + at;

		if (cpu[INFO_CPU_NUMBER] < NODE_CPUS_MAX)
			areas->cpu_midrs[cpu[INFO_CPU_NUMBER]] = cpu[INFO_CPU_MIDR];
		if (cpu[INFO_CPU_WORDS] > info->count - at - INFO_CPU_MIDR)
			break;
		at += INFO_CPU_MIDR + (size_t)cpu[INFO_CPU_WORDS];
	}
	return 0;
}

static int
take_piece(struct spe_areas *areas, const struct record *record)
{
	struct spe_piece *piece;

	if (!record->aux_data.size)
		return 0;
	if (areas->piece_count >= PIECES_MAX) {
		areas->counts.left_out++;
		return 0;
	}
	piece = ARRAY_APPEND(areas->pieces, areas->piece_count, areas->piece_room);
	if (!piece)
		return -ENOMEM;
	*piece = (struct spe_piece){
		.area = record->aux_data.index,
		.cpu = record->aux_data.cpu,
		.tid = record->tid,
		.file_offset = record->aux_data.file_offset,
		.size = record->aux_data.size,
		.offset = record->aux_data.offset,
	};
	return 0;
}

/* All pieces, unless nothing by the end of the first round says that there are any. */
static int
read_pieces(struct spe_areas *areas, struct perf_data *data)
{
	struct record record;
	uint32_t event;
	int result, err = 0;

	while (!err && (result = perf_data_next(data, &record, &event)) > 0) {
		const bool is_spe = perf_data_auxtrace(data)->type == PERF_DATA_ARM_SPE;

		if (record.type == RECORD_AUX_DATA && is_spe)
			err = take_piece(areas, &record);
		else if (!is_spe && (record.type == RECORD_SAMPLE ||
		                     (record.type == RECORD_OTHER && record.other == PERF_DATA_ROUND)))
			break;
	}
	return err ? err : result == -DCPI_EDAMAGED || result > 0 ? 0 : result;
}

/* What is known of the machine when all records were read. */
static int
describe(struct spe_areas *areas, const struct perf_data *data)
{
	const struct perf_data_machine *machine = perf_data_machine(data);
	size_t count;
	const struct perf_data_event *events = perf_data_events(data, &count);

	for (size_t i = 0; i < count; i++)
		areas->has_other_clock |= events[i].attr.use_clockid;
	areas->time = *perf_data_counter_time(data);
	areas->midr = machine->cpu_id ? strtoull(machine->cpu_id, NULL, 16) : 0;
	return take_info(areas, perf_data_auxtrace(data));
}

/* By area, and as they are in the file. */
static int
compare_pieces(const void *a, const void *b)
{
	const struct spe_piece *one = a, *other = b;

	if (one->area != other->area)
		return one->area < other->area ? -1 : 1;
	return (one->file_offset > other->file_offset) - (one->file_offset < other->file_offset);
}

static int
make_areas(struct spe_areas *areas)
{
	size_t count = 0;

	if (areas->piece_count > 1)
		qsort(areas->pieces, areas->piece_count, sizeof(*areas->pieces), compare_pieces);
	for (size_t i = 0; i < areas->piece_count; i++)
		count += i == 0 || areas->pieces[i].area != areas->pieces[i - 1].area;
	if (count > AREAS_MAX)
		count = AREAS_MAX;
	areas->areas = calloc(count + 1, sizeof(*areas->areas));
	areas->heap = calloc(count + 1, sizeof(*areas->heap));
	if (!areas->areas || !areas->heap)
		return -ENOMEM;
	for (size_t i = 0; i < areas->piece_count; i++) {
		const struct spe_piece *piece = &areas->pieces[i];
		const bool is_new = i == 0 || piece->area != areas->pieces[i - 1].area;

		if (is_new && areas->area_count == count) {
			areas->counts.left_out += areas->piece_count - i;
			break;
		}
		if (is_new)
			areas->areas[areas->area_count++] = (struct spe_area){
				.cpu = piece->cpu,
				.tid = piece->tid,
				.midr = areas->cpu_midrs && piece->cpu < NODE_CPUS_MAX ? areas->cpu_midrs[piece->cpu]
			                                                               : areas->midr,
				.piece = i,
			};
		areas->areas[areas->area_count - 1].end = i + 1;
	}
	return 0;
}

int
spe_areas_find(int fd, struct spe_areas **found)
{
	const off_t begin = lseek(fd, 0, SEEK_CUR);
	struct spe_areas *areas;
	struct perf_data_fault fault;
	struct perf_data *data;
	bool is_spe = false;
	int err;

	*found = NULL;
	if (begin < 0)
		return errno == ESPIPE ? 0 : -errno;
	err = perf_data_open(fd, &data, &fault);
	if (err)
		return lseek(fd, begin, SEEK_SET) < 0 ? -errno : err == -DCPI_EDAMAGED ? 0 : err;
	areas = calloc(1, sizeof(*areas));
	err = areas ? read_pieces(areas, data) : -ENOMEM;
	if (!err) {
		is_spe = perf_data_auxtrace(data)->type == PERF_DATA_ARM_SPE;
		areas->fd = fd;
		err = describe(areas, data);
	}
	if (!err)
		err = make_areas(areas);
	perf_data_free(data);
	if (!err && lseek(fd, begin, SEEK_SET) < 0)
		err = -errno;
	if (!err && is_spe)
		*found = areas;
	else
		spe_areas_free(areas);
	return err;
}

void
spe_areas_free(struct spe_areas *areas)
{
	if (!areas)
		return;
	for (size_t i = 0; i < areas->area_count; i++)
		free(areas->areas[i].window);
	HASH_FREE_ALL(areas->owners);
	free(areas->areas);
	free(areas->heap);
	free(areas->pieces);
	free(areas->cpu_midrs);
	free(areas);
}

uint32_t
spe_areas_event_type(const struct spe_areas *areas)
{
	return areas->type;
}

bool
spe_areas_has_clock_of_records(const struct spe_areas *areas)
{
	return !areas->has_other_clock;
}

struct spe_areas_counts
spe_areas_counts(const struct spe_areas *areas)
{
	return areas->counts;
}

/* ---- whose an access is ---- */

/* A thread's process. */
static int
take_owner(struct spe_areas *areas, uint32_t tid, uint32_t pid)
{
	struct spe_owner *owner;

	HASH_FIND(hh, areas->owners, &tid, sizeof(tid), owner);
	if (!owner) {
		owner = calloc(1, sizeof(*owner));
		if (!owner)
			return -ENOMEM;
		owner->tid = tid;
		HASH_ADD(hh, areas->owners, tid, sizeof(owner->tid), owner);
		if (!hash_added(owner)) {
			free(owner);
			return -ENOMEM;
		}
	}
	owner->pid = pid;
	return 0;
}

static uint32_t
owner_of(const struct spe_areas *areas, uint32_t tid)
{
	const struct spe_owner *owner;

	HASH_FIND(hh, areas->owners, &tid, sizeof(tid), owner);
	return owner ? owner->pid : NO_THREAD;
}

int
spe_areas_follow(struct spe_areas *areas, const struct record *record)
{
	switch (record->type) {
	case RECORD_FORK:
	case RECORD_COMM:
		return record->tid != NO_THREAD ? take_owner(areas, record->tid, record->pid) : 0;
	case RECORD_RUNNING:
		if (record->running.cpu < NODE_CPUS_MAX)
			areas->running[record->running.cpu] = (struct spe_thread){record->tid, record->pid, true};
		return 0;
	case RECORD_AUX:
		areas->counts.truncated += record->aux.flags & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
		areas->counts.collided += record->aux.flags & PERF_AUX_FLAG_COLLISION ? 1 : 0;
		return 0;
	default:
		return 0;
	}
}

/* By its own packet, by what runs on its CPU, or by the thread whose area it is. */
static void
find_thread(struct spe_areas *areas, const struct spe_area *area, struct record *sample)
{
	const struct spe_thread *running = area->cpu < NODE_CPUS_MAX ? &areas->running[area->cpu] : NULL;

	if (area->record.has & SPE_HAS_CONTEXT) {
		sample->tid = area->record.context;
		sample->pid = owner_of(areas, sample->tid);
	} else if (running && running->is_known) {
		sample->tid = running->tid;
		sample->pid = running->pid;
	} else {
		sample->tid = area->tid;
		sample->pid = owner_of(areas, area->tid);
	}
	areas->counts.unowned += sample->pid == NO_THREAD;
}

/* ---- reading the areas ---- */

/* More bytes for the area's decoder. 1; 0: there are no more; or -errno. */
static int
read_window(struct spe_areas *areas, struct spe_area *area)
{
	const size_t left = area->window ? spe_decoder_left(&area->decoder) : 0;
	const struct spe_piece *piece = &areas->pieces[area->piece];
	size_t size;
	ssize_t got;

	if (area->window && area->at >= piece->size) {
		/* perf reads an area up to where the hardware has written whole records */
		spe_decoder_end(&area->decoder);
		areas->counts.damaged += area->decoder.damaged;
		if (++area->piece >= area->end)
			return 0;
		area->at = 0;
		spe_decoder_init(&area->decoder, areas->pieces[area->piece].offset);
		spe_decoder_put(&area->decoder, area->window, 0);
		return 1;
	}
	if (!area->window) {
		area->window = malloc(WINDOW_BYTES);
		if (!area->window)
			return -ENOMEM;
		spe_decoder_init(&area->decoder, piece->offset);
	} else if (left) {
		memmove(area->window, area->decoder.at, left);
	}
	size = WINDOW_BYTES - left;
	if (size > piece->size - area->at)
		size = (size_t)(piece->size - area->at);
	got = file_read_at(areas->fd, area->window + left, size, piece->file_offset + area->at);
	if (got < 0)
		return (int)got;
	/* a piece that goes on behind the end of the file has what is there */
	area->at = (size_t)got < size ? piece->size : area->at + size;
	spe_decoder_put(&area->decoder, area->window, left + (size_t)got);
	return 1;
}

/* The area's next load or store with a time. 1, 0 at its end, or -errno. */
static int
read_record(struct spe_areas *areas, struct spe_area *area)
{
	for (;;) {
		const uint32_t needed = SPE_HAS_OPERATION | SPE_HAS_TIME;
		int result;

		while (spe_decoder_next(&area->decoder, &area->record)) {
			if (area->record.class != SPE_CLASS_MEMORY)
				continue;
			area->time = counter_time_ns(&areas->time, area->record.time);
			if ((area->record.has & needed) == needed && areas->time.multiplier)
				return 1;
			areas->counts.timeless++;
		}
		result = read_window(areas, area);
		if (result <= 0)
			return result;
	}
}

/* Put `area` into the heap at its top, and let it sink to its place. */
static void
heap_sink(struct spe_areas *areas, size_t at, struct spe_area *area)
{
	struct spe_area **heap = areas->heap;
	size_t child;

	while ((child = 2 * at + 1) < areas->heap_count) {
		if (child + 1 < areas->heap_count && heap[child + 1]->time < heap[child]->time)
			child++;
		if (area->time <= heap[child]->time)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = area;
}

/* The first record of each area. */
static int
begin(struct spe_areas *areas)
{
	areas->has_begun = true;
	for (size_t i = 0; i < areas->area_count; i++) {
		const int result = read_record(areas, &areas->areas[i]);

		if (result < 0)
			return result;
		if (result > 0)
			areas->heap[areas->heap_count++] = &areas->areas[i];
	}
	for (size_t i = areas->heap_count / 2; i > 0; i--)
		heap_sink(areas, i - 1, areas->heap[i - 1]);
	return 0;
}

int
spe_areas_take(struct spe_areas *areas, uint64_t horizon, spe_areas_sink *sink, void *context)
{
	int result = areas->has_begun ? 0 : begin(areas);

	while (result >= 0 && areas->heap_count && (areas->heap[0]->time < horizon || horizon == UINT64_MAX)) {
		struct spe_area *area = areas->heap[0];
		struct record sample;
		int err;

		if (spe_sample(&area->record, area->midr, &sample)) {
			sample.time = area->time;
			sample.sample.cpu = area->cpu;
			find_thread(areas, area, &sample);
			err = sink(context, &sample);
			if (err)
				return err;
		}
		result = read_record(areas, area);
		if (result == 0)
			area = areas->heap[--areas->heap_count];
		if (areas->heap_count)
			heap_sink(areas, 0, area);
	}
	return result < 0 ? result : 0;
}
