#include "emulator/clock/guest_result.h"

#include <dlfcn.h>
#include <string.h>

/* Names in the emulator; numbers of registers as debuggers count them. */
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
