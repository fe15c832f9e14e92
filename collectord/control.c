#include "collectord/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "collectord/machine.h"
#include "process/proc.h"

#define PROCFS "/proc"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

struct control_client {
	struct control *control;
	struct bufferevent *stream; /* NULL: the place is free */
	uint64_t id;
	struct peer peer;
	bool is_held; /* nothing is read from it until another client of its user leaves */
	bool waits;   /* for a reply */
	bool leaving; /* to be closed when the reply is out */
};

struct control {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *again; /* the end of a pause in accepting clients */
	struct peer_rules rules;
	struct peer_allowance allowance;
	control_handler *handler;
	void *context;
	const struct log *log;
	char *path;
	uint64_t next_id;
	struct control_client clients[CONTROL_CLIENTS_MAX];
};

static const struct timeval accept_pause = {.tv_sec = 1};

json_t *
control_success(void)
{
	return json_pack("{s:b}", "ok", 1);
}

json_t *
control_failure(const char *sentence)
{
	json_t *text = json_string(sentence);

	/* what is not UTF-8 is no JSON string; the sentence quotes what came from outside */
	return json_pack("{s:b,s:o}", "ok", 0, "error", text ? text : json_string("the request failed"));
}

/* ---- the process at the other end ---- */

void
control_peer_rules_init(struct peer_rules *rules)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group = getgrgid(getegid());

	rules->uid = geteuid();
	rules->gid = getegid();
	if (user)
		snprintf(rules->user, sizeof(rules->user), "user %s", user->pw_name);
	else
		snprintf(rules->user, sizeof(rules->user), "user %u", (unsigned)rules->uid);
	if (group)
		snprintf(rules->group, sizeof(rules->group), "group %s", group->gr_name);
	else
		snprintf(rules->group, sizeof(rules->group), "group %u", (unsigned)rules->gid);
}

static int
read_membership(int fd, gid_t group, bool *member)
{
	socklen_t length = PEER_GROUPS_MAX * sizeof(gid_t);
	gid_t *groups = malloc(length);
	int err = 0;

	if (!groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0)
		err = -errno;
	for (size_t i = 0; !err && i < length / sizeof(gid_t); i++)
		*member |= groups[i] == group;
	free(groups);
	return err;
}

/* A pid identifies the process that connected only as long as that process lives. */
static void
read_process(int fd, pid_t pid, struct peer *peer)
{
	socklen_t length = sizeof(peer->pidfd);
	struct proc_stat birth;

	peer->pid = pid > 0 ? (uint32_t)pid : 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &length) == 0)
		return;
	peer->pidfd = -1;
	if (peer->pid && proc_stat_read(PROCFS, peer->pid, &birth) == 0)
		peer->start_ticks = birth.start_ticks;
}

int
control_peer_read(int fd, const struct peer_rules *rules, struct peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	int err;

	memset(peer, 0, sizeof(*peer));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return -errno;
	peer->uid = credentials.uid;
	peer->in_group = credentials.gid == rules->gid;
	err = peer->in_group ? 0 : read_membership(fd, rules->gid, &peer->in_group);
	if (!err)
		read_process(fd, credentials.pid, peer);
	return err;
}

void
control_peer_fini(struct peer *peer)
{
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

static bool
is_owner(const struct peer_rules *rules, const struct peer *peer)
{
	return peer->uid == 0 || peer->uid == rules->uid;
}

int
control_peer_check(const struct peer_rules *rules, const struct peer *peer, enum command command, char *why,
                   size_t size)
{
	const struct command_entry *entry = command_entry(command);
	const bool has_user = rules->uid != 0;

	if (is_owner(rules, peer) || (peer->in_group && !entry->owner_only))
		return 0;
	if (entry->owner_only)
		snprintf(why, size, "%s is for root%s%s only", entry->name, has_user ? " and " : "",
		         has_user ? rules->user : "");
	else
		snprintf(why, size, "%s is for root%s%s and members of %s", entry->name, has_user ? ", " : "",
		         has_user ? rules->user : "", rules->group);
	return -EACCES;
}

int
control_peer_spend(const struct peer_rules *rules, const struct peer *peer, enum command command,
                   struct peer_allowance *allowance, uint64_t now_ns, char *why, size_t size)
{
	const uint64_t from_ns = allowance->spent_until_ns > now_ns ? allowance->spent_until_ns : now_ns;

	if (is_owner(rules, peer) || !command_entry(command)->is_limited)
		return 0;
	if (from_ns - now_ns > (PEER_BURST - 1) * SECOND_NS) {
		snprintf(why, size, "members of %s asked for too many flushes and epochs: wait %" PRIu64 " s",
		         rules->group, (from_ns - now_ns - (PEER_BURST - 1) * SECOND_NS + SECOND_NS - 1) / SECOND_NS);
		return -EBUSY;
	}
	allowance->spent_until_ns = from_ns + SECOND_NS;
	return 0;
}

/* The owner of /proc/PID: root, for a process that its own user may not look into. 0 or -errno. */
static int
read_owner(uint32_t pid, uid_t *owner)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), PROCFS "/%" PRIu32, pid);
	if (stat(path, &status) != 0)
		return -errno;
	*owner = status.st_uid;
	return 0;
}

/* Has the process that connected gone, and its pid perhaps been given to another? */
static bool
has_gone(const struct peer_rules *rules, const struct peer *peer)
{
	struct pollfd poll_fd = {.fd = peer->pidfd, .events = POLLIN};
	struct proc_stat birth;
	uid_t owner = (uid_t)-1;

	if (peer->pidfd >= 0)
		return poll(&poll_fd, 1, 0) != 0;
	if (proc_stat_read(PROCFS, peer->pid, &birth) || birth.start_ticks != peer->start_ticks ||
	    read_owner(peer->pid, &owner))
		return true;
	return owner != peer->uid && !is_owner(rules, peer);
}

int
control_peer_find_process(const struct peer_rules *rules, const struct peer *peer,
                          const struct control_request *request, struct peer_process *process, char *why, size_t size)
{
	uid_t owner = (uid_t)-1;

	process->time_ns = machine_clock_ns(CLOCK_MONOTONIC); /* before it is looked at: it lives afterwards */
	process->pid = request->pid;
	if (request->pid == 0) { /* the process that asks */
		if (peer->pid == 0) {
			snprintf(why, size, "the process that asks lives in a pid namespace that dcpid does not see");
			return -ESRCH;
		}
		if (has_gone(rules, peer)) {
			snprintf(why, size, "the process that asks has ended");
			return -ESRCH;
		}
		process->pid = peer->pid;
		return 0;
	}
	if (read_owner(request->pid, &owner)) {
		snprintf(why, size, "there is no process %" PRIu32, request->pid);
		return -ESRCH;
	}
	if (owner == peer->uid || is_owner(rules, peer))
		return 0;
	snprintf(why, size, "process %" PRIu32 " is another user's", request->pid);
	return -EACCES;
}

/* ---- one client ---- */

/* Clients of a user, or those of them that are served. */
static size_t
count_clients(const struct control *control, uid_t uid, bool served_only)
{
	size_t count = 0;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		const struct control_client *client = &control->clients[i];

		count += client->stream && client->peer.uid == uid && !(served_only && client->is_held);
	}
	return count;
}

/* The client of a user that has waited longest; NULL: none waits. */
static struct control_client *
find_held(struct control *control, uid_t uid)
{
	struct control_client *oldest = NULL;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];

		if (client->stream && client->is_held && client->peer.uid == uid &&
		    (!oldest || client->id < oldest->id))
			oldest = client;
	}
	return oldest;
}

static int
begin_serving(struct control_client *client)
{
	client->is_held = false;
	return bufferevent_enable(client->stream, EV_READ | EV_WRITE);
}

static void
release(struct control_client *client)
{
	bufferevent_free(client->stream);
	control_peer_fini(&client->peer);
	memset(client, 0, sizeof(*client));
}

static void
client_close(struct control_client *client)
{
	struct control *control = client->control;
	const uid_t uid = client->peer.uid;
	struct control_client *next;

	release(client);
	while (count_clients(control, uid, true) < CONTROL_SERVED_MAX && (next = find_held(control, uid)))
		if (begin_serving(next))
			release(next);
	if (evconnlistener_enable(control->listener)) /* there is a place again; without memory, try later */
		event_add(control->again, &accept_pause);
}

static bool
client_has_unread_reply(const struct control_client *client)
{
	return evbuffer_get_length(bufferevent_get_output(client->stream)) > 0;
}

/* Send `reply` and release it; NULL, for want of memory, becomes an error. */
static void
client_reply(struct control_client *client, json_t *reply)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
	int added;

	/* the client's timeout for reading the reply begins now: without this, at the time that libevent cached */
	(void)event_base_update_cache_time(client->control->base);
	added = evbuffer_add_printf(output, "%s\n",
	                            text ? text : "{\"ok\":false,\"error\":\"dcpid has no memory left\"}");
	free(text);
	json_decref(reply);
	client->waits = false;
	if (added < 0)
		client_close(client); /* better than a client that waits for a lost reply */
}

static void
serve_line(struct control_client *client, const char *line, size_t length)
{
	struct control *control = client->control;
	struct peer_process process = {0};
	struct control_request request;
	char why[256];

	if (request_parse(line, length, &request, why, sizeof(why)) ||
	    control_peer_check(&control->rules, &client->peer, request.command, why, sizeof(why)) ||
	    control_peer_spend(&control->rules, &client->peer, request.command, &control->allowance,
	                       machine_clock_ns(CLOCK_MONOTONIC), why, sizeof(why)) ||
	    (request.command == COMMAND_LABEL &&
	     control_peer_find_process(&control->rules, &client->peer, &request, &process, why, sizeof(why)))) {
		client_reply(client, control_failure(why));
		return;
	}
	client->waits = true;
	control->handler(control->context, client->id, &request, &process);
}

/*
 * Serve one request; on_written() serves the next. Until then nothing is read: a client that waits for a reply must not
 * run into the idle timeout, and one that does not read its replies must not make them pile up in memory.
 */
static void
serve(struct control_client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	size_t length;
	char *line;

	if (client->waits || client->leaving || client_has_unread_reply(client))
		return;
	line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF);
	if (!line && evbuffer_get_length(input) < REQUEST_SIZE_MAX)
		return;
	bufferevent_disable(client->stream, EV_READ);
	if (line) {
		serve_line(client, line, length);
		free(line);
	} else {
		client->leaving = true;
		client_reply(client, control_failure("the request is too long"));
	}
}

static void
on_readable(struct bufferevent *stream, void *context)
{
	(void)stream;
	serve(context);
}

static void
on_written(struct bufferevent *stream, void *context)
{
	struct control_client *client = context;

	if (client->leaving) {
		client_close(client);
		return;
	}
	if (bufferevent_enable(stream, EV_READ))
		client_close(client);
	else
		serve(client);
}

static void
on_end(struct bufferevent *stream, short what, void *context)
{
	struct control_client *client = context;

	/* a client that shut down its writing side may still wait for the reply */
	(void)stream;
	if ((what & BEV_EVENT_EOF) && (client->waits || client_has_unread_reply(client)))
		client->leaving = true;
	else
		client_close(client);
}

/* Root and the daemon's user have no CONTROL_USER_MAX: their clients wait as long as there is a place. */
static bool
is_one_too_many(const struct control_client *client)
{
	const struct control *control = client->control;
	const uid_t uid = client->peer.uid;

	return uid != 0 && uid != control->rules.uid && count_clients(control, uid, false) > CONTROL_USER_MAX;
}

/* Give the free place `client` to the peer of `fd`, which is closed on failure; or reply that there are too many. */
static void
client_admit(struct control_client *client, struct control *control, evutil_socket_t fd)
{
	static const struct timeval idle = {.tv_sec = CONTROL_IDLE_S};
	struct peer peer;
	int err;

	err = control_peer_read(fd, &control->rules, &peer);
	if (err) {
		log_write(control->log, LOG_LEVEL_WARNING, "control socket: cannot tell who connects: %s",
		          error_text(err));
		close(fd);
		return;
	}
	client->stream = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->stream) {
		control_peer_fini(&peer);
		close(fd);
		return;
	}
	client->control = control;
	client->peer = peer;
	client->id = control->next_id++;
	bufferevent_setcb(client->stream, on_readable, on_written, on_end, client);
	/* no watermark: libevent crashes when it has no memory for one; serve() bounds what is read */
	bufferevent_set_timeouts(client->stream, &idle, &idle);
	if (is_one_too_many(client)) {
		client->leaving = true;
		if (bufferevent_enable(client->stream, EV_WRITE))
			client_close(client);
		else
			client_reply(client,
			             control_failure(
					     "too many connections of one user: wait until some of them have ended"));
	} else if (count_clients(control, peer.uid, true) > CONTROL_SERVED_MAX) {
		client->is_held = true;
	} else if (begin_serving(client)) {
		client_close(client);
	}
}

/* ---- the socket ---- */

static struct control_client *
find_free_place(struct control *control)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (!control->clients[i].stream)
			return &control->clients[i];
	return NULL;
}

static void
on_connect(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *context)
{
	struct control *control = context;
	struct control_client *client = find_free_place(control);

	(void)address;
	(void)length;
	if (client)
		client_admit(client, control, fd);
	else
		close(fd); /* not reached: the listener is disabled while all places are taken */
	if (!find_free_place(control))
		evconnlistener_disable(listener); /* further clients wait in the kernel's queue until client_close() */
}

static void
on_pause_end(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;

	(void)fd;
	(void)what;
	if (evconnlistener_enable(control->listener))
		event_add(control->again, &accept_pause);
}

/* Most likely no descriptor is left. The client stays in the kernel's queue: trying again at once would be a busy loop.
 */
static void
on_accept_error(struct evconnlistener *listener, void *context)
{
	struct control *control = context;

	log_write(control->log, LOG_LEVEL_WARNING, "control socket: cannot let a client in: %s", strerror(errno));
	evconnlistener_disable(listener);
	event_add(control->again, &accept_pause);
}

int
control_check_free(const char *path, char *why, size_t size)
{
	pid_t owner = local_socket_owner(path);

	if (owner == 0)
		return 0;
	if (owner > 0)
		snprintf(why, size, "%s: another dcpid listens there (process %d)", path, (int)owner);
	else
		snprintf(why, size, "%s: a process listens there and does not answer", path);
	return -EADDRINUSE;
}

static int
cannot_listen(const char *path, int err, char *why, size_t size)
{
	if (err == -EADDRINUSE && control_check_free(path, why, size))
		return err;
	if (err == -EEXIST)
		snprintf(why, size, "%s: exists and is not a socket", path);
	else
		snprintf(why, size, "%s: cannot make the control socket: %s", path, error_text(err));
	return err;
}

/* The service manager makes /run/dcpid; a user who starts dcpid by hand has not. Only the last part is made. */
static int
make_directory(const char *path)
{
	char directory[PATH_MAX];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash || slash == directory)
		return -ENOENT;
	*slash = '\0';
	return mkdir(directory, 0750) ? -errno : 0;
}

/* Takes `fd`; NULL for want of memory. */
static struct evconnlistener *
listener_new(struct control *control, int fd)
{
	struct evconnlistener *listener =
		evconnlistener_new(control->base, on_connect, control,
	                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, fd);

	if (!listener) {
		close(fd);
		return NULL;
	}
	if (evconnlistener_enable(listener)) { /* evconnlistener_new() would not report an error */
		evconnlistener_free(listener);
		return NULL;
	}
	evconnlistener_set_error_cb(listener, on_accept_error);
	return listener;
}

int
control_open(struct event_base *base, const char *path, control_handler *handler, void *context, const struct log *log,
             struct control **control, char *why, size_t size)
{
	struct control *made = calloc(1, sizeof(*made));
	int fd;

	*control = NULL;
	if (!made)
		return cannot_listen(path, -ENOMEM, why, size);
	made->base = base;
	made->handler = handler;
	made->context = context;
	made->log = log;
	made->next_id = 1;
	control_peer_rules_init(&made->rules);
	fd = local_socket_listen(path, 0660, CONTROL_QUEUE);
	if (fd == -ENOENT && make_directory(path) == 0)
		fd = local_socket_listen(path, 0660, CONTROL_QUEUE);
	if (fd < 0) {
		control_close(made);
		return cannot_listen(path, fd, why, size);
	}
	made->path = strdup(path);
	made->listener = listener_new(made, fd);
	made->again = event_new(base, -1, 0, on_pause_end, made);
	if (!made->listener || !made->path || !made->again) {
		control_close(made);
		return cannot_listen(path, -ENOMEM, why, size);
	}
	*control = made;
	return 0;
}

void
control_check_socket(struct control *control)
{
	struct evconnlistener *listener;
	struct stat stat;
	int fd;

	if (lstat(control->path, &stat) == 0 || errno != ENOENT)
		return;
	fd = local_socket_listen(control->path, 0660, CONTROL_QUEUE); /* -ENOENT while its directory is not there */
	if (fd < 0)
		return;
	listener = listener_new(control, fd);
	if (!listener)
		return;
	evconnlistener_free(control->listener);
	control->listener = listener;
	log_write(control->log, LOG_LEVEL_NOTICE, "%s: the control socket was gone, and is made again", control->path);
}

void
control_close(struct control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];
		struct evbuffer *output;

		if (!client->stream)
			continue;
		output = bufferevent_get_output(client->stream);
		/* libevent will not run again: send as much as the kernel takes at once; a reply to "quit" is short */
		evbuffer_unfreeze(output, 1); /* a bufferevent keeps the start of its output frozen */
		if (evbuffer_get_length(output) && evbuffer_write(output, bufferevent_getfd(client->stream)) < 0)
			log_write(control->log, LOG_LEVEL_DEBUG, "control socket: %s", strerror(errno));
		client_close(client);
	}
	if (control->again)
		event_free(control->again);
	if (control->listener)
		evconnlistener_free(control->listener);
	if (control->path)
		unlink(control->path);
	free(control->path);
	free(control);
}

void
control_reply(struct control *control, uint64_t id, json_t *reply)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];

		if (!client->stream || client->id != id || !client->waits)
			continue;
		client_reply(client, reply);
		return;
	}
	json_decref(reply);
}
