/* Tests of dcpi-tools/mem/source.h: the nodes that a machine's sysfs names, and the event of Arm's SPE there. */
#include "dcpi-tools/mem/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcpi-tools/mem/spe_live.h"
#include "tests/unit/test.h"

static char sysfs[] = "/tmp/dcpi-sysfs.XXXXXX";

/* A file below it, with the folders that lead there. */
static void
put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	for (char *at = path + strlen(sysfs) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)mkdir(path, 0700);
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int
setup(void **state)
{
	(void)state;
	strcpy(strrchr(sysfs, '.'), ".XXXXXX");
	return mkdtemp(sysfs) ? 0 : -1;
}

static int
teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", sysfs);
	return system(command);
}

static void
cpus_have_their_nodes(void **state)
{
	struct node_cpus cpus;

	(void)state;
	put("devices/system/cpu/cpu0/cache/index0/coherency_line_size", "128\n");
	put("devices/system/node/node0/cpulist", "0-1,4\n");
	put("devices/system/node/node1/cpulist", "2-3,5\n");
	assert_int_equal(node_cpus_read(sysfs, &cpus), 0);
	assert_int_equal(cpus.nodes, 2);
	assert_int_equal(cpus.node_cpus, 3);
	assert_int_equal(cpus.line_bytes, 128);
	assert_int_equal(cpus.node[1], 0);
	assert_int_equal(cpus.node[2], 1);
	assert_int_equal(cpus.node[4], 0);
	assert_int_equal(cpus.node[5], 1);
}

static void
a_node_of_memory_alone_has_its_number(void **state)
{
	struct node_cpus cpus;

	(void)state;
	put("devices/system/node/node0/cpulist", "\n");
	put("devices/system/node/node1/cpulist", "0-7\n");
	assert_int_equal(node_cpus_read(sysfs, &cpus), 0);
	assert_int_equal(cpus.nodes, 2);
	assert_int_equal(cpus.node_cpus, 8);
	assert_int_equal(cpus.node[7], 1);
}

static void
a_kernel_without_nodes_has_one(void **state)
{
	struct node_cpus cpus;

	(void)state;
	assert_int_equal(node_cpus_read(sysfs, &cpus), 0);
	assert_int_equal(cpus.nodes, 1);
	assert_true(cpus.node_cpus >= 1);
	assert_int_equal(cpus.line_bytes, 0);
	assert_int_equal(cpus.node[0], 0);
}

/* Fields as drivers/perf/arm_spe_pmu.c of linux has them in format/. */
static void
the_event_of_spe_filters_loads_and_stores_with_times(void **state)
{
	struct event_encoding encoding;
	char why[EVENT_NOTE_SIZE];

	(void)state;
	put("bus/event_source/devices/arm_spe_0/type", "31\n");
	put("bus/event_source/devices/arm_spe_0/format/ts_enable", "config:0\n");
	put("bus/event_source/devices/arm_spe_0/format/jitter", "config:16\n");
	put("bus/event_source/devices/arm_spe_0/format/load_filter", "config:33\n");
	put("bus/event_source/devices/arm_spe_0/format/store_filter", "config:34\n");
	assert_int_equal(event_encode(sysfs, SPE_LIVE_EVENT, &encoding, why, sizeof(why)), 0);
	assert_int_equal(encoding.type, 31);
	assert_int_equal(encoding.config, 0x600010001);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cpus_have_their_nodes),
		TEST(a_node_of_memory_alone_has_its_number),
		TEST(a_kernel_without_nodes_has_one),
		TEST(the_event_of_spe_filters_loads_and_stores_with_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
