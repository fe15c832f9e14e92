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
#define NO_LOOP        SIZE_MAX
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
	return true;
}

/* 0, -EPROTO, -ENOMEM. */
static int
read_text(char *text, struct locality_loop *loop)
{
	char *line = text;
	size_t room = 0, count = 0;

	text += strcspn(text, "\n");
	if (*text)
		*text++ = '\0';
	*loop = (struct locality_loop){.function = take_word(&line, '\t')};
	loop->file = take_word(&line, '\t');
	loop->line = take_number(&line);
	loop->depth = take_number(&line);
	loop->by_entry = *take_word(&line, '\t') == 'e';
	loop->left_out = take_number(&line);
	while (*text && count < REFERENCES_MAX) {
		struct locality_reference *added = ARRAY_APPEND(loop->references, count, room);

		if (!added)
			return -ENOMEM;
		line = (char *)take_word(&text, '\n');
		if (!read_reference(line, added))
			return -EPROTO;
	}
	loop->count = (uint32_t)count;
	return 0;
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

static int
read_header(int fd, struct locality_header *header)
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
	const uint32_t taken = record->header.taken;
	int err;

	record->chunk_count = taken < LOCALITY_CHUNKS ? taken : LOCALITY_CHUNKS;
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
	int err = made ? read_header(fd, &made->header) : -ENOMEM;

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
	for (size_t i = 0; i < record->loop_count; i++)
		free(record->loops[i].loop.references);
	free(record->loops);
	free(record->texts);
	free(record->chunks);
	free(record);
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

/* A reference of a loop that was entered. */
struct sequence {
	uint32_t reference;
	uint64_t base;
	uint64_t step;       /* of a gather its coefficient */
	const char *indices; /* NULL: it is a stream */
	uint64_t count;      /* of indices */
	int bytes;           /* of an index; negative: with a sign */
};

struct record_visit {
	const struct locality_record *record;
	const struct locality_visitor *visitor;
	size_t loop; /* that was entered, and whose references are not visited yet; NO_LOOP: none */
	uint64_t iterations, left;
	struct sequence sequences[REFERENCES_MAX];
	uint32_t count;
	uint32_t tid;
	bool has_begun;
};

static uint64_t
index_at(const struct sequence *sequence, uint64_t at)
{
	const unsigned bytes = (unsigned)abs(sequence->bytes);
	uint64_t value = 0;

	memcpy(&value, sequence->indices + at * bytes, bytes);
	if (sequence->bytes < 0 && bytes < 8 && value >> (8 * bytes - 1))
		value |= UINT64_MAX << 8 * bytes;
	return value;
}

static int
visit_iteration(struct record_visit *visit, uint64_t iteration)
{
	int err = 0;

	for (uint32_t i = 0; i < visit->count && !err; i++) {
		const struct sequence *sequence = &visit->sequences[i];
		uint64_t times = iteration;

		if (sequence->indices && iteration >= sequence->count)
			continue; /* it had no room for more */
		if (sequence->indices)
			times = index_at(sequence, iteration);
		err = visit->visitor->refer(visit->visitor->context, visit->loop, sequence->reference,
		                            sequence->base + times * sequence->step);
	}
	return err;
}

/* Visit the references of the loop that was entered last. */
static int
finish_loop(struct record_visit *visit)
{
	uint64_t most = visit->left < VISITS_OF_LOOP ? visit->left : VISITS_OF_LOOP;
	int err = 0;

	if (visit->loop != NO_LOOP && visit->count) {
		most /= visit->count;
		most = most < visit->iterations ? most : visit->iterations;
		visit->left -= most * visit->count;
		for (uint64_t i = 0; i < most && !err; i++)
			err = visit_iteration(visit, i);
	}
	visit->loop = NO_LOOP;
	visit->count = 0;
	return err;
}

/* A reference of the loop that was entered. 0 or -EPROTO. */
static int
add_sequence(struct record_visit *visit, size_t loop, const struct sequence *sequence)
{
	if (loop != visit->loop)
		return 0; /* its loop was entered before there was room */
	if (sequence->reference >= visit->record->loops[loop].loop.count || visit->count == REFERENCES_MAX)
		return -EPROTO;
	visit->sequences[visit->count++] = *sequence;
	return 0;
}

/* Negative: with a sign. */
static int
bytes_of_index(uint64_t word)
{
	const int bytes = (int)(word >> 56);

	return bytes > INT8_MAX ? bytes - 256 : bytes;
}

/* Words of an event, 0: it is none, or is not whole. */
static uint32_t
length_of(const uint64_t *words, uint32_t left)
{
	static const uint32_t lengths[] = {[LOCALITY_BURST] = 2,
	                                   [LOCALITY_LOOP] = 2,
	                                   [LOCALITY_STREAM] = 3,
	                                   [LOCALITY_GATHER] = 4,
	                                   [LOCALITY_TOUCH] = 2};
	const unsigned kind = (unsigned)(words[0] & 0xff);
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
	return length <= left ? (uint32_t)length : 0;
}

static int
take_loop_event(struct record_visit *visit, const uint64_t *words)
{
	const size_t loop = find_loop(visit->record, (uint32_t)(words[0] >> 32));
	const uint32_t reference = words[0] >> 8 & 0xffff;
	struct sequence sequence = {.reference = reference, .base = words[1]};

	if (loop == NO_LOOP)
		return 0; /* its text is not here yet */
	switch (words[0] & 0xff) {
	case LOCALITY_LOOP:
		visit->loop = loop;
		visit->iterations = words[1];
		return visit->visitor->enter(visit->visitor->context, loop, words[1]);
	case LOCALITY_STREAM:
		sequence.step = words[2];
		return add_sequence(visit, loop, &sequence);
	case LOCALITY_GATHER:
		sequence.step = words[2];
		sequence.bytes = bytes_of_index(words[3]);
		sequence.count = words[3] & 0xffffffff;
		sequence.indices = (const char *)(words + 4);
		return add_sequence(visit, loop, &sequence);
	default:
		if (reference >= visit->record->loops[loop].loop.count)
			return -EPROTO;
		if (!visit->left)
			return 0;
		visit->left--;
		return visit->visitor->refer(visit->visitor->context, loop, reference, words[1]);
	}
}

static int
take_event(struct record_visit *visit, const uint64_t *words)
{
	const unsigned kind = (unsigned)(words[0] & 0xff);
	int err = 0;

	if (kind != LOCALITY_STREAM && kind != LOCALITY_GATHER)
		err = finish_loop(visit);
	if (err || kind != LOCALITY_BURST)
		return err ? err : take_loop_event(visit, words);
	err = visit->visitor->begin(visit->visitor->context, visit->tid, words[1], !visit->has_begun);
	visit->has_begun = true;
	return err;
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
	struct record_visit visit = {
		.record = record, .visitor = visitor, .loop = NO_LOOP, .left = LOCALITY_VISITS_MAX};
	int err = 0;

	for (uint32_t i = 0; i < record->chunk_count && !err; i++) {
		const struct locality_chunk *chunk = &record->chunks[i];

		if (chunk->tid != visit.tid || i == 0) {
			err = finish_loop(&visit);
			visit.tid = chunk->tid;
			visit.has_begun = false;
		}
		if (!err)
			err = visit_chunk(&visit, chunk);
	}
	return err ? err : finish_loop(&visit);
}
