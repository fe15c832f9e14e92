/*
 * protocol.h - what dcpid and dcpi-capture write to each other
 *
 * dcpid starts one dcpi-capture for one image. It writes a request to its standard input and closes it; dcpi-capture
 * opens the file, locks itself up, reads the file and writes messages to its standard output: values for the database
 * (profile/captured.h), and last of all how it ended. A process that died has not written that last message.
 * Messages come from a process that the file may have taken over when it was read: they are bounded, trusted for their
 * own image only, and their values are not parsed. The message about the file's owner is the first, before anything of
 * the file was read, and there is only one.
 * Thread rule: stateless, but a struct capture_reply is one thread's.
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
#define RUN_TIME_FILE      3 /* descriptor of the file about run-time code, for an image of such; opened with O_PATH */
#define REPLY_SIZE_MAX     ((size_t)24 << 20) /* of all messages */

/* As struct capture_place of code/capture.h, which dcpid does not link. */
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

/* 0; -ENOMEM; -EBADMSG for what is no request. capture_request_fini() the room in any case. */
int capture_request_decode(const void *data, size_t size, struct capture_request *request,
                           struct capture_request_room *room);
void capture_request_fini(struct capture_request_room *room);

/* ---- messages ---- */

/* Success; but memory of run-time code was reused for other code since. */
#define CAPTURE_REUSED (-EEXIST)

enum capture_message {
	MESSAGE_SYMBOLS = 1, /* a value */
	MESSAGE_LAYOUT = 2,
	MESSAGE_PARCEL = 3, /* the first block as four bytes, and the value */
	MESSAGE_END = 4,    /* how it ended: 0, or an errno or DCPI_E... as a positive number, as a varint */
	MESSAGE_OWNER = 6,  /* of a file, before all others: a byte, 1 when it is root's (process/mapped_file.h) */
	MESSAGE_LACK = 5,   /* of run-time code: a byte, 1 when it was cut, and a varint (struct capture_lack) */
};

/* What was left out of a process's file about its code. */
struct capture_lack {
	bool is_cut;            /* there is more than is read */
	uint64_t misunderstood; /* lines or records */
};

#define MESSAGE_HEAD_SIZE 5 /* its kind, and the size of the rest as four bytes, big-endian */

/* Append the message's value; failure is in the writer. */
void capture_lack_encode(const struct capture_lack *lack, struct byte_writer *writer);

void capture_message_head(enum capture_message kind, size_t size, uint8_t head[MESSAGE_HEAD_SIZE]);

/* All messages, as the database takes them; pointers lead into the bytes that were read, and into the reply. */
struct capture_reply {
	struct captured captured;
	struct captured_value parcels[REPLY_PARCELS_MAX];
	struct capture_lack lack;
	bool has_lack; /* `lack` was sent; false: nothing was left out */
	bool has_ended;
	int error; /* of the last message: 0, or negative */
};

/* 0, or -EBADMSG for anything but whole messages with the one of the end, if there is one, at last. */
int capture_reply_decode(const void *data, size_t size, struct capture_reply *reply);

#endif
