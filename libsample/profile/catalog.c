#include "profile/catalog.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "profile/codec.h"
#include "profile/ids.h"
#include "profile/profile_internal.h"

#define NAME_SIZE 128 /* what is shown of a name */
#define LIST_MAX  8   /* things that a sentence lists before "..." */
#define SEEN_SIZE 256 /* bytes kept of a value for the sentence */

/* ---- sentences that say why nothing was selected ---- */

/* Append to the sentence in `why`; what does not fit is cut. */
static __attribute__((format(printf, 3, 4))) void
why_append(char *why, size_t size, const char *format, ...)
{
	size_t used = strnlen(why, size);
	va_list arguments;

	if (used >= size)
		return;
	va_start(arguments, format);
	vsnprintf(why + used, size - used, format, arguments);
	va_end(arguments);
}

/* Append a name from outside, escaped. */
static void
why_append_name(char *why, size_t size, const char *name)
{
	char shown[NAME_SIZE];

	why_append(why, size, "%s", escape_text(name, shown, sizeof(shown)));
}

/* Some values that did not match, for the sentence. */
struct unmatched {
	char names[LIST_MAX][SEEN_SIZE];
	size_t count;
	bool more;
};

static void
unmatched_add(struct unmatched *seen, const char *name)
{
	for (size_t i = 0; i < seen->count; i++)
		if (strncmp(seen->names[i], name, SEEN_SIZE - 1) == 0)
			return;
	seen->more = seen->count == LIST_MAX;
	if (seen->more)
		return;
	memcpy(seen->names[seen->count], name, strnlen(name, SEEN_SIZE - 1));
	seen->count++;
}

/* ---- epochs ---- */

struct epoch_name {
	uint32_t id;     /* first, for array_compare_u32() */
	bool is_counted; /* by dcpix or dcpiemu, of one program; or without samples: dcpimem, dcpiloc */
	bool is_imported;
	bool continues; /* the one before */
	char label[EPOCH_LABEL_SIZE];
};

struct epoch_names {
	struct epoch_name *names; /* ascending by id */
	size_t count, capacity;
	struct unmatched hosts;
};

static int
names_read(const struct store *store, MDB_txn *txn, const char *host, struct epoch_names *list)
{
	struct epoch_name *name;
	struct store_walk walk;
	struct epoch epoch;
	int result;

	store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	while ((result = epoch_walk_next(&walk, &epoch)) > 0) {
		if (host && fnmatch(host, epoch.host, 0) != 0) {
			unmatched_add(&list->hosts, epoch.host);
			continue;
		}
		if (list->count > 0 && epoch.id <= list->names[list->count - 1].id) {
			result = -DCPI_EDAMAGED; /* epochs are searched by their ids, which a damaged page can mix up */
			break;
		}
		name = ARRAY_APPEND(list->names, list->count, list->capacity);
		if (!name) {
			result = -ENOMEM;
			break;
		}
		name->id = epoch.id;
		name->is_counted = epoch.event_count == 0 || epoch.events[0].encoding.type >= EVENT_TYPE_EMULATED;
		name->is_imported = epoch.is_imported;
		name->continues = epoch.continues;
		memcpy(name->label, epoch.label, sizeof(epoch.label));
	}
	store_walk_end(&walk);
	return result;
}

static void
list_epochs(const struct epoch_names *list, char *why, size_t size)
{
	size_t first = list->count > LIST_MAX ? list->count - LIST_MAX : 0;

	why_append(why, size, "; there %s %s", list->count == 1 ? "is" : "are", first > 0 ? "..., " : "");
	for (size_t i = first; i < list->count; i++) {
		why_append(why, size, "%s%u", i > first ? ", " : "", list->names[i].id);
		if (!list->names[i].label[0])
			continue;
		why_append(why, size, " (");
		why_append_name(why, size, list->names[i].label);
		why_append(why, size, ")");
	}
}

static void
list_hosts(const struct unmatched *hosts, const char *host, char *why, size_t size)
{
	why_append(why, size, "no epoch is of a host that matches '");
	why_append_name(why, size, host);
	why_append(why, size, "'; there %s ", hosts->count == 1 && !hosts->more ? "is" : "are");
	for (size_t i = 0; i < hosts->count; i++) {
		why_append(why, size, "%s", i > 0 ? ", " : "");
		why_append_name(why, size, hosts->names[i][0] ? hosts->names[i] : "one without a name");
	}
	why_append(why, size, "%s", hosts->more ? ", ..." : "");
}

/* "12" in all of `text`; false for anything else and for what does not fit. */
static bool
parse_number(const char *text, uint32_t *number)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Is `expression` "latest" or "latest-N"? */
static bool
parse_latest(const char *expression, uint32_t *back)
{
	const size_t size = strlen("latest");

	*back = 0;
	if (strncmp(expression, "latest", size) != 0)
		return false;
	return !expression[size] || (expression[size] == '-' && parse_number(expression + size + 1, back));
}

static size_t
find_number(const struct epoch_names *list, uint32_t number, uint32_t *ids)
{
	ids[0] = number;
	return list->count > 0 && bsearch(&number, list->names, list->count, sizeof(*list->names), array_compare_u32);
}

/* "latest" prefers sampled epochs to imported ones, and these to those of dcpix and dcpiemu. */
static unsigned
epoch_rank(const struct epoch_name *name)
{
	return name->is_counted ? 0 : name->is_imported ? 1 : 2;
}

/*
 * The epoch that is `back` epochs before the newest, with those that it continues, ascending by id. Only epochs of the
 * best rank count.
 */
static size_t
find_latest(const struct epoch_names *list, uint32_t back, uint32_t *ids)
{
	size_t count = 0, kept = 0;
	unsigned best = 0;

	for (size_t i = 0; i < list->count; i++)
		best = epoch_rank(&list->names[i]) > best ? epoch_rank(&list->names[i]) : best;
	for (size_t i = list->count; i > 0; i--) {
		const struct epoch_name *name = &list->names[i - 1];

		if (epoch_rank(name) < best)
			continue;
		if (back == 0)
			ids[count++] = name->id;
		if (!name->continues && back-- == 0)
			break;
	}
	for (; kept < count / 2; kept++) {
		const uint32_t id = ids[kept];

		ids[kept] = ids[count - 1 - kept];
		ids[count - 1 - kept] = id;
	}
	return count;
}

static size_t
find_label(const struct epoch_names *list, const char *label, uint32_t *ids)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!label || strcmp(list->names[i].label, label) == 0)
			ids[count++] = list->names[i].id;
	return count;
}

static int
choose_epochs(const struct epoch_names *list, const char *expression, uint32_t *ids, size_t *count, char *why,
              size_t size)
{
	uint32_t number, back;

	if (list->count == 0) {
		why_append(why, size, "the database holds no epoch yet");
		return -DCPI_ENOSELECTION;
	}
	if (strcmp(expression, "all") == 0)
		*count = find_label(list, NULL, ids);
	else if (parse_latest(expression, &back))
		*count = find_latest(list, back, ids);
	else if (parse_number(expression, &number))
		*count = find_number(list, number, ids);
	if (*count == 0) /* a label may look like a number */
		*count = find_label(list, expression, ids);
	if (*count > 0)
		return 0;
	why_append(why, size, "there is no epoch ");
	why_append_name(why, size, expression);
	list_epochs(list, why, size);
	return -DCPI_ENOSELECTION;
}

/* "latest-" without a number is taken for a mistake, not for a label. */
static bool
is_expression(const char *expression)
{
	uint32_t back;

	return *expression &&
	       (strncmp(expression, "latest-", strlen("latest-")) != 0 || parse_latest(expression, &back));
}

/*
 * The epochs that `expression` names among those whose host matches the pattern `host` (NULL: any), ascending, for the
 * caller to free (also after an error). 0; -EINVAL for what is no expression; -DCPI_ENOSELECTION when there is no such
 * epoch; both with a sentence in `why`.
 */
static int
choose_by_expression(const struct store *store, MDB_txn *txn, const char *expression, const char *host, uint32_t **ids,
                     size_t *count, char *why, size_t size)
{
	struct epoch_names list = {0};
	int err;

	*count = 0;
	*ids = NULL;
	if (!is_expression(expression)) {
		why_append(why, size, "an epoch is latest, latest-N, all, a number or a label, not '");
		why_append_name(why, size, expression);
		why_append(why, size, "'");
		return -EINVAL;
	}
	err = names_read(store, txn, host, &list);
	if (!err && list.count == 0 && list.hosts.count > 0) {
		list_hosts(&list.hosts, host, why, size);
		err = -DCPI_ENOSELECTION;
	}
	if (!err) {
		*ids = calloc(list.count ? list.count : 1, sizeof(**ids));
		err = *ids ? choose_epochs(&list, expression, *ids, count, why, size) : -ENOMEM;
	}
	free(list.names);
	return err;
}

/* ---- slices ---- */

/* The first fields of an encoded slice. */
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
	read_format_until(&reader, FORMAT_2); /* all formats begin with these fields */
	head->epoch = read_varint_u32(&reader);
	head->start_ns = read_varint(&reader);
	head->end_ns = add_saturating(head->start_ns, read_varint(&reader));
	return reader.failed ? -DCPI_EDAMAGED : 0;
}

/* A slice of no length counts as its start. */
static bool
is_in_time(const struct slice_head *head, const struct selection_request *request)
{
	if (request->until_ns && head->start_ns >= request->until_ns)
		return false;
	return head->end_ns > request->since_ns || head->start_ns >= request->since_ns;
}

struct scope_choice {
	const struct selection_request *request;
	struct scope *scope;
	size_t capacity;
	uint64_t start_ns,
		end_ns; /* covered by the slices of the chosen epochs, for the sentence when none is in time */
};

static int
add_slice(struct scope_choice *choice, uint32_t id, const struct slice_head *head)
{
	struct scope *scope = choice->scope;
	struct scope_slice *slice;

	if (!bsearch(&head->epoch, scope->epochs, scope->epoch_count, sizeof(*scope->epochs), array_compare_u32))
		return 0;
	if (head->start_ns < choice->start_ns)
		choice->start_ns = head->start_ns;
	if (head->end_ns > choice->end_ns)
		choice->end_ns = head->end_ns;
	if (!is_in_time(head, choice->request))
		return 0;
	slice = ARRAY_APPEND(scope->slices, scope->slice_count, choice->capacity);
	if (!slice)
		return -ENOMEM;
	*slice = (struct scope_slice){.id = id, .epoch = head->epoch};
	return 0;
}

static int
choose_slices(const struct store *store, MDB_txn *txn, struct scope_choice *choice)
{
	struct store_walk walk;
	struct slice_head head;
	uint32_t id;
	int result, err = 0;

	store_walk_begin(store, txn, TABLE_SLICES, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &id);
		if (!err)
			err = slice_head_decode(&walk.value, &head);
		if (!err)
			err = add_slice(choice, id, &head);
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
explain_no_slice(const struct scope_choice *choice, char *why, size_t size)
{
	if (choice->start_ns > choice->end_ns) {
		why_append(why, size, "no samples have been written yet in ");
		if (choice->scope->epoch_count == 1)
			why_append(why, size, "epoch %u", choice->scope->epochs[0]);
		else
			why_append(why, size, "the selected epochs");
		return -DCPI_ENOSELECTION;
	}
	why_append(why, size, "no samples in that time; there are some from ");
	append_time(why, size, choice->start_ns);
	why_append(why, size, " to ");
	append_time(why, size, choice->end_ns);
	return -DCPI_ENOSELECTION;
}

int
scope_choose(const struct store *store, MDB_txn *txn, const struct selection_request *request, struct scope *scope,
             char *why, size_t size)
{
	struct scope_choice choice = {.request = request, .scope = scope, .start_ns = UINT64_MAX};
	const char *epoch = request->epoch;
	int err;

	memset(scope, 0, sizeof(*scope));
	if (!epoch)
		epoch = request->since_ns || request->until_ns || request->label ? "all" : "latest";
	err = choose_by_expression(store, txn, epoch, request->host, &scope->epochs, &scope->epoch_count, why, size);
	if (err)
		return err;
	err = choose_slices(store, txn, &choice);
	if (err)
		return err;
	if (scope->slice_count == 0)
		return explain_no_slice(&choice, why, size);
	keep_epochs_with_slices(scope);
	return 0;
}

void
scope_fini(struct scope *scope)
{
	free(scope->epochs);
	free(scope->slices);
	memset(scope, 0, sizeof(*scope));
}

/* ---- contexts ---- */

/* A pattern with wildcards by fnmatch(3); a path matches itself and everything below it. */
static bool
cgroup_matches(const char *pattern, const char *cgroup)
{
	size_t size;

	if (strpbrk(pattern, "*?[\\"))
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
read_contexts(const struct store *store, MDB_txn *txn, const struct selection_request *request,
              struct context_filter *filter, struct unmatched *seen)
{
	struct context_record record;
	struct store_walk walk;
	size_t capacity = 0;
	uint32_t number, *added;
	int result, err = 0;

	store_walk_begin(store, txn, TABLE_CONTEXTS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &number);
		if (!err)
			err = context_record_decode(walk.value.mv_data, walk.value.mv_size, &record);
		if (err)
			break;
		if (!matches(request, &record.context)) {
			unmatched_add(seen, first_asked(request, &record.context));
			continue;
		}
		added = ARRAY_APPEND(filter->numbers, filter->count, capacity);
		if (!added) {
			err = -ENOMEM;
			break;
		}
		*added = number;
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

	why_append(why, size, "no %s matches ", kind);
	why_append_name(why, size, pattern);
	if ((request->comm != NULL) + (request->cgroup != NULL) + (request->label != NULL) > 1)
		why_append(why, size, " together with the other patterns");
	for (size_t i = 0; i < seen->count; i++) {
		if (!seen->names[i][0])
			continue;
		why_append(why, size, listed++ ? ", " : "; there are ");
		why_append_name(why, size, seen->names[i]);
	}
	if (listed == 0)
		why_append(why, size, "; there is none");
	else if (seen->more)
		why_append(why, size, ", ...");
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
	return filter->all || (filter->count > 0 && bsearch(&number, filter->numbers, filter->count,
	                                                    sizeof(*filter->numbers), array_compare_u32));
}

void
context_filter_fini(struct context_filter *filter)
{
	free(filter->numbers);
	memset(filter, 0, sizeof(*filter));
}

/* ---- for tools ---- */

struct label_list {
	char **texts;
	size_t count, capacity;
};

static int
labels_read(const struct store *store, MDB_txn *txn, const struct context_filter *filter, struct label_list *list)
{
	struct context_record record;
	struct store_walk walk;
	uint32_t number;
	char **added;
	int result, err = 0;

	store_walk_begin(store, txn, TABLE_CONTEXTS, &walk);
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &number);
		if (!err && !context_filter_has(filter, number))
			continue;
		if (!err)
			err = context_record_decode(walk.value.mv_data, walk.value.mv_size, &record);
		if (err)
			break;
		if (!record.label[0] || (list->count > 0 && strcmp(list->texts[list->count - 1], record.label) == 0))
			continue;
		added = ARRAY_APPEND(list->texts, list->count, list->capacity);
		if (!added || !(*added = strdup(record.label))) {
			err = -ENOMEM;
			break;
		}
	}
	store_walk_end(&walk);
	return err ? err : result;
}

static int
compare_labels(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	int order = strverscmp(a, b);

	return order ? order : strcmp(a, b);
}

static void
labels_sort(struct label_list *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->texts, list->count, sizeof(char *), compare_labels);
	for (size_t i = 1; i < list->count; i++) {
		if (strcmp(list->texts[kept], list->texts[i]) != 0)
			list->texts[++kept] = list->texts[i];
		else
			free(list->texts[i]);
	}
	list->count = kept + 1;
}

int
catalog_labels(struct profile *profile, const struct selection_request *request, char ***labels, size_t *count,
               char *why, size_t size)
{
	struct context_filter filter;
	struct label_list found = {0};
	MDB_txn *txn;
	int err;

	if (size > 0)
		why[0] = '\0';
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = context_filter_init(&profile->store, txn, request, &filter, why, size);
	if (!err)
		err = labels_read(&profile->store, txn, &filter, &found);
	context_filter_fini(&filter);
	err = store_leave(&profile->store, txn, err);
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0';
	if (err) {
		catalog_free_labels(found.texts, found.count);
		return err;
	}
	labels_sort(&found);
	*labels = found.texts;
	*count = found.count;
	return 0;
}

void
catalog_free_labels(char **labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(labels[i]);
	free(labels);
}

int
catalog_choose_epochs(struct profile *profile, const struct selection_request *request, uint32_t **ids, size_t *count,
                      char *why, size_t size)
{
	MDB_txn *txn;
	int err;

	if (size > 0)
		why[0] = '\0';
	*ids = NULL;
	err = store_begin(&profile->store, false, &txn);
	if (err)
		return err;
	err = choose_by_expression(&profile->store, txn, request->epoch, request->host, ids, count, why, size);
	err = store_leave(&profile->store, txn, err);
	if (err == -DCPI_EVERSION && size > 0)
		why[0] = '\0';
	if (err) {
		free(*ids);
		*ids = NULL;
	}
	return err;
}

int
catalog_read_epochs(struct profile *profile, struct epoch_summary **epochs, size_t *count)
{
	size_t capacity = 0;
	struct store_walk walk;
	struct epoch epoch;
	MDB_txn *txn;
	int result;

	*epochs = NULL;
	*count = 0;
	result = store_begin(&profile->store, false, &txn);
	if (result)
		return result;
	store_walk_begin(&profile->store, txn, TABLE_EPOCHS, &walk);
	while ((result = epoch_walk_next(&walk, &epoch)) > 0) {
		struct epoch_summary *added = ARRAY_APPEND(*epochs, *count, capacity);

		if (!added) {
			result = -ENOMEM;
			break;
		}
		*added = (struct epoch_summary){.id = epoch.id,
		                                .is_kept = epoch.is_kept,
		                                .is_imported = epoch.is_imported,
		                                .start_ns = epoch.start_ns,
		                                .end_ns = epoch.end_ns};
		memcpy(added->label, epoch.label, sizeof(added->label));
		memcpy(added->host, epoch.host, sizeof(added->host));
	}
	store_walk_end(&walk);
	result = store_leave(&profile->store, txn, result);
	if (result < 0) {
		free(*epochs);
		*epochs = NULL;
	}
	return result;
}
