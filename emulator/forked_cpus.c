#include "emulator/forked_cpus.h"

#include <dlfcn.h>
#include <stddef.h>

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
