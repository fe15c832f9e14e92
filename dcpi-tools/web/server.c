#include "dcpi-tools/web/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#include "base/error.h"
#include "dcpi-tools/web/assets.h"
#include "dcpi-tools/web/host.h"
#include "dcpi-tools/web/view.h"

#define HEADERS_MAX     (64 << 10) /* bytes of a request */
#define BODY_MAX        (16 << 10)
#define LINE_MAX_BYTES  (QUERY_SIZE_MAX + 4096) /* of a request: what is longer is refused by its beginning */
#define IDLE_S          20                      /* a connection on which nothing moves is closed */
#define CONNECTIONS_MAX 256                     /* about; more wait in the kernel's queue */
#define LISTENERS_MAX   8
#define PATIENCE_MS     200        /* that a page waits for what is wanted; then it is shown, and reads itself again */
#define AGAIN_MS        100        /* until it is checked whether there is room for connections again */
#define UNSENT_MAX      (16 << 20) /* bytes of replies that clients have not read; larger ones are refused then */
#define SMALL_MAX       (64 << 10) /* bytes of a reply that is never refused: CONNECTIONS_MAX of them are 16 MiB */

/* No inline style or script can run, whatever a name in a database holds; nothing is loaded from elsewhere. */
#define CONTENT_SECURITY_POLICY                                                                                        \
	"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; "          \
	"frame-ancestors 'none'; base-uri 'none'"

enum format { FORMAT_HTML, FORMAT_TOOL_TEXT, FORMAT_TOOL_JSON, FORMAT_TOOL_SVG };

struct server {
	struct server_options options;
	struct evhttp *http;
	struct evhttp_bound_socket *listeners[LISTENERS_MAX];
	size_t listener_count;
	struct event *again;
	LIST_HEAD(unsent_list, unsent) unsent;
	size_t unsent_bytes;
};

/* What is kept until clients have read it: a report, once for all replies that send it, or a page. */
struct unsent {
	struct server *server; /* NULL: has ended */
	LIST_ENTRY(unsent) next;
	struct report *report; /* NULL: a page, which is in the connection's buffer */
	size_t size;
	unsigned replies;
};

/* A request whose reports are being made. */
struct exchange {
	struct server *server;
	struct evhttp_request *request; /* NULL: the client left */
	const struct view *view;
	struct query query;
	enum format format;
	size_t count;
	size_t needed, wanted;  /* reports that have not come */
	struct event *patience; /* until those that are wanted are no longer waited for */
	bool is_impatient;
	struct tool_command commands[VIEW_REPORTS_MAX];
	struct exchange_report {
		struct exchange *exchange;
		struct reports_wait wait;
		struct report *report;
	} reports[VIEW_REPORTS_MAX];
};

/* ---- replies ---- */

static void
add_headers(struct evhttp_request *request, const char *type)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Content-Security-Policy", CONTENT_SECURITY_POLICY);
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
	evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
	evhttp_add_header(headers, "Cross-Origin-Opener-Policy", "same-origin");
}

/* Send `body`; for HEAD its length alone, as libevent would send what it is given. */
static void
send_body(struct evhttp_request *request, int code, const char *reason, struct evbuffer *body)
{
	const bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
	char length[24];

	snprintf(length, sizeof(length), "%zu", evbuffer_get_length(body));
	if (is_head)
		evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", length);
	evhttp_send_reply(request, code, reason, is_head ? NULL : body);
}

static const char *
reason_of(int code)
{
	switch (code) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 414:
		return "URI Too Long";
	case 421:
		return "Misdirected Request";
	case 503:
		return "Service Unavailable";
	default:
		return "Internal Server Error";
	}
}

/* A page with a sentence. */
static void
send_sentence(struct evhttp_request *request, int code, const char *sentence)
{
	struct evbuffer *body = evbuffer_new();
	struct html out = {.buffer = body};

	if (!body) {
		evhttp_send_error(request, 500, NULL);
		return;
	}
	view_render_error(&out, reason_of(code), sentence);
	add_headers(request, "text/html; charset=utf-8");
	evhttp_add_header(evhttp_request_get_output_headers(request), "Cache-Control", "no-store");
	send_body(request, code, reason_of(code), body);
	evbuffer_free(body);
}

/* ---- bytes that clients have not read ---- */

static struct unsent *
find_unsent(const struct server *server, const struct report *report)
{
	struct unsent *unsent;

	LIST_FOREACH(unsent, &server->unsent, next)
	if (unsent->report == report)
		return unsent;
	return NULL;
}

/* May `size` more bytes wait? A reply above the limit is sent when nothing else waits. */
static bool
has_room(const struct server *server, size_t size)
{
	return size <= SMALL_MAX || server->unsent_bytes == 0 || server->unsent_bytes + size <= UNSENT_MAX;
}

/* libevent calls it when the last byte was written to a client, and when the client has left. */
static void
on_sent(const void *data, size_t size, void *context)
{
	struct unsent *unsent = context;

	(void)data;
	(void)size;
	if (--unsent->replies > 0)
		return;
	if (unsent->server) {
		LIST_REMOVE(unsent, next);
		unsent->server->unsent_bytes -= unsent->size;
	}
	report_release(unsent->report);
	free(unsent);
}

/*
 * Append `data` without copying it, and count `size` bytes until it is sent, once for all replies of `report`, which
 * has the data. Without a report the data is static, and the last of a page, whose size is counted. 0 or -ENOMEM.
 */
static int
add_counted(struct server *server, struct evbuffer *body, struct report *report, const void *data, size_t length,
            size_t size)
{
	struct unsent *unsent = report ? find_unsent(server, report) : NULL;

	if (!unsent) {
		unsent = calloc(1, sizeof(*unsent));
		if (!unsent)
			return -ENOMEM;
		*unsent = (struct unsent){.server = server, .size = size};
		unsent->report = report ? report_share(report) : NULL;
		LIST_INSERT_HEAD(&server->unsent, unsent, next);
		server->unsent_bytes += size;
	}
	unsent->replies++;
	if (evbuffer_add_reference(body, data, length, on_sent, unsent) == 0)
		return 0;
	on_sent(data, length, unsent);
	return -ENOMEM;
}

static void
send_no_room(struct evhttp_request *request)
{
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%d", IDLE_S);
	evhttp_add_header(evhttp_request_get_output_headers(request), "Retry-After", seconds);
	send_sentence(request, 503,
	              "other clients have not read what they asked for, and there is no memory for more: try again in "
	              "a moment");
}

static void
send_asset(struct evhttp_request *request, const struct asset *asset)
{
	struct evbuffer *body = evbuffer_new();

	if (!body || evbuffer_add_reference(body, asset->data, asset->size, NULL, NULL) < 0) {
		evhttp_send_error(request, 500, NULL);
	} else {
		add_headers(request, asset->type);
		evhttp_add_header(evhttp_request_get_output_headers(request), "Cache-Control", "max-age=600");
		send_body(request, 200, "OK", body);
	}
	if (body)
		evbuffer_free(body);
}

/* ---- exchanges ---- */

static void
on_closed(struct evhttp_connection *connection, void *context)
{
	struct exchange *exchange = context;

	(void)connection;
	exchange->request = NULL;
}

static void
exchange_free(struct exchange *exchange)
{
	if (exchange->request)
		evhttp_connection_set_closecb(evhttp_request_get_connection(exchange->request), NULL, NULL);
	for (size_t i = 0; i < exchange->count; i++) {
		reports_cancel(&exchange->reports[i].wait);
		report_release(exchange->reports[i].report);
		command_fini(&exchange->commands[i]);
	}
	if (exchange->patience)
		event_free(exchange->patience);
	query_fini(&exchange->query);
	free(exchange);
}

/* The status of HTTP that says what a tool's exit status says. */
static int
code_of(const struct report *report)
{
	if (!report)
		return 503;
	if (report->size > 0)
		return 200; /* `dcpictl doctor` fails when it has found something, and that is its report */
	switch (report->status) {
	case STATUS_USAGE:
		return 400;
	case STATUS_EMPTY:
		return 404;
	default:
		return 503;
	}
}

/* What the tool printed, as it is. */
static void
send_tool_output(struct exchange *exchange)
{
	struct report *report = exchange->reports[0].report;
	struct server *server = exchange->server;
	struct evbuffer *body = evbuffer_new();
	const char *type = exchange->format == FORMAT_TOOL_JSON  ? "application/json"
	                   : exchange->format == FORMAT_TOOL_SVG ? "image/svg+xml"
	                                                         : "text/plain; charset=utf-8";
	int err = body && report ? 0 : -ENOMEM;

	if (!err && report->size > 0 && !find_unsent(server, report) && !has_room(server, report->size)) {
		send_no_room(exchange->request);
		evbuffer_free(body);
		return;
	}
	if (!err && report->size > 0)
		err = add_counted(server, body, report, report->output, report->size, report->size);
	else if (!err)
		err = evbuffer_add(body, report->errors, strlen(report->errors));
	if (err) {
		evhttp_send_error(exchange->request, 500, NULL);
	} else {
		add_headers(exchange->request, report->size > 0 ? type : "text/plain; charset=utf-8");
		evhttp_add_header(evhttp_request_get_output_headers(exchange->request), "Cache-Control", "no-store");
		send_body(exchange->request, code_of(report), reason_of(code_of(report)), body);
	}
	if (body)
		evbuffer_free(body);
}

static void
send_page(struct exchange *exchange)
{
	struct view_report reports[VIEW_REPORTS_MAX] = {{0}};
	json_t *json[VIEW_REPORTS_MAX] = {NULL};
	struct evbuffer *body = evbuffer_new();
	struct html out = {.buffer = body};
	const struct view_page page = {
		.view = exchange->view,
		.query = &exchange->query,
		.reports = reports,
		.report_count = exchange->count,
		.out = &out,
	};

	for (size_t i = 0; i < exchange->count; i++) {
		const struct report *report = exchange->reports[i].report;

		reports[i].command = &exchange->commands[i];
		reports[i].is_missing = !report;
		reports[i].status = report ? report->status : -EAGAIN;
		reports[i].errors = report ? report->errors : "";
		reports[i].text = report ? report->output : "";
		if (report && report->size > 0 && !exchange->commands[i].is_svg)
			json[i] = json_loadb(report->output, report->size, 0, NULL);
		reports[i].json = json[i];
	}
	if (body)
		view_render(&page);
	for (size_t i = 0; i < exchange->count; i++)
		json_decref(json[i]);
	if (body && !out.failed && !has_room(exchange->server, evbuffer_get_length(body))) {
		send_no_room(exchange->request);
	} else if (!body || out.failed ||
	           add_counted(exchange->server, body, NULL, "\n", 1, evbuffer_get_length(body)) < 0) {
		evhttp_send_error(exchange->request, 500, NULL);
	} else {
		const int code = code_of(exchange->reports[0].report);

		add_headers(exchange->request, "text/html; charset=utf-8");
		evhttp_add_header(evhttp_request_get_output_headers(exchange->request), "Cache-Control", "no-store");
		if (exchange->wanted > 0) /* they are kept when they are made */
			evhttp_add_header(evhttp_request_get_output_headers(exchange->request), "Refresh", "1");
		send_body(exchange->request, code, reason_of(code), body);
	}
	if (body)
		evbuffer_free(body);
}

static void
answer(struct exchange *exchange)
{
	if (exchange->request) {
		evhttp_connection_set_closecb(evhttp_request_get_connection(exchange->request), NULL, NULL);
		if (exchange->format == FORMAT_HTML)
			send_page(exchange);
		else
			send_tool_output(exchange);
		exchange->request = NULL; /* libevent's */
	}
	exchange_free(exchange);
}

/* Answer as soon as the reports that it needs have come, and those that it wants, or not in time. */
static void
answer_if_complete(struct exchange *exchange)
{
	if (exchange->needed == 0 && (exchange->wanted == 0 || exchange->is_impatient))
		answer(exchange);
}

static void
on_impatient(evutil_socket_t fd, short what, void *context)
{
	struct exchange *exchange = context;

	(void)fd;
	(void)what;
	exchange->is_impatient = true;
	answer_if_complete(exchange);
}

static void
on_report(void *context, struct report *report)
{
	struct exchange_report *of = context;
	struct exchange *exchange = of->exchange;
	const enum command_need need = exchange->commands[of - exchange->reports].need;

	of->report = report;
	exchange->needed -= need == COMMAND_NEEDED;
	exchange->wanted -= need == COMMAND_WANTED;
	answer_if_complete(exchange);
}

static void
ask_reports(struct exchange *exchange)
{
	const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000};

	exchange->patience = evtimer_new(exchange->server->options.base, on_impatient, exchange);
	if (!exchange->patience || evtimer_add(exchange->patience, &patience) < 0)
		exchange->is_impatient = true;
	for (size_t i = 0; i < exchange->count; i++) {
		exchange->needed += exchange->commands[i].need == COMMAND_NEEDED;
		exchange->wanted += exchange->commands[i].need == COMMAND_WANTED;
	}
	exchange->needed++; /* so that it is not answered before all are asked for */
	for (size_t i = 0; i < exchange->count; i++) {
		struct exchange_report *of = &exchange->reports[i];

		if (exchange->commands[i].need == COMMAND_LINKED)
			continue;
		of->exchange = exchange;
		of->wait.done = on_report;
		of->wait.context = of;
		reports_ask(exchange->server->options.reports, &exchange->commands[i], &of->wait);
	}
	exchange->needed--;
	answer_if_complete(exchange);
}

/* html, text, json or svg; false: none of them. */
static bool
read_format(const char *text, enum format *format)
{
	static const char *const names[] = {[FORMAT_HTML] = "html",
	                                    [FORMAT_TOOL_TEXT] = "text",
	                                    [FORMAT_TOOL_JSON] = "json",
	                                    [FORMAT_TOOL_SVG] = "svg"};

	*format = FORMAT_HTML;
	if (!text)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*format = (enum format)i;
		return true;
	}
	return false;
}

/*
 * Keep the one report that is passed on: that of the query's number, else the first of its format. False: there is
 * none.
 */
static bool
choose_report(struct exchange *exchange)
{
	const char *number = exchange->query.values[QUERY_REPORT];

	for (size_t i = 0; i < exchange->count; i++) {
		struct tool_command command = exchange->commands[i];

		if (command.is_svg != (exchange->format == FORMAT_TOOL_SVG) ||
		    (number && (number[0] != (char)('1' + i) || number[1])))
			continue;
		command.need = COMMAND_NEEDED;
		exchange->commands[i] = exchange->commands[0];
		exchange->commands[0] = command;
		while (exchange->count > 1)
			command_fini(&exchange->commands[--exchange->count]);
		return true;
	}
	return false;
}

static void
begin_view(struct server *server, struct evhttp_request *request, const struct view *view)
{
	const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	char why[512] = "";
	int err;

	if (!exchange) {
		evhttp_send_error(request, 500, NULL);
		return;
	}
	exchange->server = server;
	exchange->view = view;
	err = query_parse(query ? query : "", query ? strlen(query) : 0, &exchange->query, why, sizeof(why));
	if (!err && !read_format(exchange->query.values[QUERY_FORMAT], &exchange->format)) {
		snprintf(why, sizeof(why), "format is html, text, json or svg");
		err = -EINVAL;
	}
	if (!err) {
		exchange->count = view->commands(&exchange->query, server->options.directory, exchange->commands, why,
		                                 sizeof(why));
		err = exchange->count > 0 ? 0 : -EINVAL;
	}
	if (!err && exchange->format != FORMAT_HTML && !choose_report(exchange)) {
		snprintf(why, sizeof(why), "the page has no such report: the links at its end are those that it has");
		err = -EINVAL;
	}
	for (size_t i = 0; i < exchange->count; i++) {
		if (exchange->format != FORMAT_TOOL_TEXT && !exchange->commands[i].is_svg)
			command_set_json(&exchange->commands[i]);
		if (exchange->commands[i].failed)
			err = -ENOMEM;
	}
	if (err) {
		exchange_free(exchange);
		send_sentence(request, err == -E2BIG ? 414 : err == -ENOMEM ? 500 : 400, why);
		return;
	}
	exchange->request = request;
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_closed, exchange);
	ask_reports(exchange);
}

static void
on_request(struct evhttp_request *request, void *context)
{
	struct server *server = context;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const enum evhttp_cmd_type method = evhttp_request_get_command(request);
	const struct asset *asset;
	const struct view *view;

	/* libevent could not read the request, or stopped reading it */
	if (!evhttp_request_get_uri(request)) {
		evhttp_add_header(evhttp_request_get_output_headers(request), "Connection", "close");
		send_sentence(request, 400, "the request is no HTTP that a browser would send");
		return;
	}
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET, HEAD");
		send_sentence(request, 405, "this server only shows: it answers GET and HEAD");
		return;
	}
	if (!host) {
		send_sentence(request, 400, "the request has no Host header, which every browser sends");
		return;
	}
	if (!host_is_ours(host, server->options.hosts, server->options.host_count)) {
		send_sentence(request, 421,
		              "this server is not known by the name in the request's Host header: use localhost or an "
		              "address, or start dcpiweb with --host NAME");
		return;
	}
	asset = path ? asset_find(path) : NULL;
	view = path ? view_find(*path ? path : "/") : NULL;
	if (asset)
		send_asset(request, asset);
	else if (view)
		begin_view(server, request, view);
	else
		send_sentence(request, 404, "there is no such page: the list above has those that there are");
}

/* ---- connections ---- */

static void
set_listening(struct server *server, bool listens)
{
	for (size_t i = 0; i < server->listener_count; i++) {
		struct evconnlistener *listener = evhttp_bound_socket_get_listener(server->listeners[i]);

		if (listens)
			evconnlistener_enable(listener);
		else
			evconnlistener_disable(listener);
	}
}

/* The kernel gives the lowest free number, so that it is a count of what is open. */
static bool
is_full(void)
{
	const int lowest = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	if (lowest < 0)
		return true;
	close(lowest);
	return lowest >= CONNECTIONS_MAX;
}

static void
on_again(evutil_socket_t fd, short what, void *context)
{
	const struct timeval soon = {.tv_usec = AGAIN_MS * 1000};
	struct server *server = context;

	(void)fd;
	(void)what;
	if (is_full())
		evtimer_add(server->again, &soon);
	else
		set_listening(server, true);
}

/*
 * Of a line that does not end, keep the beginning. libevent answers a line above its limit itself, and without a
 * sentence; what is kept here is longer than any query may be, so that the request is refused by query_parse().
 */
static void
on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
	struct evbuffer *kept;

	(void)context;
	if (info->n_added == 0 || evbuffer_get_length(input) <= LINE_MAX_BYTES ||
	    evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_LF).pos >= 0)
		return;
	kept = evbuffer_new();
	if (!kept)
		return; /* libevent's limit holds */
	evbuffer_remove_buffer(input, kept, LINE_MAX_BYTES);
	evbuffer_drain(input, evbuffer_get_length(input));
	evbuffer_prepend_buffer(input, kept);
	evbuffer_free(kept);
}

/* Called for each connection that was accepted: stop accepting when there are too many. */
static struct bufferevent *
on_connection(struct event_base *base, void *context)
{
	const struct timeval soon = {.tv_usec = AGAIN_MS * 1000};
	struct bufferevent *connection = bufferevent_socket_new(base, -1, 0);
	struct server *server = context;

	if (is_full()) {
		set_listening(server, false);
		evtimer_add(server->again, &soon);
	}
	if (connection)
		evbuffer_add_cb(bufferevent_get_input(connection), on_input, NULL);
	return connection;
}

struct server *
server_new(const struct server_options *options)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->options = *options;
	server->http = evhttp_new(options->base);
	server->again = evtimer_new(options->base, on_again, server);
	if (!server->http || !server->again) {
		server_free(server);
		errno = ENOMEM;
		return NULL;
	}
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
	                                                 EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
	                                                 EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH);
	evhttp_set_max_headers_size(server->http, HEADERS_MAX);
	evhttp_set_max_body_size(server->http, BODY_MAX);
	evhttp_set_timeout(server->http, IDLE_S);
	evhttp_set_default_content_type(server->http, NULL);
	evhttp_set_bevcb(server->http, on_connection, server);
	evhttp_set_gencb(server->http, on_request, server);
	return server;
}

void
server_free(struct server *server)
{
	struct unsent *unsent;

	if (!server)
		return;
	if (server->http)
		evhttp_free(server->http);
	if (server->again)
		event_free(server->again);
	/* libevent frees connections, and so calls on_sent(), when the base is freed */
	while ((unsent = LIST_FIRST(&server->unsent))) {
		LIST_REMOVE(unsent, next);
		unsent->server = NULL;
	}
	free(server);
}

int
server_accept(struct server *server, int listening)
{
	struct evhttp_bound_socket *bound;

	if (server->listener_count == LISTENERS_MAX)
		return -ENOSPC;
	bound = evhttp_accept_socket_with_handle(server->http, listening);
	if (!bound)
		return -ENOMEM;
	server->listeners[server->listener_count++] = bound;
	return 0;
}
