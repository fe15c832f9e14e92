#include "dcpi-tools/loc/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dcpi-tools/loc/cover.h"

#define LINES_MAX  (UINT32_C(1) << 22) /* of all loops; more are sampled */
#define WORDS_MAX  64                  /* of a reference: vectors have 8 */
#define COVERS_MAX (UINT64_C(1) << 26) /* lines of streams that are added one by one */

#define MAJORITY(all) ((all) / 2)

/* A record that is being added. */
struct adding {
	struct loc_profile *profile;
	const struct locality_record *record;
	struct locality_window *window;
	size_t *loops;                /* of the profile, by the record's, + 1; 0: not known yet */
	struct last_reference *lasts; /* by the record's loops and references */
	size_t *first_last;           /* of each of the record's loops */
	uint64_t skipped, accesses;   /* before the burst, and in it */
};

/* The last address of a reference, and whether the one before belongs to the same entry of its loop. */
struct last_reference {
	uint64_t address;
	bool is_known;
};

void
loc_profile_init(struct loc_profile *profile)
{
	*profile = (struct loc_profile){.covers_left = COVERS_MAX};
}

void
loc_profile_fini(struct loc_profile *profile)
{
	for (size_t i = 0; i < profile->loop_count; i++)
		free(profile->loops[i].references);
	for (size_t i = 0; i < profile->record_count; i++)
		locality_record_free(profile->records[i]);
	free(profile->loops);
	free(profile->records);
	line_set_fini(&profile->lines);
	free(profile->keys);
}

/* ---- loops ---- */

bool
loc_loop_is_called(const struct locality_loop *loop, const char *name)
{
	const char *colon = strrchr(name, ':');
	const char *file = loop->file;
	size_t length;

	if (strcmp(loop->function, name) == 0)
		return true;
	if (!colon || strtoul(colon + 1, NULL, 10) != loop->line)
		return false;
	length = (size_t)(colon - name);
	if (strlen(file) > length && file[strlen(file) - length - 1] == '/')
		file += strlen(file) - length;
	return strlen(file) == length && strncmp(file, name, length) == 0;
}

static bool
is_same_reference(const struct locality_reference *a, const struct locality_reference *b)
{
	return a->access == b->access && a->kind == b->kind && a->bytes == b->bytes && a->line == b->line &&
	       strcmp(a->name, b->name) == 0;
}

static bool
is_same_loop(const struct locality_loop *a, const struct locality_loop *b)
{
	if (a->line != b->line || a->depth != b->depth || a->left_out != b->left_out || a->by_entry != b->by_entry ||
	    a->count != b->count || a->is_function != b->is_function || a->header != b->header ||
	    strcmp(a->unique_name, b->unique_name) != 0 || strcmp(a->function, b->function) != 0 ||
	    strcmp(a->file, b->file) != 0 || a->build_id_size != b->build_id_size ||
	    memcmp(a->build_id, b->build_id, a->build_id_size) != 0)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (!is_same_reference(&a->references[i], &b->references[i]))
			return false;
	}
	return true;
}

static bool
is_same_program(const struct loc_profile *profile, size_t record, const struct locality_record *other)
{
	return strcmp(locality_record_program(profile->records[record]), locality_record_program(other)) == 0;
}

/* The file may have any number of bytes. */
uint32_t
loc_reference_words(const struct locality_reference *reference)
{
	const uint32_t words = locality_words(reference->bytes);

	return words < WORDS_MAX ? words : WORDS_MAX;
}

static uint32_t
bytes_of(const struct locality_reference *reference)
{
	return reference->bytes < WORDS_MAX * LOCALITY_WORD_BYTES ? reference->bytes : WORDS_MAX * LOCALITY_WORD_BYTES;
}

/* NULL: no memory. */
static struct loc_loop *
add_loop(struct loc_profile *profile, const struct locality_loop *loop)
{
	struct loc_reference *references = calloc(loop->count + 1, sizeof(*references));
	struct loc_loop *added =
		references ? ARRAY_APPEND(profile->loops, profile->loop_count, profile->loop_room) : NULL;

	if (!added) {
		free(references);
		return NULL;
	}
	*added = (struct loc_loop){.loop = loop,
	                           .record = profile->record_count - 1,
	                           .owner = (uint32_t)(profile->loop_count - 1),
	                           .references = references};
	for (uint32_t i = 0; i < loop->count; i++) {
		references[i].low = UINT64_MAX;
		added->words += loc_reference_words(&loop->references[i]);
	}
	return added;
}

/* NULL: no memory. */
static struct loc_loop *
loop_of(struct adding *adding, size_t number)
{
	struct loc_profile *profile = adding->profile;
	const struct locality_loop *loop = locality_record_loop(adding->record, number);

	for (size_t i = 0; i < profile->loop_count && !adding->loops[number]; i++) {
		if (is_same_loop(profile->loops[i].loop, loop) &&
		    is_same_program(profile, profile->loops[i].record, adding->record))
			adding->loops[number] = i + 1;
	}
	if (!adding->loops[number]) {
		if (!add_loop(profile, loop))
			return NULL;
		adding->loops[number] = profile->loop_count;
	}
	return &profile->loops[adding->loops[number] - 1];
}

/* ---- references ---- */

/* What was skipped before the burst was as what is in it. */
static void
end_burst(struct adding *adding)
{
	const struct loc_profile *profile = adding->profile;
	const double scale = adding->accesses ? 1 + (double)adding->skipped / (double)adding->accesses : 1;

	for (size_t i = 0; i < profile->loop_count; i++) {
		profile->loops[i].estimated += (double)profile->loops[i].in_burst * scale;
		profile->loops[i].in_burst = 0;
	}
	adding->accesses = 0;
}

static void
count(struct adding *adding, struct loc_loop *loop, uint64_t accesses, uint64_t words)
{
	loop->count += words;
	loop->in_burst += words;
	loop->accesses += accesses;
	adding->accesses += accesses;
}

static int
begin(void *context, uint32_t tid, uint64_t skipped, bool is_first)
{
	struct adding *adding = context;

	(void)tid;
	end_burst(adding);
	adding->skipped = is_first ? 0 : skipped;
	locality_window_begin(adding->window, is_first);
	adding->profile->skipped += is_first ? 0 : skipped;
	memset(adding->lasts, 0,
	       adding->first_last[locality_record_loop_count(adding->record)] * sizeof(*adding->lasts));
	return 0;
}

/* The stride that more than half of them have, if there is one: a majority vote (Boyer and Moore, 1981). */
static void
take_stride(struct loc_reference *reference, int64_t stride, uint64_t times)
{
	if (stride == reference->stride) {
		reference->strided += times;
	} else if (reference->strided >= times) {
		reference->strided -= times;
	} else {
		reference->stride = stride;
		reference->strided = times - reference->strided;
	}
}

/* What a loop of the nest did is known from the nest; how far apart its references are, from their steps. */
static int
enter(void *context, const struct locality_nest *nest)
{
	struct adding *adding = context;
	uint64_t entries = 1;

	for (uint32_t i = 0; i < nest->levels; i++) {
		const uint64_t times = locality_nest_times(nest, i);
		struct loc_loop *loop = nest->loops[i] == LOCALITY_NO_LOOP ? NULL : loop_of(adding, nest->loops[i]);

		if (!loop && nest->loops[i] != LOCALITY_NO_LOOP)
			return -ENOMEM;
		if (loop) {
			loop->entries += entries;
			loop->iterations += times;
			if (loop->loop->by_entry)
				count(adding, loop, times * loop->loop->count, times * loop->words);
		}
		entries = times;
	}
	for (uint32_t i = 0; i < nest->count; i++) {
		const struct locality_part *part = &nest->parts[i];
		const uint64_t iterations = nest->iterations[part->level];
		struct loc_loop *loop = loop_of(adding, part->loop);

		if (!loop)
			return -ENOMEM;
		if (part->indices)
			continue;
		/* also if it has not come to the next iteration */
		take_stride(&loop->references[part->reference], part->steps[part->level], iterations ? iterations : 1);
		if (!iterations)
			continue;
		cover_part(nest, part, bytes_of(&loop->loop->references[part->reference]), &adding->profile->lines,
		           loop->owner, &adding->profile->covers_left);
	}
	return 0;
}

/* `is_alone`: it is not one of those that were counted when the loop was entered. */
static int
add_reference(struct adding *adding, size_t number, uint32_t at, uint64_t address, bool is_alone)
{
	struct loc_loop *loop = loop_of(adding, number);
	struct last_reference *last = &adding->lasts[adding->first_last[number] + at];
	struct locality_score score = {0};
	struct loc_reference *reference;

	if (!loop)
		return -ENOMEM;
	reference = &loop->references[at];
	for (uint32_t i = 0; i < loc_reference_words(&loop->loop->references[at]); i++)
		locality_window_add(adding->window, address + (uint64_t)i * LOCALITY_WORD_BYTES, &score);
	locality_score_add(&reference->score, &score);
	locality_score_add(&loop->score, &score);
	if (is_alone)
		count(adding, loop, 1, score.references);
	if (loop->loop->references[at].kind != 's' || is_alone) /* others are covered when it is entered */
		line_set_add(&adding->profile->lines, loop->owner, address, bytes_of(&loop->loop->references[at]));
	reference->low = address < reference->low ? address : reference->low;
	reference->high = address > reference->high ? address : reference->high;
	if (last->is_known && !loop->loop->by_entry)
		take_stride(reference, (int64_t)(address - last->address), 1);
	*last = (struct last_reference){address, true};
	return 0;
}

static int
refer(void *context, size_t number, uint32_t at, uint64_t address)
{
	return add_reference(context, number, at, address, false);
}

static int
touch(void *context, size_t number, uint32_t at, uint64_t address)
{
	return add_reference(context, number, at, address, true);
}

/* ---- records ---- */

static int
make_room(struct adding *adding)
{
	const size_t count = locality_record_loop_count(adding->record);
	size_t references = 0;

	if (!adding->profile->keys) {
		adding->profile->keys = calloc(1, sizeof(struct line_keys) + LINES_MAX * sizeof(uint64_t));
		if (!adding->profile->keys)
			return -ENOMEM;
		line_set_init(&adding->profile->lines, adding->profile->keys, LINES_MAX);
	}
	adding->window = locality_window_new();
	adding->loops = calloc(count + 1, sizeof(*adding->loops));
	adding->first_last = calloc(count + 1, sizeof(*adding->first_last));
	if (!adding->window || !adding->loops || !adding->first_last)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		adding->first_last[i] = references;
		references += locality_record_loop(adding->record, i)->count;
	}
	adding->first_last[count] = references;
	adding->lasts = calloc(references + 1, sizeof(*adding->lasts));
	return adding->lasts ? 0 : -ENOMEM;
}

int
loc_profile_add_record(struct loc_profile *profile, struct locality_record *record)
{
	struct adding adding = {.profile = profile};
	const struct locality_visitor visitor = {begin, enter, refer, touch, &adding};
	struct locality_record **place;
	int err;

	place = ARRAY_APPEND(profile->records, profile->record_count, profile->record_room);
	if (!place) {
		locality_record_free(record);
		return -ENOMEM;
	}
	*place = record;
	adding.record = record;
	err = make_room(&adding);
	if (!err)
		err = locality_record_visit(record, &visitor);
	end_burst(&adding);
	profile->is_full |= locality_record_is_full(record);
	profile->texts_lost += locality_record_texts_lost(record);
	profile->damaged += err == -EPROTO;
	locality_window_free(adding.window);
	free(adding.loops);
	free(adding.first_last);
	free(adding.lasts);
	return err == -EPROTO ? 0 : err;
}

int
loc_profile_add(struct loc_profile *profile, int fd)
{
	struct locality_record *record;
	const int err = locality_record_read(fd, &record);

	return err ? err : loc_profile_add_record(profile, record);
}

static int
compare_loops(const void *a, const void *b)
{
	const struct loc_loop *one = a, *other = b;

	return (one->count < other->count) - (one->count > other->count);
}

int
loc_profile_count_lines(const struct loc_profile *profile, const uint32_t *groups, size_t group_count, uint64_t *lines)
{
	const struct line_keys *kept = profile->keys;
	uint64_t *keys;

	if (!kept)
		return 0;
	keys = malloc(kept->count * sizeof(*keys) + 1);
	if (!keys)
		return -ENOMEM;
	memcpy(keys, kept->keys, kept->count * sizeof(*keys));
	line_keys_count(keys, kept->count, kept->halvings, groups, profile->loop_count, group_count, lines);
	free(keys);
	return 0;
}

static int
count_lines(struct loc_profile *profile)
{
	uint32_t *groups = calloc(profile->loop_count + 1, sizeof(*groups));
	uint64_t *lines = calloc(profile->loop_count + 1, sizeof(*lines));
	int err = groups && lines ? 0 : -ENOMEM;

	for (size_t i = 0; i < profile->loop_count && !err; i++)
		groups[i] = (uint32_t)i;
	if (!err)
		err = loc_profile_count_lines(profile, groups, profile->loop_count, lines);
	for (size_t i = 0; i < profile->loop_count && !err; i++)
		profile->loops[i].lines = lines[profile->loops[i].owner];
	free(groups);
	free(lines);
	return err;
}

/* How often the loop ran: by its references, where it is not known when it is entered; those may not come each time. */
static double
runs_of(const struct loc_loop *loop)
{
	if (loop->loop->by_entry)
		return (double)loop->iterations;
	return loop->loop->count ? (double)loop->count / loop->loop->count : 0;
}

/* The program's scores: of its loops, by how often each refers. */
int
loc_profile_finish(struct loc_profile *profile)
{
	double judged = 0;

	profile->estimated = profile->left_out = 0;
	profile->spatial = profile->temporal = 0;
	for (size_t i = 0; i < profile->loop_count; i++) {
		const struct loc_loop *loop = &profile->loops[i];

		profile->count += loop->count;
		profile->accesses += loop->accesses;
		profile->left_out += loop->loop->left_out * runs_of(loop);
		profile->function_count += loop->loop->is_function;
		profile->estimated += loop->estimated;
		profile->spatial += locality_spatial(&loop->score) * loop->estimated;
		if (loop->score.judged) {
			judged += loop->estimated;
			profile->temporal += locality_temporal(&loop->score) * loop->estimated;
		}
	}
	if (profile->estimated > 0)
		profile->spatial /= profile->estimated;
	if (profile->accesses)
		profile->skipped =
			(uint64_t)((double)profile->skipped * ((double)profile->count / (double)profile->accesses));
	profile->temporal = judged > 0 ? profile->temporal / judged : -1;
	if (profile->loop_count > 1)
		qsort(profile->loops, profile->loop_count, sizeof(*profile->loops), compare_loops);
	return count_lines(profile);
}

enum stride_class
loc_stride_class(const struct locality_reference *text, const struct loc_reference *reference)
{
	const int64_t bytes = text->bytes;

	if (text->kind == 'g')
		return STRIDE_INDEX;
	if (text->kind == 'i' &&
	    reference->strided <= MAJORITY(reference->score.references / loc_reference_words(text)) / 2)
		return STRIDE_IRREGULAR;
	if (reference->stride == 0)
		return STRIDE_ITSELF;
	return reference->stride == bytes || reference->stride == -bytes ? STRIDE_NEXT : STRIDE_FAR;
}

double
loc_profile_share(const struct loc_profile *profile, const struct loc_loop *loop)
{
	return profile->count ? (double)loop->count / (double)profile->count : 0;
}

double
loc_profile_described(const struct loc_profile *profile)
{
	const double count = (double)profile->count;

	return count > 0 ? count / (count + profile->left_out) : 1;
}
