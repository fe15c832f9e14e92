/*
 * kernel_text.h - text of the kernel and its modules, from /proc/kcore
 *
 * The text is what is executed, with everything that the kernel has patched into it. Offsets, and the addresses of the
 * layout, are distances from the image's start: readers of profiles must not learn where a kernel lies. Procedures are
 * not known here, so the blocks beside those with samples are captured, too. /proc is trusted, and reading it is
 * bounded, so this needs no process of its own, whose start alone takes 2 ms.
 * Thread rule: one thread, which reads files of /proc.
 */
#ifndef DCPI_COLLECTORD_KERNEL_TEXT_H
#define DCPI_COLLECTORD_KERNEL_TEXT_H

#include "collectord/capture_child.h"

/*
 * Answer a request (capture/protocol.h) about the kernel or a module as capture_child_run() does about a file; its
 * cpu_ns is 0. The image lies where the request says, if a module has not moved; otherwise a list of all symbols is
 * read, which takes the kernel 40 ms. Errors: -ENOENT for what is not loaded; -ENODEV for a kernel without
 * `procfs`/kcore; -EACCES, -EPERM (a kernel that is locked down, CAP_SYS_RAWIO); -DCPI_EDAMAGED for a kcore that is no
 * core file; -ENOMEM, -EBADMSG.
 */
void kernel_text_run(const char *procfs, const struct byte_writer *request, struct capture_outcome *outcome);

/* Are `block` and the blocks beside it among the `known`, ascending? Then a request for it would bring nothing. */
bool kernel_text_is_known(uint32_t block, const uint32_t *known, size_t known_count);

#endif
