/*
 * plugin_api.h - what QEMU's user-mode emulators offer their plugins, interfaces 1 to 4
 *
 * Debian has no package with QEMU's own header, and the interface is small. These declarations fit qemu-user 6.0 to
 * 10.0; the functions are found in the emulator when it loads the plugin. Only what is used is declared. A plugin names
 * one version: QEMU accepts 1 up to 8.2, and 2 from 9.0 on; plugin_api.c chooses by the functions that the emulator
 * has. A function of only one version is weak: NULL where it is missing. Rules that QEMU's header does not document:
 * the path of the program is not known while a plugin is installed; a translation callback holds the lock on the
 * guest's mappings; no callback is called when a signal kills the guest; after a fork the child continues with the
 * plugin and its memory. A virtual CPU begins in its parent's clone() (interface 1), or on its own thread before
 * anything is translated for it (interface 2).
 */
#ifndef DCPI_EMULATOR_PLUGIN_API_H
#define DCPI_EMULATOR_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_API_FIRST  1
#define PLUGIN_API_SECOND 2
#define PLUGIN_EXPORT     __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;

typedef struct {
	const char *target_name; /* "x86_64", "aarch64" */
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

struct qemu_plugin_tb;   /* a block of code that is being translated; valid during the callback */
struct qemu_plugin_insn; /* an instruction of it */

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
};

/* QEMU 7.2 mixes up loads and stores if only one of them is requested: for loads it calls back at stores. */
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_RW = 3,
};

enum qemu_plugin_op {
	QEMU_PLUGIN_INLINE_ADD_U64, /* not atomic: only for a program without threads */
};

typedef void (*qemu_plugin_vcpu_simple_cb_t)(qemu_plugin_id_t id, unsigned vcpu);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned vcpu, void *data);
typedef uint32_t qemu_plugin_meminfo_t; /* of an access: its size, and whether it is a store */
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t id, void *data);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_vcpu_syscall_cb_t)(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1,
                                              uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                              uint64_t a7, uint64_t a8);
typedef void (*qemu_plugin_vcpu_syscall_ret_cb_t)(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t callback);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t callback,
                                          enum qemu_plugin_cb_flags flags, void *data);
/* Only interface 1; from 2 on, counters are in the emulator's scoreboards, which are lost when the guest is killed. */
__attribute__((weak)) void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op,
                                                                    void *data, uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t callback,
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw which, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_ret_cb_t callback);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn); /* in the guest */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);    /* its address in the emulator */

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info); /* log2 of its bytes */
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t callback, void *data);

/* From interface 2 on. */
__attribute__((weak)) struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);

/* What a plugin exports. */
PLUGIN_EXPORT extern int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

#endif
