/*
 * collection_site.h - the whole way on this machine: perf events, /proc, a database
 */
#ifndef DCPI_TESTS_COLLECTION_SITE_H
#define DCPI_TESTS_COLLECTION_SITE_H

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collectord/collection.h"
#include "collectord/machine.h"
#include "profile/selection.h"
#include "tests/unit/test.h"

#define PATIENCE_NS UINT64_C(20000000000)

struct site {
	struct config config;
	struct collection *collection;
	char why[512];
	int err; /* why there is no collection */
};

static inline int
open_site(void **state)
{
	struct site *site = calloc(1, sizeof(*site));

	config_default(&site->config);
	snprintf(site->config.database, sizeof(site->config.database), "/tmp/dcpi-collection.XXXXXX");
	if (!mkdtemp(site->config.database))
		return -1;
	site->config.ring_pages = 16;
	site->config.sideband_pages = 64;
	site->config.event_count = 1;
	site->config.events[0] = (struct event_spec){.name = "cpu-clock", .rate = 1000, .user = true, .kernel = true};
	site->err = collection_open(&site->config, NULL, &site->collection, site->why, sizeof(site->why));
	if (!site->err)
		site->err = collection_start(site->collection, "first", site->why, sizeof(site->why));
	*state = site;
	return 0;
}

static inline int
close_site(void **state)
{
	static const char *const files[] = {"data.mdb", "lock.mdb", "dcpid.lock", "readers.lock"};
	struct site *site = *state;
	char path[PATH_MAX + 16];

	collection_close(site->collection);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", site->config.database, files[i]);
		unlink(path);
	}
	rmdir(site->config.database);
	free(site);
	return 0;
}

#define needs_perf_events(site)                                                                                        \
	do {                                                                                                           \
		if ((site)->err == -EACCES || (site)->err == -EPERM || (site)->err == -ENOSYS)                         \
			skip_because((site)->why);                                                                     \
		assert_int_equal((site)->err, 0);                                                                      \
	} while (0)

static inline struct collection_view
view_of(const struct site *site)
{
	struct collection_view view;

	collection_view(site->collection, &view);
	return view;
}

/* Of this thread and its own code: who asks for the time again and again is in the kernel. */
static inline void
work_for(uint64_t duration_ns)
{
	const uint64_t start_ns = machine_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	volatile unsigned spin = 0;

	while (machine_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns < duration_ns)
		for (unsigned i = 0; i < 10000; i++)
			spin++;
}

static inline void
count_complaint(void *context, const char *text)
{
	print_error("%s\n", text);
	++*(unsigned *)context;
}

/* Close the collection and read what it wrote: all epochs. */
static inline struct selection *
read_back(struct site *site, struct profile **profile)
{
	const struct selection_request request = {.epoch = "all"};
	const struct profile_options options = {.write = false};
	struct selection *selection;
	unsigned complaints = 0;

	collection_close(site->collection);
	site->collection = NULL;
	assert_int_equal(profile_open(site->config.database, &options, profile), 0);
	assert_int_equal(profile_check(*profile, count_complaint, &complaints), 0);
	assert_int_equal(selection_read(*profile, &request, &selection, site->why, sizeof(site->why)), 0);
	return selection;
}

#define SITE_TEST(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

#endif
