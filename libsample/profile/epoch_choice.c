#include "profile/epoch_choice.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/epoch.h"
#include "profile/why.h"

struct epoch_name {
	uint32_t id;
	bool is_counted; /* by dcpix or dcpiemu, of one program */
	bool is_imported;
	bool continues; /* the one before */
	char label[EPOCH_LABEL_SIZE];
};

struct epoch_names {
	struct epoch_name *names; /* ascending by id */
	size_t count, capacity;
	char hosts[WHY_LIST_MAX][EPOCH_TEXT_SIZE]; /* some of those that did not match */
	size_t host_count;
	bool more_hosts;
};

static int
names_add(struct epoch_names *list, const struct epoch *epoch)
{
	struct epoch_name *names = array_grow(list->names, &list->capacity, list->count + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	list->names = names;
	names[list->count].id = epoch->id;
	names[list->count].is_counted = epoch->event_count > 0 && epoch->events[0].encoding.type >= EVENT_TYPE_EMULATED;
	names[list->count].is_imported = epoch->is_imported;
	names[list->count].continues = epoch->continues;
	memcpy(names[list->count].label, epoch->label, sizeof(epoch->label));
	list->count++;
	return 0;
}

static void
note_host(struct epoch_names *list, const char *host)
{
	for (size_t i = 0; i < list->host_count; i++)
		if (strcmp(list->hosts[i], host) == 0)
			return;
	list->more_hosts = list->host_count == WHY_LIST_MAX;
	if (!list->more_hosts)
		memcpy(list->hosts[list->host_count++], host, EPOCH_TEXT_SIZE);
}

static int
take_epoch(struct epoch_names *list, const struct epoch *epoch, const char *host)
{
	if (!host || fnmatch(host, epoch->host, 0) == 0)
		return names_add(list, epoch);
	note_host(list, epoch->host);
	return 0;
}

static int
names_read(const struct store *store, MDB_txn *txn, const char *host, struct epoch_names *list)
{
	struct store_walk walk;
	struct epoch epoch;
	uint32_t id;
	int result, err;

	err = store_walk_begin(store, txn, TABLE_EPOCHS, &walk);
	if (err)
		return err;
	while ((result = store_walk_next(&walk)) > 0) {
		err = store_key_number(&walk.key, &id);
		if (!err)
			err = epoch_decode(id, walk.value.mv_data, walk.value.mv_size, &epoch);
		if (!err && !epoch.is_incoming)
			err = take_epoch(list, &epoch, host);
		if (err)
			break;
	}
	store_walk_end(&walk);
	return err ? err : result;
}

static void
list_epochs(const struct epoch_names *list, char *why, size_t size)
{
	size_t first = list->count > WHY_LIST_MAX ? list->count - WHY_LIST_MAX : 0;

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
list_hosts(const struct epoch_names *list, const char *host, char *why, size_t size)
{
	why_append(why, size, "no epoch is of a host that matches '");
	why_append_name(why, size, host);
	why_append(why, size, "'; there %s ", list->host_count == 1 && !list->more_hosts ? "is" : "are");
	for (size_t i = 0; i < list->host_count; i++) {
		why_append(why, size, "%s", i > 0 ? ", " : "");
		why_append_name(why, size, list->hosts[i][0] ? list->hosts[i] : "one without a name");
	}
	why_append(why, size, "%s", list->more_hosts ? ", ..." : "");
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
	for (size_t i = 0; i < list->count; i++) {
		if (list->names[i].id != number)
			continue;
		ids[0] = number;
		return 1;
	}
	return 0;
}

/* Who asks for the latest samples does not want them hidden by what somebody counted or imported meanwhile. */
static unsigned
rank(const struct epoch_name *name)
{
	return name->is_counted ? 0 : name->is_imported ? 1 : 2;
}

/*
 * The one `back` epochs before the newest, with those that it continues. Those that dcpix counted, dcpiemu emulated or
 * dcpimport imported are passed by, unless there are no others. In the order of ids.
 */
static size_t
find_latest(const struct epoch_names *list, uint32_t back, uint32_t *ids)
{
	size_t count = 0, kept = 0;
	unsigned best = 0;

	for (size_t i = 0; i < list->count; i++)
		best = rank(&list->names[i]) > best ? rank(&list->names[i]) : best;
	for (size_t i = list->count; i > 0; i--) {
		const struct epoch_name *name = &list->names[i - 1];

		if (rank(name) < best)
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
choose(const struct epoch_names *list, const char *expression, uint32_t *ids, size_t *count, char *why, size_t size)
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
	if (*count == 0) /* a label may be a number, too */
		*count = find_label(list, expression, ids);
	if (*count > 0)
		return 0;
	why_append(why, size, "there is no epoch ");
	why_append_name(why, size, expression);
	list_epochs(list, why, size);
	return -DCPI_ENOSELECTION;
}

/* "latest" and something that is no number is a slip rather than a label. */
static bool
is_expression(const char *expression)
{
	uint32_t back;

	return *expression &&
	       (strncmp(expression, "latest-", strlen("latest-")) != 0 || parse_latest(expression, &back));
}

int
epoch_choose(const struct store *store, MDB_txn *txn, const char *expression, const char *host, uint32_t **ids,
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
	if (!err && list.count == 0 && list.host_count > 0) {
		list_hosts(&list, host, why, size);
		err = -DCPI_ENOSELECTION;
	}
	if (!err) {
		*ids = calloc(list.count ? list.count : 1, sizeof(**ids));
		err = *ids ? choose(&list, expression, *ids, count, why, size) : -ENOMEM;
	}
	free(list.names);
	return err;
}
