#include "tests/unit/test.h"

#include "profile/directory.h"

/* Numbers as statfs(2) lists them, and Linux' sources where it does not. */
static void
network_file_systems_are_known_by_their_type(void **state)
{
	static const uint32_t network[] = {
		0x6969 /* nfs */,      0xff534d42 /* cifs */, 0xfe534d42 /* smb2 */,
		0x517b /* smb */,      0x01021997 /* 9p */,   0x5346414f /* afs */,
		0x00c36400 /* ceph */, 0x73757245 /* coda */, 0x7461636f /* ocfs2 */,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(network) / sizeof(network[0]); i++)
		assert_true(directory_is_network(network[i]));
}

static void
local_file_systems_are_not_refused(void **state)
{
	static const uint32_t local[] = {
		0xef53 /* ext4 */,        0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
		0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */, 0xf2f52010 /* f2fs */,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		assert_false(directory_is_network(local[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_file_systems_are_known_by_their_type),
		cmocka_unit_test(local_file_systems_are_not_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
