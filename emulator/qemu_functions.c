#include "emulator/qemu_functions.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

bool
tb_flush_init(struct tb_flush *flush)
{
	*(void **)&flush->find = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	*(void **)&flush->begin_alone = dlsym(RTLD_DEFAULT, "start_exclusive");
	*(void **)&flush->end_alone = dlsym(RTLD_DEFAULT, "end_exclusive");
	*(void **)&flush->forget = dlsym(RTLD_DEFAULT, "tb_flush");
	return flush->find && flush->begin_alone && flush->end_alone && flush->forget;
}

void
tb_flush_all(const struct tb_flush *flush, unsigned vcpu)
{
	void *cpu = flush->find((int)vcpu);

	if (!cpu)
		return;
	flush->begin_alone();
	flush->forget(cpu); /* done at once, as no other thread executes guest code */
	flush->end_alone();
}

void
forked_cpus_note(struct forked_cpus *forked, unsigned highest)
{
	forked->count = 0;
	if (!forked->find) {
		*(void **)&forked->find = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
		*(void **)&forked->forget = dlsym(RTLD_DEFAULT, "qemu_plugin_vcpu_exit_hook");
	}
	for (unsigned i = 0; forked->find && i < highest && i < FORKED_CPUS_MAX; i++) {
		void *cpu = forked->find((int)i);

		if (cpu)
			forked->cpus[forked->count++] = cpu;
	}
}

void
forked_cpus_begin(struct forked_cpus *forked)
{
	forked->is_child = true;
}

void
forked_cpus_forget(struct forked_cpus *forked, unsigned vcpu)
{
	const void *own = forked->find ? forked->find((int)vcpu) : NULL;

	if (!forked->is_child)
		return;
	forked->is_child = false;
	if (!own || !forked->forget)
		return;
	forked->is_forgetting = true;
	for (unsigned i = 0; i < forked->count; i++)
		if (forked->cpus[i] != own)
			forked->forget(forked->cpus[i]);
	forked->is_forgetting = false;
}

/* Functions of the emulator; numbers of registers as debuggers count them. */
static const struct {
	const char *target, *write_register;
	int number;
} targets[] = {
	{"x86_64", "x86_cpu_gdb_write_register", 0},      /* rax */
	{"aarch64", "aarch64_cpu_gdb_write_register", 0}, /* x0 */
	{"riscv64", "riscv_cpu_gdb_write_register", 10},  /* a0 */
};

bool
guest_result_init(struct guest_result *result, const char *target)
{
	memset(result, 0, sizeof(*result));
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (strcmp(targets[i].target, target) != 0)
			continue;
		*(void **)&result->find_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
		*(void **)&result->write_register = dlsym(RTLD_DEFAULT, targets[i].write_register);
		result->number = targets[i].number;
	}
	return result->find_cpu && result->write_register;
}

void
guest_result_write(const struct guest_result *result, unsigned vcpu, int64_t value)
{
	uint8_t bytes[sizeof(value)];
	void *cpu;

	if (!result->find_cpu || !result->write_register)
		return;
	memcpy(bytes, &value, sizeof(bytes)); /* all targets are little-endian, as the host is */
	cpu = result->find_cpu((int)vcpu);
	if (cpu)
		result->write_register(cpu, bytes, result->number);
}
