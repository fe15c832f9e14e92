#include "profile/context_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/records.h"
#include "profile/selection_error.h"

#define SEEN_SIZE 256 /* bytes kept of a value for the sentence */

/* Some values that did not match, for the sentence. */
struct unmatched {
	char names[SELECTION_ERROR_LIST_MAX][SEEN_SIZE];
	size_t count;
	bool more;
};

static void
unmatched_add(struct unmatched *seen, const char *name)
{
	for (size_t i = 0; i < seen->count; i++)
		if (strncmp(seen->names[i], name, SEEN_SIZE - 1) == 0)
			return;
	seen->more = seen->count == SELECTION_ERROR_LIST_MAX;
	if (seen->more)
		return;
	memcpy(seen->names[seen->count], name, strnlen(name, SEEN_SIZE - 1));
	seen->count++;
}

static bool
has_wildcard(const char *pattern)
{
	return strpbrk(pattern, "*?[\\") != NULL;
}

/* A pattern with wildcards by fnmatch(3); a path matches itself and everything below it. */
static bool
cgroup_matches(const char *pattern, const char *cgroup)
{
	size_t size;

	if (has_wildcard(pattern))
		return fnmatch(pattern, cgroup, 0) == 0;
	if (cgroup[0] != '/')
		return strcmp(pattern, cgroup) == 0;
	pattern += pattern[0] == '/';
	cgroup++;
	for (size = strlen(pattern); size > 0 && pattern[size - 1] == '/';)
		size--;
	if (strncmp(pattern, cgroup, size) != 0)
		return false;
	return size == 0 || cgroup[size] == '\0' || cgroup[size] == '/';
}

static bool
matches(const struct selection_request *request, const struct context *context)
{
	if (request->comm && fnmatch(request->comm, context->comm, 0) != 0)
		return false;
	if (request->cgroup && !cgroup_matches(request->cgroup, context->cgroup))
		return false;
	return !request->label || fnmatch(request->label, context->label, 0) == 0;
}

static const char *
first_asked(const struct selection_request *request, const struct context *context)
{
	if (request->comm)
		return context->comm;
	return request->cgroup ? context->cgroup : context->label;
}

static int
append_context(struct context_filter *filter, size_t *capacity, uint32_t number)
{
	uint32_t *numbers = array_grow(filter->numbers, capacity, filter->count + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	filter->numbers = numbers;
	numbers[filter->count++] = number;
	return 0;
}

static int
read_contexts(const struct store *store, MDB_txn *txn, const struct selection_request *request,
              struct context_filter *filter, struct unmatched *seen)
{
	struct context_record record;
	struct store_walk walk;
	size_t capacity = 0;
	uint32_t number;
	int result, err;

	err = store_walk_begin(store, txn, TABLE_CONTEXTS, &walk);
	if (err)
		return err;
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &number);
		if (!err)
			err = context_record_decode(walk.value.mv_data, walk.value.mv_size, &record);
		if (err)
			break;
		if (matches(request, &record.context))
			err = append_context(filter, &capacity, number);
		else
			unmatched_add(seen, first_asked(request, &record.context));
		if (err)
			break;
	}
	store_walk_end(&walk);
	return err ? err : result;
}

static int
explain_no_match(const struct selection_request *request, const struct unmatched *seen, char *why, size_t size)
{
	const char *kind = request->comm ? "command" : request->cgroup ? "cgroup" : "label";
	const char *pattern = request->comm ? request->comm : request->cgroup ? request->cgroup : request->label;
	size_t listed = 0;

	selection_error_append(why, size, "no %s matches ", kind);
	selection_error_append_name(why, size, pattern);
	if ((request->comm != NULL) + (request->cgroup != NULL) + (request->label != NULL) > 1)
		selection_error_append(why, size, " together with the other patterns");
	for (size_t i = 0; i < seen->count; i++) {
		if (!seen->names[i][0])
			continue;
		selection_error_append(why, size, listed++ ? ", " : "; there are ");
		selection_error_append_name(why, size, seen->names[i]);
	}
	if (listed == 0)
		selection_error_append(why, size, "; there is none");
	else if (seen->more)
		selection_error_append(why, size, ", ...");
	return -DCPI_ENOSELECTION;
}

int
context_filter_init(const struct store *store, MDB_txn *txn, const struct selection_request *request,
                    struct context_filter *filter, char *why, size_t size)
{
	struct unmatched *seen;
	int err;

	memset(filter, 0, sizeof(*filter));
	filter->all = !request->comm && !request->cgroup && !request->label;
	if (filter->all)
		return 0;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	err = read_contexts(store, txn, request, filter, seen);
	if (!err && filter->count == 0)
		err = explain_no_match(request, seen, why, size);
	free(seen);
	return err;
}

bool
context_filter_has(const struct context_filter *filter, uint32_t number)
{
	size_t at;

	if (filter->all)
		return true;
	at = array_lower_bound(filter->numbers, filter->count, sizeof(*filter->numbers), 0, false, number);
	return at < filter->count && filter->numbers[at] == number;
}

void
context_filter_fini(struct context_filter *filter)
{
	free(filter->numbers);
	memset(filter, 0, sizeof(*filter));
}
