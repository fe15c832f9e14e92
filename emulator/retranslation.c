#include "emulator/retranslation.h"

#include <dlfcn.h>
#include <stddef.h>

bool
retranslation_init(struct retranslation *retranslation)
{
	*(void **)&retranslation->find = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	*(void **)&retranslation->begin_alone = dlsym(RTLD_DEFAULT, "start_exclusive");
	*(void **)&retranslation->end_alone = dlsym(RTLD_DEFAULT, "end_exclusive");
	*(void **)&retranslation->forget = dlsym(RTLD_DEFAULT, "tb_flush");
	return retranslation->find && retranslation->begin_alone && retranslation->end_alone && retranslation->forget;
}

void
retranslate(const struct retranslation *retranslation, unsigned vcpu)
{
	void *cpu = retranslation->find((int)vcpu);

	if (!cpu)
		return;
	retranslation->begin_alone();
	retranslation->forget(cpu); /* at once, as no other executes anything */
	retranslation->end_alone();
}
