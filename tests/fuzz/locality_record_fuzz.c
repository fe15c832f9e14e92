/* A record of loops, which its program may have written over: texts, and the events of a chunk. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "locality/advice.h"
#include "locality/record.h"
#include "locality/record_read.h"
#include "locality/scores.h"

#define TEXTS 512 /* bytes of the input; the rest are events */
#define MOST  100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct record_replay {
	struct locality_window *window;
	const struct locality_record *record;
	uint64_t count;
};

static int
begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	const struct record_replay *replay = context;

	(void)tid;
	(void)skipped;
	locality_window_begin(replay->window, is_first);
	return 0;
}

static int
see_part(void *context, const struct locality_part *part, uint64_t address)
{
	(void)context;
	(void)part;
	(void)address;
	return 0;
}

/* Whatever it proposes can be replayed. */
static void
try_advice(const struct record_replay *replay, const struct locality_nest *nest)
{
	static const struct locality_caches caches = {.line = 64, .levels = {32768, 262144}};
	struct locality_advice advice[LOCALITY_ADVICE_MAX];
	struct locality_part parts[LOCALITY_PARTS_MAX];
	double lines;
	const size_t count = locality_advise(replay->record, nest, &caches, advice, &lines);

	for (size_t i = 0; i < count; i++) {
		const struct locality_nest advised = locality_advised(replay->record, nest, &advice[i], parts);

		(void)locality_order_replay(&advised, &advice[i].order, 100, see_part, NULL);
	}
}

static int
enter(void *context, const struct locality_nest *nest)
{
	const struct record_replay *replay = context;

	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];

		if (part->loop >= locality_record_loop_count(replay->record) || part->level >= nest->levels ||
		    part->reference >= locality_record_loop(replay->record, part->loop)->count ||
		    locality_record_loop(replay->record, part->loop)->build_id_size > LOCALITY_BUILD_ID_MAX)
			abort();
	}
	try_advice(replay, nest);
	return 0;
}

static int
refer(void *context, size_t loop, uint32_t reference, uint64_t address)
{
	struct record_replay *replay = context;
	struct locality_score score = {0};

	if (reference >= locality_record_loop(replay->record, loop)->count)
		abort();
	locality_window_add(replay->window, address, &score);
	return replay->count++ < MOST ? 0 : -1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct locality_header header;
	static struct locality_chunk chunk;
	static struct record_replay replay;
	const size_t texts = size < TEXTS ? size : TEXTS;
	const int fd = memfd_create("locality", MFD_CLOEXEC);
	struct locality_record *record;

	if (!replay.window)
		replay.window = locality_window_new();
	memset(&header, 0, sizeof(header));
	header.magic = LOCALITY_MAGIC;
	header.text_bytes = (uint32_t)texts;
	header.taken = 1;
	chunk.used = (uint32_t)((size - texts) / sizeof(chunk.words[0]));
	if (chunk.used > LOCALITY_WORDS)
		chunk.used = LOCALITY_WORDS;
	memcpy(chunk.words, data + texts, chunk.used * sizeof(chunk.words[0]));
	if (!replay.window || fd < 0 || pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, data, texts, sizeof(header)) != (ssize_t)texts ||
	    pwrite(fd, &chunk, sizeof(chunk), sizeof(header) + LOCALITY_TEXT_BYTES) != sizeof(chunk))
		abort();
	if (locality_record_read(fd, &record) == 0) {
		const struct locality_visitor visitor = {begin, enter, refer, NULL, &replay};

		replay.record = record;
		replay.count = 0;
		(void)locality_record_visit(record, &visitor);
		locality_record_free(record);
	}
	close(fd);
	return 0;
}
