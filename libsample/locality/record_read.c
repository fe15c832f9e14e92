#include "locality/record_read.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "locality/record.h"

#define REFERENCES_MAX 64 /* of a loop: as the compiler writes them */
#define NO_LOOP        LOCALITY_NO_LOOP
#define VISITS_OF_LOOP (UINT64_C(1) << 22) /* of one that is entered: the burst ends in it */

struct placed_loop {
	struct locality_loop loop;
	uint32_t place; /* of its text, in units of 8 bytes */
};

struct locality_record {
	struct locality_header header;
	char *texts;               /* header.text_bytes, and a 0 */
	struct placed_loop *loops; /* by their places, ascending */
	size_t loop_count, loop_room;
	struct locality_chunk *chunks;
	uint32_t chunk_count;
};

/* ---- texts ---- */

/* What is before the next separator, which is overwritten by 0; *at moves behind it. */
static const char *
take_word(char **at, char separator)
{
	char *word = *at, *end = strchr(word, separator);

	if (end) {
		*end = '\0';
		*at = end + 1;
	} else {
		*at = word + strlen(word);
	}
	return word;
}

static uint32_t
take_number(char **at)
{
	return (uint32_t)strtoul(take_word(at, '\t'), NULL, 10);
}

static bool
read_reference(char *line, struct locality_reference *reference)
{
	const char *kind = take_word(&line, '\t');

	if (strlen(kind) != 2 || !strchr("RW", kind[0]) || !strchr("sgi", kind[1]))
		return false;
	reference->access = kind[0];
	reference->kind = kind[1];
	reference->bytes = take_number(&line);
	reference->line = take_number(&line);
	reference->name = line;
	reference->block = LOCALITY_NO_BLOCK;
	return reference->bytes > 0;
}

static void
read_around(char *lines, struct locality_loop *loop)
{
	for (unsigned i = 0; *lines && i < ARRAY_COUNT(loop->around); i++)
		loop->around[i] = (uint32_t)strtoul(take_word(&lines, ','), NULL, 10);
}

/* Of a function: its blocks, and from which to which it may go. 0, -EPROTO, -ENOMEM. */
static int
read_edges(char *line, struct locality_loop *loop)
{
	size_t room = 0, count = 0;

	loop->blocks = take_number(&line);
	while (*line) {
		struct locality_edge *added = ARRAY_APPEND(loop->edges, count, room);
		char *word = (char *)take_word(&line, ' ');

		if (!added)
			return -ENOMEM;
		added->from = (uint32_t)strtoul(take_word(&word, '>'), NULL, 10);
		added->to = (uint32_t)strtoul(word, NULL, 10);
		if (added->from >= LOCALITY_BLOCKS_MAX || added->to >= LOCALITY_BLOCKS_MAX)
			return -EPROTO;
	}
	loop->edge_count = (uint32_t)count;
	return loop->blocks && loop->blocks <= LOCALITY_BLOCKS_MAX ? 0 : -EPROTO;
}

/* Of a loop: its blocks; those of its references are *of_references. False: they are none. */
static bool
read_blocks(char *line, struct locality_loop *loop, char **of_references)
{
	loop->header = take_number(&line);
	loop->preheader = take_number(&line);
	loop->counted = take_number(&line);
	*of_references = line;
	return loop->header < LOCALITY_BLOCKS_MAX && loop->preheader < LOCALITY_BLOCKS_MAX &&
	       loop->counted < LOCALITY_BLOCKS_MAX;
}

static bool
place_references(char *blocks, struct locality_loop *loop)
{
	for (uint32_t i = 0; i < loop->count; i++) {
		loop->references[i].block = (uint32_t)strtoul(take_word(&blocks, ','), NULL, 10);
		if (loop->references[i].block >= LOCALITY_BLOCKS_MAX)
			return false;
	}
	return true;
}

/* 0, -EPROTO, -ENOMEM. What it has is freed with the record. */
static int
read_text(char *text, struct locality_loop *loop)
{
	char *line = text, *of_references = NULL;
	size_t room = 0, count = 0;

	text += strcspn(text, "\n");
	if (*text)
		*text++ = '\0';
	*loop = (struct locality_loop){.function = take_word(&line, '\t')};
	loop->file = take_word(&line, '\t');
	loop->line = take_number(&line);
	loop->depth = take_number(&line);
	loop->by_entry = *line == 'e';
	loop->is_function = *take_word(&line, '\t') == 'f';
	loop->left_out = take_number(&line);
	read_around((char *)take_word(&line, '\t'), loop);
	loop->unique_name = "";
	if (text[0] == 'B' && text[1] == '\t') {
		line = (char *)take_word(&text, '\n') + 2;
		loop->unique_name = take_word(&line, '\t');
		if (loop->is_function)
			return read_edges(line, loop);
		if (!read_blocks(line, loop, &of_references))
			return -EPROTO;
	}
	if (loop->is_function)
		return -EPROTO;
	while (*text && count < REFERENCES_MAX) {
		struct locality_reference *added = ARRAY_APPEND(loop->references, count, room);

		if (!added)
			return -ENOMEM;
		line = (char *)take_word(&text, '\n');
		if (!read_reference(line, added))
			return -EPROTO;
	}
	loop->count = (uint32_t)count;
	return !of_references || place_references(of_references, loop) ? 0 : -EPROTO;
}

static int
add_loop(struct locality_record *record, char *text, uint32_t place, uint32_t build_id_size)
{
	struct placed_loop *added = ARRAY_APPEND(record->loops, record->loop_count, record->loop_room);
	int err;

	if (!added)
		return -ENOMEM;
	*added = (struct placed_loop){.place = place / 8};
	err = read_text(text, &added->loop);
	added->loop.build_id = (const uint8_t *)record->texts + place + offsetof(struct locality_text, build_id);
	added->loop.build_id_size = build_id_size;
	return err;
}

/* A text that is being written ends them: those behind it are not known. */
static int
read_texts(struct locality_record *record)
{
	uint32_t place = 0;
	int err = 0;

	while (!err && record->header.text_bytes - place > sizeof(struct locality_text)) {
		struct locality_text text;

		memcpy(&text, record->texts + place, sizeof(text));
		if (!text.bytes)
			break;
		if (text.bytes % 8 || text.bytes <= sizeof(text) || text.bytes > record->header.text_bytes - place ||
		    text.build_id_size > LOCALITY_BUILD_ID_MAX)
			return -EPROTO;
		record->texts[place + text.bytes - 1] = '\0';
		err = add_loop(record, record->texts + place + sizeof(text), place, text.build_id_size);
		place += text.bytes;
	}
	return err;
}

/* NO_LOOP: none has its text there. */
static size_t
find_loop(const struct locality_record *record, uint32_t place)
{
	const size_t at = ARRAY_LOWER_BOUND(record->loops, record->loop_count, place, place);

	return at < record->loop_count && record->loops[at].place == place ? at : NO_LOOP;
}

/* ---- the file ---- */

static int
read_at(int fd, void *data, size_t size, uint64_t offset)
{
	const ssize_t got = pread(fd, data, size, (off_t)offset);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EPROTO;
}

int
locality_header_read(int fd, struct locality_header *header)
{
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EPROTO;
	if (status.st_size == 0)
		return -EAGAIN;
	err = read_at(fd, header, sizeof(*header), 0);
	if (err)
		return err;
	if (!header->magic)
		return -EAGAIN;
	header->program[sizeof(header->program) - 1] = '\0';
	return header->magic == LOCALITY_MAGIC && header->text_bytes <= LOCALITY_TEXT_BYTES ? 0 : -EPROTO;
}

static int
read_parts(int fd, struct locality_record *record)
{
	const uint64_t first = sizeof(record->header) + LOCALITY_TEXT_BYTES, size = record->header.size;
	const uint32_t taken = record->header.taken;
	/* one that was in a database ends where it was cut */
	const uint32_t most = size < first || size - first >= (uint64_t)LOCALITY_CHUNKS * LOCALITY_CHUNK_BYTES
	                              ? LOCALITY_CHUNKS
	                              : (uint32_t)((size - first) / LOCALITY_CHUNK_BYTES);
	int err;

	record->chunk_count = taken < most ? taken : most;
	record->texts = calloc(1, record->header.text_bytes + 1);
	record->chunks = calloc(record->chunk_count + 1, sizeof(*record->chunks));
	if (!record->texts || !record->chunks)
		return -ENOMEM;
	err = read_at(fd, record->texts, record->header.text_bytes, sizeof(record->header));
	if (!err)
		err = read_at(fd, record->chunks, record->chunk_count * sizeof(*record->chunks),
		              sizeof(record->header) + LOCALITY_TEXT_BYTES);
	return err ? err : read_texts(record);
}

static int
compare_chunks(const void *a, const void *b)
{
	const struct locality_chunk *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

int
locality_record_read(int fd, struct locality_record **record)
{
	struct locality_record *made = calloc(1, sizeof(*made));
	int err = made ? locality_header_read(fd, &made->header) : -ENOMEM;

	*record = NULL;
	if (!err)
		err = read_parts(fd, made);
	if (err) {
		locality_record_free(made);
		return err;
	}
	qsort(made->chunks, made->chunk_count, sizeof(*made->chunks), compare_chunks);
	*record = made;
	return 0;
}

void
locality_record_free(struct locality_record *record)
{
	if (!record)
		return;
	for (size_t i = 0; i < record->loop_count; i++) {
		free(record->loops[i].loop.references);
		free(record->loops[i].loop.edges);
	}
	free(record->loops);
	free(record->texts);
	free(record->chunks);
	free(record);
}

const struct locality_header *
locality_record_header(const struct locality_record *record)
{
	return &record->header;
}

const char *
locality_record_program(const struct locality_record *record)
{
	return record->header.program;
}

uint32_t
locality_record_pid(const struct locality_record *record)
{
	return record->header.pid;
}

uint64_t
locality_record_began(const struct locality_record *record)
{
	return record->header.began_ns;
}

bool
locality_record_is_full(const struct locality_record *record)
{
	return record->header.taken > LOCALITY_CHUNKS;
}

uint32_t
locality_record_texts_lost(const struct locality_record *record)
{
	return record->header.texts_lost;
}

size_t
locality_record_loop_count(const struct locality_record *record)
{
	return record->loop_count;
}

const struct locality_loop *
locality_record_loop(const struct locality_record *record, size_t loop)
{
	return &record->loops[loop].loop;
}

/* ---- events ---- */

struct record_visit {
	const struct locality_record *record;
	const struct locality_visitor *visitor;
	bool is_entered; /* a nest, whose references are not visited yet */
	struct locality_nest nest;
	struct locality_part parts[LOCALITY_PARTS_MAX];
	uint64_t left;
	uint32_t tid;
	bool has_begun;
};

static int
visit_part(void *context, const struct locality_part *part, uint64_t address)
{
	struct record_visit *visit = context;

	visit->left--;
	return visit->visitor->refer(visit->visitor->context, part->loop, part->reference, address);
}

/* Visit the references of the nest that was entered last. */
static int
finish_nest(struct record_visit *visit)
{
	const uint64_t most = visit->left < VISITS_OF_LOOP ? visit->left : VISITS_OF_LOOP;
	const struct locality_order order = locality_order_of(&visit->nest);
	int err = 0;

	if (visit->is_entered)
		err = visit->visitor->enter(visit->visitor->context, &visit->nest);
	if (visit->is_entered && !err && visit->visitor->refer)
		err = locality_order_replay(&visit->nest, &order, most, visit_part, visit);
	visit->is_entered = false;
	return err;
}

static void
enter_nest(struct record_visit *visit, size_t loop, uint32_t levels, const uint64_t *words)
{
	visit->is_entered = true;
	visit->nest = (struct locality_nest){.levels = levels, .parts = visit->parts};
	for (uint32_t i = 0; i < levels; i++) {
		visit->nest.iterations[i] = words[1 + i];
		visit->nest.carries[i] = (words[0] >> (8 + 2 * i)) & 3;
		visit->nest.loops[i] = i + 1 == levels ? loop : LOCALITY_NO_LOOP;
	}
}

/* A reference of the nest that was entered. 0 or -EPROTO. */
static int
add_part(struct record_visit *visit, const struct locality_part *part)
{
	struct locality_nest *nest = &visit->nest;

	if (!visit->is_entered)
		return 0; /* its loop was entered before there was room */
	if (part->level >= nest->levels || nest->count == LOCALITY_PARTS_MAX ||
	    part->reference >= visit->record->loops[part->loop].loop.count)
		return -EPROTO;
	if (nest->loops[part->level] == LOCALITY_NO_LOOP)
		nest->loops[part->level] = part->loop;
	if (nest->loops[part->level] != part->loop)
		return 0; /* likewise */
	visit->parts[nest->count++] = *part;
	return 0;
}

/* Negative: with a sign. */
static int
bytes_of_index(uint64_t word)
{
	const int bytes = (int)(word >> 56);

	return bytes > INT8_MAX ? bytes - 256 : bytes;
}

static unsigned
level_of(uint64_t word)
{
	return word >> 24 & LOCALITY_LEVEL_MASK;
}

/* Words of an event, 0: it is none, or is not whole. */
static uint32_t
length_of(const uint64_t *words, uint32_t left)
{
	static const uint32_t lengths[] = {
		[LOCALITY_BURST] = 2, [LOCALITY_LOOP] = 2, [LOCALITY_STREAM] = 3, [LOCALITY_GATHER] = 4,
		[LOCALITY_TOUCH] = 2, [LOCALITY_NEST] = 1, [LOCALITY_PART] = 2};
	const unsigned kind = (unsigned)(words[0] & 0xff), level = level_of(words[0]);
	uint64_t length = kind < ARRAY_COUNT(lengths) ? lengths[kind] : 0;

	if (length > left)
		return 0;
	if (kind == LOCALITY_GATHER) {
		const int bytes = bytes_of_index(words[3]);
		const uint64_t count = words[3] & 0xffffffff;

		if (!bytes || abs(bytes) > 8)
			return 0;
		length += (count * (unsigned)abs(bytes) + 7) / 8;
	}
	if (kind == LOCALITY_NEST || kind == LOCALITY_PART) {
		if (!level || level > LOCALITY_LEVELS)
			return 0;
		length += level;
	}
	return length <= left ? (uint32_t)length : 0;
}

static int
take_reference(struct record_visit *visit, const uint64_t *words, size_t loop)
{
	struct locality_part part = {.loop = loop, .reference = words[0] >> 8 & 0xffff, .base = words[1]};

	switch (words[0] & 0xff) {
	case LOCALITY_PART:
		part.level = level_of(words[0]) - 1;
		part.is_behind = words[0] >> 24 & LOCALITY_BEHIND;
		part.is_used_within = words[0] >> 24 & LOCALITY_WITHIN;
		for (uint32_t i = 0; i <= part.level; i++)
			part.steps[i] = (int64_t)words[2 + i];
		break;
	case LOCALITY_GATHER:
		part.index_bytes = bytes_of_index(words[3]);
		part.count = words[3] & 0xffffffff;
		part.indices = (const char *)(words + 4);
		part.steps[0] = (int64_t)words[2];
		break;
	default:
		part.steps[0] = (int64_t)words[2];
		break;
	}
	return add_part(visit, &part);
}

static int
take_touch(struct record_visit *visit, const uint64_t *words, size_t loop)
{
	const struct locality_visitor *visitor = visit->visitor;
	const uint32_t reference = words[0] >> 8 & 0xffff;

	if (reference >= visit->record->loops[loop].loop.count)
		return -EPROTO;
	if (!visit->left || (!visitor->touch && !visitor->refer))
		return 0;
	visit->left--;
	return (visitor->touch ? visitor->touch : visitor->refer)(visitor->context, loop, reference, words[1]);
}

static int
take_event(struct record_visit *visit, const uint64_t *words)
{
	const unsigned kind = (unsigned)(words[0] & 0xff);
	const size_t loop = kind == LOCALITY_BURST ? NO_LOOP : find_loop(visit->record, (uint32_t)(words[0] >> 32));
	int err = 0;

	if (kind != LOCALITY_STREAM && kind != LOCALITY_GATHER && kind != LOCALITY_PART)
		err = finish_nest(visit);
	if (!err && kind == LOCALITY_BURST) {
		err = visit->visitor->begin(visit->visitor->context, visit->tid, words[1], !visit->has_begun);
		visit->has_begun = true;
		return err;
	}
	if (err || loop == NO_LOOP)
		return err; /* its text is not here yet */
	switch (kind) {
	case LOCALITY_LOOP:
		enter_nest(visit, loop, 1, words);
		return 0;
	case LOCALITY_NEST:
		enter_nest(visit, loop, level_of(words[0]), words);
		return 0;
	case LOCALITY_TOUCH:
		return take_touch(visit, words, loop);
	default:
		return take_reference(visit, words, loop);
	}
}

static int
visit_chunk(struct record_visit *visit, const struct locality_chunk *chunk)
{
	uint32_t at = 0;
	int err = chunk->used > LOCALITY_WORDS ? -EPROTO : 0;

	while (!err && at < chunk->used) {
		const uint32_t length = length_of(chunk->words + at, chunk->used - at);

		err = length ? take_event(visit, chunk->words + at) : -EPROTO;
		at += length;
	}
	return err;
}

int
locality_record_visit(const struct locality_record *record, const struct locality_visitor *visitor)
{
	struct record_visit visit = {.record = record, .visitor = visitor, .left = LOCALITY_VISITS_MAX};
	int err = 0;

	for (uint32_t i = 0; i < record->chunk_count && !err; i++) {
		const struct locality_chunk *chunk = &record->chunks[i];

		if (chunk->tid != visit.tid || i == 0) {
			err = finish_nest(&visit);
			visit.tid = chunk->tid;
			visit.has_begun = false;
		}
		if (!err)
			err = visit_chunk(&visit, chunk);
	}
	return err ? err : finish_nest(&visit);
}
