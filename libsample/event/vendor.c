#include "event/vendor.h"

#include <dlfcn.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "libpfm.so.4"

/* What names and attributes consist of: the library is not loaded for anything else. */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.="

struct vendor_library {
	void *handle;
	__typeof__(&pfm_initialize) initialize;
	__typeof__(&pfm_terminate) terminate;
	__typeof__(&pfm_get_os_event_encoding) encode;
	__typeof__(&pfm_get_event_info) describe;
};

/* False: it is not installed, or lacks a function. */
static bool
vendor_library_load(struct vendor_library *library)
{
	library->handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	if (!library->handle)
		return false;
	library->initialize = (__typeof__(library->initialize))dlsym(library->handle, "pfm_initialize");
	library->terminate = (__typeof__(library->terminate))dlsym(library->handle, "pfm_terminate");
	library->encode = (__typeof__(library->encode))dlsym(library->handle, "pfm_get_os_event_encoding");
	library->describe = (__typeof__(library->describe))dlsym(library->handle, "pfm_get_event_info");
	if (library->initialize && library->terminate && library->encode && library->describe)
		return true;
	dlclose(library->handle);
	return false;
}

static int
vendor_library_encode(const struct vendor_library *library, const char *name, struct event_encoding *encoding)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t request = {.attr = &attr, .size = sizeof(request)};
	pfm_event_info_t info = {.size = sizeof(info)};

	if (library->encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &request) != PFM_SUCCESS ||
	    library->describe(request.idx, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
		return -ENOENT;
	/*
	 * libpfm4 takes names that mean something else here: a raw event r0x1, and the suffixes .u, .k, .h and .mg,
	 * which set members that are not copied. The modifiers :u and :k are parsed elsewhere.
	 */
	if (attr.type != PERF_TYPE_RAW || info.pmu == PFM_PMU_PERF_EVENT_RAW || attr.exclude_user ||
	    attr.exclude_kernel || attr.exclude_host)
		return -ENOENT;
	memset(encoding, 0, sizeof(*encoding));
	encoding->type = attr.type;
	encoding->config = attr.config;
	encoding->config1 = attr.config1;
	encoding->config2 = attr.config2;
	return 0;
}

int
vendor_event_encode(const char *name, struct event_encoding *encoding)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* libpfm4 keeps what it found out in globals */
	struct vendor_library library;
	int err = -ENOPKG;

	if (!*name || name[strspn(name, NAME_CHARACTERS)])
		return -ENOENT;
	pthread_mutex_lock(&lock);
	if (!vendor_library_load(&library))
		goto out;
	err = -ENOENT;
	if (library.initialize() == PFM_SUCCESS) {
		err = vendor_library_encode(&library, name, encoding);
		library.terminate();
	}
	dlclose(library.handle);
out:
	pthread_mutex_unlock(&lock);
	return err;
}
