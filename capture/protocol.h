/*
 * protocol.h - the messages between dcpid and dcpi-capture
 *
 * dcpid starts one dcpi-capture for one image. dcpid writes a request to the standard input of dcpi-capture and closes
 * it. dcpi-capture opens the file, enters its jail (jail.h), reads the file and writes messages to its standard output:
 * values for the database (profile/captured.h), and at the end its result. A process that died has not written that
 * last message.
 * A malicious file may have taken over the process that writes the messages: so they are bounded, trusted only for
 * their own image, and their values are not parsed. The message about the file's owner must be the first, written
 * before any byte of the file is read, and the only one of its kind.
 * Thread rule: stateless; one thread per struct capture_reply.
 */
#ifndef DCPI_CAPTURE_PROTOCOL_H
#define DCPI_CAPTURE_PROTOCOL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "process/image_table.h"
#include "profile/captured.h"

#define CAPTURE_PROGRAM    "dcpi-capture"
#define REQUEST_PLACES_MAX 65536   /* blocks with samples in one request */
#define REQUEST_KNOWN_MAX  1048576 /* blocks that the database has: 4 GiB of text */
#define REQUEST_SIZE_MAX   ((size_t)16 << 20)
#define REPLY_PARCELS_MAX  1024
#define RUN_TIME_FILE      3 /* for an image of run-time code: descriptor of the file about it, opened with O_PATH */
#define REPLY_SIZE_MAX     ((size_t)24 << 20) /* of all messages */

/* Equal to struct capture_place of code/capture.h, which dcpid does not link. */
struct request_place {
	uint32_t block;
	uint64_t granules;
};

struct capture_request {
	struct image image;
	uint32_t pid;        /* a process that has it mapped, or had; 0: none is known */
	uint64_t start, end; /* the mapping's addresses in it; of run-time code the address of offset 0, and the
	                      * position in its file up to which it was read before; of the
	                      * kernel or a module its text's, end 0: not known */
	bool names;          /* wanted */
	bool unwind;         /* the unwind table is wanted, and nothing else */
	const struct request_place *places; /* ascending */
	size_t place_count;
	const uint32_t *known; /* ascending */
	size_t known_count;
};

/* 0; -E2BIG past the maxima above; -ENOMEM. */
int capture_request_encode(const struct capture_request *request, struct byte_writer *writer);

/* Storage that a decoded request points into. */
struct capture_request_room {
	char path[PATH_MAX];
	struct request_place *places;
	uint32_t *known;
};

/* 0; -ENOMEM; -EBADMSG when it is no request. capture_request_fini() the room in any case. */
int capture_request_decode(const void *data, size_t size, struct capture_request *request,
                           struct capture_request_room *room);
void capture_request_fini(struct capture_request_room *room);

/* ---- messages ---- */

/* Success, but memory of run-time code has been reused for other code since. */
#define CAPTURE_REUSED (-EEXIST)

enum capture_message {
	MESSAGE_SYMBOLS = 1, /* a value */
	MESSAGE_LAYOUT = 2,
	MESSAGE_PARCEL = 3, /* the first block as four bytes, and the value */
	MESSAGE_END = 4,    /* the result, as a varint: 0, or an errno or DCPI_E... as a positive number */
	MESSAGE_OWNER = 6,  /* of a file, before all others: a byte, 1 when it is root's (process/mapped_file.h) */
	MESSAGE_UNWIND = 7, /* a value */
	MESSAGE_LACK = 5,   /* of run-time code: a byte, 1 when it was cut, and a varint (struct capture_lack) */
};

/* What was left out of a process's file about its run-time code. */
struct capture_lack {
	bool is_cut;            /* something was left out because of a limit */
	uint64_t misunderstood; /* lines or records that were not valid */
};

#define MESSAGE_HEAD_SIZE 5 /* its kind, and the size of the rest as four bytes, big-endian */

/* Append the message's value; on failure the writer has `failed`. */
void capture_lack_encode(const struct capture_lack *lack, struct byte_writer *writer);

void capture_message_head(enum capture_message kind, size_t size, uint8_t head[MESSAGE_HEAD_SIZE]);

/*
 * All messages, in the form that the database takes; pointers point into the bytes that were read, and into the reply.
 */
struct capture_reply {
	struct captured captured;
	struct captured_value parcels[REPLY_PARCELS_MAX];
	struct capture_lack lack;
	bool has_lack; /* `lack` was sent; false: nothing was left out */
	bool has_ended;
	int error; /* of the last message: 0, or negative */
};

/* 0, or -EBADMSG unless the data is whole messages, of which MESSAGE_END, if there is one, is the last. */
int capture_reply_decode(const void *data, size_t size, struct capture_reply *reply);

#endif
