/*
 * call_filter.h - statements of a seccomp(2) filter, for the tables in replica_ARCHITECTURE.c
 *
 * The replica has no libc, so no libseccomp either. Thread rule: stateless.
 */
#ifndef DCPI_TOOLS_X_REPLICA_CALL_FILTER_H
#define DCPI_TOOLS_X_REPLICA_CALL_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define ALLOW      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
/* Unless the loaded value is `value`, skip so many statements. */
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)

#endif
