/*
 * kernel_text.h - text of the kernel and its modules, from /proc/kcore
 *
 * As it is executed, with all that the kernel has patched into it. Offsets are distances from the image's start; so are
 * the addresses of the layout, for where a kernel lies is not told to those who read profiles. Procedures are not
 * known here: the blocks beside those with samples are taken, too.
 * Thread rule: one thread.
 */
#ifndef DCPI_CAPTURE_KERNEL_TEXT_H
#define DCPI_CAPTURE_KERNEL_TEXT_H

#include "capture/protocol.h"
#include "code/capture.h"

struct kernel_text {
	int kcore;
	uint64_t address, size; /* of the image's text */
};

/*
 * Open `procfs`/kcore and find out where the image of the request lies: where the request says, if a module has not
 * moved; or else by a list of all symbols, which takes the kernel 40 ms. 0; -ENOENT for what is not loaded; -ENODEV for
 * a kernel without it; -EACCES, -EPERM (a kernel that is locked down, CAP_SYS_RAWIO).
 */
int kernel_text_open(const char *procfs, const struct capture_request *request, struct kernel_text *text);

/* As capture_take(); makes no calls but pread(2). */
int kernel_text_take(const struct kernel_text *text, const struct capture_request *request, capture_put *put,
                     void *context);

#endif
