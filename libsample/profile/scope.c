#include "profile/scope.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/codec.h"
#include "profile/epoch_choice.h"
#include "profile/why.h"

#define SECOND_NS UINT64_C(1000000000)

/* What the choice needs of a slice: the first fields of what slice_encode() writes. */
struct slice_head {
	uint32_t epoch;
	uint64_t start_ns;
	uint64_t end_ns;
};

static int
slice_head_decode(const MDB_val *value, struct slice_head *head)
{
	struct byte_reader reader;

	reader_init(&reader, value->mv_data, value->mv_size);
	read_format_until(&reader, FORMAT_2); /* these fields are in every format the same */
	head->epoch = read_varint_u32(&reader);
	head->start_ns = read_varint(&reader);
	head->end_ns = add_saturating(head->start_ns, read_varint(&reader));
	return reader.failed ? -DCPI_EDAMAGED : 0;
}

static int
compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* A slice without length counts as the moment it began. */
static bool
is_in_time(const struct slice_head *head, const struct selection_request *request)
{
	if (request->until_ns && head->start_ns >= request->until_ns)
		return false;
	return head->end_ns > request->since_ns || head->start_ns >= request->since_ns;
}

/* What the slices of the chosen epochs cover, for the sentence when none is in time. */
struct covered {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct scoping {
	const struct selection_request *request;
	struct scope *scope;
	size_t capacity;
	struct covered covered;
};

static int
take_slice(struct scoping *scoping, uint32_t id, const struct slice_head *head)
{
	struct scope *scope = scoping->scope;
	struct covered *covered = &scoping->covered;
	struct scope_slice *slices;

	if (!bsearch(&head->epoch, scope->epochs, scope->epoch_count, sizeof(*scope->epochs), compare_numbers))
		return 0;
	if (head->start_ns < covered->start_ns)
		covered->start_ns = head->start_ns;
	if (head->end_ns > covered->end_ns)
		covered->end_ns = head->end_ns;
	if (!is_in_time(head, scoping->request))
		return 0;
	slices = array_grow(scope->slices, &scoping->capacity, scope->slice_count + 1, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	scope->slices = slices;
	slices[scope->slice_count++] = (struct scope_slice){.id = id, .epoch = head->epoch};
	return 0;
}

static int
choose_slices(const struct store *store, MDB_txn *txn, struct scoping *scoping)
{
	struct store_walk walk;
	struct slice_head head;
	uint32_t id;
	int result, err;

	err = store_walk_begin(store, txn, TABLE_SLICES, &walk);
	if (err)
		return err;
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &id);
		if (!err)
			err = slice_head_decode(&walk.value, &head);
		if (!err)
			err = take_slice(scoping, id, &head);
		if (err)
			break;
	}
	store_walk_end(&walk);
	return err ? err : result;
}

static void
keep_epochs_with_slices(struct scope *scope)
{
	size_t kept = 0;

	for (size_t i = 0; i < scope->epoch_count; i++) {
		for (size_t j = 0; j < scope->slice_count; j++) {
			if (scope->slices[j].epoch != scope->epochs[i])
				continue;
			scope->epochs[kept++] = scope->epochs[i];
			break;
		}
	}
	scope->epoch_count = kept;
}

static void
append_time(char *why, size_t size, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	char text[64];
	struct tm tm;

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &tm) > 0)
		why_append(why, size, "%s", text);
}

static int
say_nothing_there(const struct scoping *scoping, char *why, size_t size)
{
	if (scoping->covered.start_ns > scoping->covered.end_ns) {
		why_append(why, size, "no samples have been written yet in ");
		if (scoping->scope->epoch_count == 1)
			why_append(why, size, "epoch %u", scoping->scope->epochs[0]);
		else
			why_append(why, size, "the selected epochs");
		return -DCPI_ENOSELECTION;
	}
	why_append(why, size, "no samples in that time; there are some from ");
	append_time(why, size, scoping->covered.start_ns);
	why_append(why, size, " to ");
	append_time(why, size, scoping->covered.end_ns);
	return -DCPI_ENOSELECTION;
}

int
scope_choose(const struct store *store, MDB_txn *txn, const struct selection_request *request, struct scope *scope,
             char *why, size_t size)
{
	struct scoping scoping = {.request = request, .scope = scope, .covered = {.start_ns = UINT64_MAX}};
	const char *epoch = request->epoch;
	int err;

	memset(scope, 0, sizeof(*scope));
	if (!epoch)
		epoch = request->since_ns || request->until_ns || request->label ? "all" : "latest";
	err = epoch_choose(store, txn, epoch, request->host, &scope->epochs, &scope->epoch_count, why, size);
	if (!err)
		err = choose_slices(store, txn, &scoping);
	if (!err && scope->slice_count == 0)
		err = say_nothing_there(&scoping, why, size);
	if (!err)
		keep_epochs_with_slices(scope);
	return err;
}

void
scope_fini(struct scope *scope)
{
	free(scope->epochs);
	free(scope->slices);
	memset(scope, 0, sizeof(*scope));
}
