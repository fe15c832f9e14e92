#include "emulator/tb_flush.h"

#include <dlfcn.h>
#include <stddef.h>

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
