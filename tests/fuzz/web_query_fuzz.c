/*
 * Any query is read or refused with a sentence; the URL that is made of what was read means the same; no text becomes
 * markup.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dcpi-tools/web/command.h"
#include "dcpi-tools/web/host.h"
#include "dcpi-tools/web/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The URL of the query, read again, is the query. */
static void
check_url(struct query *query)
{
	char *url = query_url("/", query, QUERY_ALL, NULL, 0);
	struct query again;
	char why[256];

	if (!url)
		return;
	if (url[strspn(url, "/?&=%-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
		abort();
	/* a URL of ours may be longer than a query may be, because what was plain is escaped */
	if (strlen(url) > 2 && strlen(url) - 2 <= QUERY_SIZE_MAX) {
		if (query_parse(url + 2, strlen(url) - 2, &again, why, sizeof(why)) != 0)
			abort();
		for (unsigned i = QUERY_FORMAT + 1; i < QUERY_FIELDS; i++) {
			const char *one = query->values[i], *other = again.values[i];

			if ((one || other) && (!one || !other || strcmp(one, other) != 0))
				abort();
		}
		query_fini(&again);
	}
	free(url);
}

static void
check_html(const struct query *query)
{
	struct tool_command command;
	struct html out = {.buffer = evbuffer_new()};

	if (!out.buffer)
		return;
	command_begin(&command, "dcpiprof", query->values[QUERY_PROCEDURE]);
	command_selection(&command, query);
	command_set_json(&command);
	command_show(&command, &out);
	command_fini(&command);
	if (evbuffer_get_length(out.buffer) > 0) {
		const size_t length = evbuffer_get_length(out.buffer);
		const unsigned char *bytes = evbuffer_pullup(out.buffer, -1);

		for (size_t i = 0; bytes && i < length; i++)
			if (strchr("<>\"'", bytes[i]) || bytes[i] == 0x1b)
				abort();
	}
	evbuffer_free(out.buffer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[256] = "", *host = strndup((const char *)data, size);
	struct query query;
	const int err = query_parse((const char *)data, size, &query, why, sizeof(why));

	if (err && !why[0])
		abort();
	if (!err) {
		check_url(&query);
		check_html(&query);
	}
	query_fini(&query);
	if (host)
		host_is_ours(host, NULL, 0);
	free(host);
	return 0;
}
