/*
 * protocol.h - what dcpid and dcpi-capture say to each other
 *
 * dcpid starts one dcpi-capture for one image. It writes a request to its standard input and closes it; dcpi-capture
 * opens the file, locks itself up, reads the file and writes messages to its standard output: values for the database
 * (profile/captured.h), and at last one that says how it ended. A process that died has not said that.
 * Messages come from a process that may have been taken over by the file that it read: they are bounded, believed for
 * nothing but their own image, and what is in their values is not looked into. Whose file it is, it says first, before
 * it has read any of it, and once.
 * Thread rule: stateless, but a struct reply is one thread's.
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
#define RUN_TIME_FILE      3 /* descriptor of what a process told about its code, for an image of such */
#define REPLY_SIZE_MAX     ((size_t)24 << 20) /* of all messages */

/* As struct capture_place of code/capture.h, which dcpid does not link. */
struct request_place {
	uint32_t block;
	uint64_t granules;
};

struct capture_request {
	struct image image;
	uint32_t pid;                       /* a process that has it mapped, or had; 0: none is known */
	uint64_t start, end;                /* the mapping's addresses in it; of run-time code see run_time.h; of the
	                                     * kernel or a module its text's, end 0: not known */
	bool names;                         /* wanted */
	const struct request_place *places; /* ascending */
	size_t place_count;
	const uint32_t *known; /* ascending */
	size_t known_count;
};

/* 0; -E2BIG past the maxima above; -ENOMEM. */
int capture_request_encode(const struct capture_request *request, struct byte_writer *writer);

/* What a request's pointers point into. */
struct capture_request_room {
	char path[PATH_MAX];
	struct request_place *places;
	uint32_t *known;
};

/* 0; -ENOMEM; -EBADMSG for what is none. capture_request_fini() the room in any case. */
int capture_request_decode(const void *data, size_t size, struct capture_request *request,
                           struct capture_request_room *room);
void capture_request_fini(struct capture_request_room *room);

/* ---- messages ---- */

/* Ended well; but memory of run-time code has other code by now than what was taken of it. */
#define CAPTURE_REUSED (-EEXIST)

enum capture_message {
	MESSAGE_SYMBOLS = 1, /* a value */
	MESSAGE_LAYOUT = 2,
	MESSAGE_PARCEL = 3, /* the first block as four bytes, and the value */
	MESSAGE_END = 4,    /* how it ended: 0, or an errno or DCPI_E... as a positive number, as a varint */
	MESSAGE_OWNER = 6,  /* of a file, before all others: a byte, 1 when it is root's (process/mapped_file.h) */
	MESSAGE_LACK = 5,   /* of run-time code: a byte, 1 when it was cut, and a varint (struct capture_lack) */
};

/* What was left out of that which a process told about its code. */
struct capture_lack {
	bool is_cut;            /* there is more than is read */
	uint64_t misunderstood; /* lines or records */
};

#define MESSAGE_HEAD_SIZE 5 /* its kind, and the size of the rest as four bytes, big-endian */

/* The message's value; what failed, the writer knows. */
void capture_lack_encode(const struct capture_lack *lack, struct byte_writer *writer);

void capture_message_head(enum capture_message kind, size_t size, uint8_t head[MESSAGE_HEAD_SIZE]);

/* All that came, as it is for the database; what it points to is in the bytes that were read. */
struct capture_reply {
	struct captured captured;
	struct captured_value parcels[REPLY_PARCELS_MAX];
	struct capture_lack lack;
	bool has_lack; /* it was said; else nothing lacks */
	bool has_ended;
	int error; /* that it ended with: 0, or negative */
};

/* 0, or -EBADMSG for anything but whole messages with the one of the end, if there is one, at last. */
int capture_reply_decode(const void *data, size_t size, struct capture_reply *reply);

#endif
