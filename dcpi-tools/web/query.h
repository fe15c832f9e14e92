/*
 * query.h - the query of a URL: what a page is asked to show
 *
 * The fields are those of all pages; their values are not checked here beyond their form, because the tool that makes
 * the report checks them and has the sentence for what is wrong. A field that is empty counts as not given, since
 * browsers send all fields of a form.
 * Thread rule: one thread per struct.
 */
#ifndef DCPI_TOOLS_WEB_QUERY_H
#define DCPI_TOOLS_WEB_QUERY_H

#include <stddef.h>

#define QUERY_SIZE_MAX  8192 /* bytes of a query */
#define QUERY_VALUE_MAX 4096 /* bytes of a value, decoded */

enum query_field {
	QUERY_FORMAT, /* html, text, json or svg */
	QUERY_REPORT, /* which of the page's reports, from 1, as text, json or svg */
	/* which samples: the tools' options of these names */
	QUERY_EPOCH,
	QUERY_SINCE,
	QUERY_UNTIL,
	QUERY_COMM,
	QUERY_CGROUP,
	QUERY_LABEL,
	QUERY_HOST,
	/* what is shown */
	QUERY_EVENT,
	QUERY_IMAGE,
	QUERY_PROCEDURE,
	QUERY_BY,
	QUERY_SORT,
	QUERY_LIMIT,
	QUERY_CUTOFF,
	QUERY_CPU,
	/* the sets of a comparison */
	QUERY_BEFORE,
	QUERY_AFTER,
	QUERY_BEFORE_SINCE,
	QUERY_BEFORE_UNTIL,
	QUERY_AFTER_SINCE,
	QUERY_AFTER_UNTIL,
	QUERY_BEFORE_EPOCH,
	QUERY_AFTER_EPOCH,
	QUERY_BEFORE_COMM,
	QUERY_AFTER_COMM,
	QUERY_BEFORE_HOST,
	QUERY_AFTER_HOST,
	QUERY_FIELDS
};

struct query {
	char *values[QUERY_FIELDS]; /* decoded, never empty; NULL: not given */
};

const char *query_field_name(enum query_field field);

/*
 * Read the `length` bytes behind the question mark. 0; -ENOMEM; -EINVAL or -E2BIG (longer than QUERY_SIZE_MAX) with a
 * sentence in `why`. *query is the caller's to finish, also after an error.
 */
int query_parse(const char *text, size_t length, struct query *query, char *why, size_t size);
void query_fini(struct query *query); /* a zeroed one is allowed */

/* A field that a link changes. */
struct query_change {
	enum query_field field;
	const char *value; /* NULL: removes the field */
};

/*
 * The URL of `path` with the fields of `query` (without its format and report), changed; fields that are in neither
 * list are left out unless `keeps` includes them: bit FIELD. The caller frees it. NULL when memory ends.
 */
char *query_url(const char *path, const struct query *query, unsigned keeps, const struct query_change *changes,
                size_t count);

#define QUERY_KEEPS(field) (1u << (field))
#define QUERY_SELECTION                                                                                                \
	(QUERY_KEEPS(QUERY_EPOCH) | QUERY_KEEPS(QUERY_SINCE) | QUERY_KEEPS(QUERY_UNTIL) | QUERY_KEEPS(QUERY_COMM) |    \
	 QUERY_KEEPS(QUERY_CGROUP) | QUERY_KEEPS(QUERY_LABEL) | QUERY_KEEPS(QUERY_HOST))
#define QUERY_ALL (~(QUERY_KEEPS(QUERY_FORMAT) | QUERY_KEEPS(QUERY_REPORT)))

#endif
