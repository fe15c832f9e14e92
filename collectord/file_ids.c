#include "collectord/file_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectord/helper.h"
#include "collectord/worker.h"
#include "process/hash.h"
#include "process/mapped_file.h"

#define CHANGES_MAX 256

/* A file that did not change for a day will not change in this second. */
#define PAUSE_SHARE  64 /* of a file's age */
#define PAUSE_MAX_NS (15 * SECOND_NS)

/* No padding, so that it can be hashed as bytes. */
struct file_id_key {
	uint64_t inode, generation;
	uint32_t device_major, device_minor;
	uint32_t content, zero;
};

struct file_id {
	struct file_id_key key;
	enum file_state state;
	bool is_asked;
	bool is_roots; /* process/mapped_file.h */
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	struct file_version version;
	uint64_t rests_until_ns; /* monotonic; it is not looked at again before */
	UT_hash_handle hh;       /* in the order of asking */
};

/* A file that is to be looked at. */
struct waiting_file {
	struct waiting_file *next;
	struct file_id_key key;
	struct image_place place;
	char path[];
};

struct file_ids {
	const struct log *log;
	struct helper helper; /* the thread's */

	struct worker_thread worker; /* its lock: everything below */
	bool is_busy;
	struct file_id *ids;
	struct waiting_file *first, **last;
	size_t waiting;
	struct file_id_key changes[CHANGES_MAX]; /* with the new content */
	size_t change_count;
	struct silent_devices silent;
	struct file_ids_stats stats;
};

/* ---- the child ---- */

/* A helper_work. A packet is a struct file_question, followed by a path with its NUL. */
static void
read_files(int socket, void *shared)
{
	const int procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t packet[HELPER_PACKET_SIZE + 1];
	struct file_question question;
	struct file_answer answer;
	size_t size;

	(void)shared;
	while ((size = helper_next(socket, packet, HELPER_PACKET_SIZE, NULL)) > 0) {
		if (size < sizeof(question))
			return;
		packet[size] = '\0';
		memcpy(&question, packet, sizeof(question));
		mapped_file_identify(procfs, &question, (const char *)packet + sizeof(question), &answer);
		if (!helper_answer(socket, &answer, sizeof(answer), -1))
			return;
	}
}

/* ---- what is known ---- */

static struct file_id_key
key_of(const struct image *image)
{
	return (struct file_id_key){
		.inode = image->inode,
		.generation = image->inode_generation,
		.device_major = image->device_major,
		.device_minor = image->device_minor,
		.content = image->content,
	};
}

static bool
is_file(const struct image *image)
{
	return image->kind == IMAGE_USER && image->inode != 0 && image->build_id_size == 0;
}

static struct file_id *
find(const struct file_ids *ids, const struct file_id_key *key)
{
	struct file_id *id;

	HASH_FIND(hh, ids->ids, key, sizeof(*key), id);
	return id;
}

static void
drop_oldest(struct file_ids *ids)
{
	struct file_id *id = ids->ids;

	while (id && id->is_asked)
		id = id->hh.next;
	if (!id)
		return;
	HASH_DELETE(hh, ids->ids, id);
	free(id);
}

/* NULL: no memory. */
static struct file_id *
add(struct file_ids *ids, const struct file_id_key *key)
{
	struct file_id *id;

	if (HASH_COUNT(ids->ids) >= FILE_IDS_MAX)
		drop_oldest(ids);
	id = calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->key = *key;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a dropped file is in none of the table's lists */
	HASH_ADD(hh, ids->ids, key, sizeof(id->key), id);
	if (hash_added(id))
		return id;
	free(id);
	return NULL;
}

void
file_ids_ask(struct file_ids *ids, const struct sampled_file *file)
{
	const struct file_id_key key = key_of(file->image);
	const size_t path_size = strnlen(file->image->path, PATH_MAX - 1) + 1;
	struct waiting_file *waiting = NULL;
	struct file_id *id;
	bool sleeps;

	if (!is_file(file->image))
		return;
	worker_lock(&ids->worker);
	sleeps = !ids->first && !ids->is_busy;
	id = find(ids, &key);
	if (!id)
		id = add(ids, &key);
	if (id && !id->is_asked && monotonic_ns() >= id->rests_until_ns && ids->waiting < FILE_IDS_WAITING_MAX)
		waiting = calloc(1, sizeof(*waiting) + path_size);
	if (waiting) {
		waiting->key = key;
		waiting->place = file->place;
		memcpy(waiting->path, file->image->path, path_size - 1);
		*ids->last = waiting;
		ids->last = &waiting->next;
		ids->waiting++;
		id->is_asked = true;
	}
	worker_unlock(&ids->worker);
	if (waiting && sleeps) /* otherwise the thread gets to it without that */
		worker_notify(&ids->worker);
}

bool
file_ids_take_change(struct file_ids *ids, struct image *image, uint32_t *content)
{
	bool any;

	worker_lock(&ids->worker);
	any = ids->change_count > 0;
	if (any) {
		const struct file_id_key *key = &ids->changes[--ids->change_count];

		*image = (struct image){
			.kind = IMAGE_USER,
			.inode = key->inode,
			.inode_generation = key->generation,
			.device_major = key->device_major,
			.device_minor = key->device_minor,
			.path = "",
		};
		*content = key->content;
	}
	worker_unlock(&ids->worker);
	return any;
}

enum file_state
file_ids_complete(struct file_ids *ids, struct image *image)
{
	const struct file_id_key key = key_of(image);
	enum file_state state = FILE_WAITS;
	const struct file_id *id;

	if (!is_file(image))
		return FILE_HAS_NONE;
	worker_lock(&ids->worker);
	id = find(ids, &key);
	if (id) {
		state = id->state;
		if (state == FILE_KNOWN) {
			memcpy(image->build_id, id->build_id, sizeof(image->build_id));
			image->build_id_size = id->build_id_size;
			image->is_roots = id->is_roots;
		}
	}
	worker_unlock(&ids->worker);
	return state;
}

void
file_ids_stats(struct file_ids *ids, struct file_ids_stats *stats)
{
	worker_lock(&ids->worker);
	*stats = ids->stats;
	stats->waiting = ids->waiting + ids->is_busy;
	worker_unlock(&ids->worker);
}

uint64_t
file_ids_cpu_ns(const struct file_ids *ids)
{
	return helper_cpu_ns(&ids->helper);
}

/* ---- the thread; with the lock held ---- */

static void
take_build_id(struct file_id *id, const struct file_answer *answer)
{
	id->state = answer->build_id_size ? FILE_KNOWN : FILE_HAS_NONE;
	memcpy(id->build_id, answer->build_id, sizeof(id->build_id));
	id->build_id_size = answer->build_id_size;
	id->is_roots = answer->is_roots;
	id->version = answer->version;
}

/* The file was written to since it was read: if its build-id differs, its content is another image. */
static void
take_change(struct file_ids *ids, struct file_id *id, const struct file_answer *answer)
{
	struct file_id_key key = id->key;
	struct file_id *changed;

	if (answer->build_id_size == id->build_id_size &&
	    memcmp(answer->build_id, id->build_id, sizeof(id->build_id)) == 0) {
		id->version = answer->version;
		id->is_roots = answer->is_roots;
		return;
	}
	key.content++;
	if (ids->change_count == CHANGES_MAX)
		return; /* keeping the old version, so that the next look finds the change again */
	changed = find(ids, &key);
	if (!changed)
		changed = add(ids, &key);
	if (!changed)
		return;
	id->version = answer->version;
	take_build_id(changed, answer);
	ids->changes[ids->change_count++] = key;
	ids->stats.changed++;
}

static uint64_t
pause_ns(const struct file_version *version)
{
	const uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	const uint64_t pause = now_ns > version->changed_ns ? (now_ns - version->changed_ns) / PAUSE_SHARE : 0;

	return pause < SECOND_NS ? 0 : pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
}

static void
take_answer(struct file_ids *ids, const struct file_id_key *key, const struct file_answer *answer, uint64_t now_ns)
{
	struct file_id *id = find(ids, key);

	if (answer->error == -ETIMEDOUT) {
		ids->stats.hung++;
		if (helper_devices_add(&ids->silent, key->device_major, key->device_minor, &ids->helper))
			log_write(ids->log, LOG_LEVEL_WARNING,
			          "the file system of device %u:%u does not answer: its programs and libraries stay "
			          "without build-id",
			          key->device_major, key->device_minor);
	}
	if (!id)
		return;
	id->is_asked = false;
	if (answer->error) {
		ids->stats.unread += id->state == FILE_WAITS;
		if (id->state == FILE_WAITS)
			id->state = FILE_UNREAD;
		return;
	}
	if (id->state == FILE_WAITS || id->state == FILE_UNREAD) {
		ids->stats.read++;
		ids->stats.unread -= id->state == FILE_UNREAD;
		take_build_id(id, answer);
	} else if (!answer->is_same) {
		take_change(ids, id, answer);
	}
	ids->stats.looks++;
	id->rests_until_ns = now_ns + pause_ns(&answer->version);
}

/* Without the lock. */
static void
ask_child(struct file_ids *ids, const struct waiting_file *file, const struct file_version *version,
          struct file_answer *answer)
{
	const uint64_t deadline_ns = monotonic_ns() + FILE_IDS_PATIENCE_NS;
	const size_t path_size = strlen(file->path) + 1;
	const struct file_question question = {
		.pid = file->place.pid,
		.start = file->place.start,
		.end = file->place.end,
		.device_major = file->key.device_major,
		.device_minor = file->key.device_minor,
		.inode = file->key.inode,
		.inode_generation = file->key.generation,
		.version = *version,
	};
	uint8_t packet[sizeof(question) + PATH_MAX];
	ssize_t got;
	int err;

	memset(answer, 0, sizeof(*answer));
	memcpy(packet, &question, sizeof(question));
	memcpy(packet + sizeof(question), file->path, path_size);
	err = helper_send(&ids->helper, packet, sizeof(question) + path_size, -1);
	got = err ? err
	          : helper_receive(&ids->helper, answer, sizeof(*answer), NULL, ids->worker.stop_bell, deadline_ns);
	if (got < 0)
		answer->error = (int)got;
	else if (got != (ssize_t)sizeof(*answer))
		answer->error = -EPROTO;
}

static void
look_at_next(struct file_ids *ids)
{
	struct waiting_file *file = ids->first;
	const struct file_id *id = find(ids, &file->key);
	const struct file_version version = id ? id->version : (struct file_version){0};
	struct file_answer answer = {.error = -EBUSY};

	ids->first = file->next;
	if (!ids->first)
		ids->last = &ids->first;
	ids->waiting--;
	ids->is_busy = true;
	helper_devices_renew(&ids->silent, &ids->helper);
	if (!helper_devices_have(&ids->silent, file->key.device_major, file->key.device_minor)) {
		worker_unlock(&ids->worker);
		ask_child(ids, file, &version, &answer);
		worker_lock(&ids->worker);
	}
	take_answer(ids, &file->key, &answer, monotonic_ns());
	ids->is_busy = false;
	free(file);
	if (!ids->first)
		worker_notify(&ids->worker);
}

static void *
run(void *context)
{
	struct file_ids *ids = context;

	worker_lock(&ids->worker);
	while (!ids->worker.stop) {
		if (ids->first)
			look_at_next(ids);
		else
			worker_wait(&ids->worker);
	}
	worker_unlock(&ids->worker);
	return NULL;
}

void
file_ids_wait(struct file_ids *ids, uint64_t timeout_ns)
{
	const uint64_t until_ns = monotonic_ns() + timeout_ns;
	int err = 0;

	worker_lock(&ids->worker);
	while ((ids->first || ids->is_busy) && !err)
		err = worker_wait_until(&ids->worker, until_ns);
	worker_unlock(&ids->worker);
}

struct file_ids *
file_ids_new(const struct log *log)
{
	struct file_ids *ids = calloc(1, sizeof(*ids));
	int err;

	if (!ids)
		return NULL;
	ids->log = log;
	ids->last = &ids->first;
	helper_init(&ids->helper, read_files);
	(void)helper_start(&ids->helper); /* now, while dcpid is small; if it fails, when it is needed */
	err = worker_start(&ids->worker, run, ids);
	if (!err)
		return ids;
	helper_fini(&ids->helper);
	free(ids);
	errno = -err;
	return NULL;
}

void
file_ids_free(struct file_ids *ids)
{
	struct file_id *id, *next;

	if (!ids)
		return;
	worker_stop(&ids->worker);
	helper_fini(&ids->helper);
	id = ids->ids;
	HASH_CLEAR(hh, ids->ids);
	for (; id; id = next) {
		next = id->hh.next;
		free(id);
	}
	while (ids->first) {
		struct waiting_file *file = ids->first;

		ids->first = file->next;
		free(file);
	}
	worker_fini(&ids->worker);
	free(ids);
}
