/*
 * run_time.h - what a process told about the code that it made
 *
 * Descriptor RUN_TIME_FILE, open for reading: dcpid hands it over as one that only stands for the file (O_PATH). The
 * request's `start` is the address of offset 0, its `end` the position in the file up to which it was read before.
 * Thread rule: one thread.
 */
#ifndef DCPI_CAPTURE_RUN_TIME_H
#define DCPI_CAPTURE_RUN_TIME_H

#include "capture/protocol.h"
#include "code/capture.h"

/*
 * As capture_take(); makes no calls but read(2), pread(2) and lseek(2). CAPTURE_REUSED when all was taken. `lack` is
 * filled in any case.
 */
int run_time_take(const struct capture_request *request, capture_put *put, void *context, struct capture_lack *lack);

#endif
