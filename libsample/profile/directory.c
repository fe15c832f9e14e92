#include "profile/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

#define DIRECTORY_MODE 0750

/* Those that linux/magic.h does not have. */
#define GFS2_MAGIC    0x01161970
#define LUSTRE_MAGIC  0x0bd00bd0
#define OCFS2_MAGIC   0x7461636f
#define VBOXSF_MAGIC  0x786f4256
#define BEEGFS_MAGIC  0x19830326
#define GPFS_MAGIC    0x47504653
#define CEPH_MAGIC    0x00c36400
#define CIFS_MAGIC    0xff534d42
#define SMB2_MAGIC    0xfe534d42
#define AFS_KAFS      0x6b414653
#define AFS_OPENAFS   0x5346414f
#define NCP_NET_MAGIC 0x564c

/* LMDB needs locks and a page cache that all writers and readers share: not there, whatever the mount says. */
bool
directory_is_network(uint32_t magic)
{
	static const uint32_t magics[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_MAGIC,   SMB2_MAGIC,    V9FS_MAGIC,  CODA_SUPER_MAGIC,
		AFS_KAFS,        AFS_OPENAFS,     CEPH_MAGIC,   LUSTRE_MAGIC,  OCFS2_MAGIC, GFS2_MAGIC,
		GPFS_MAGIC,      BEEGFS_MAGIC,    VBOXSF_MAGIC, NCP_NET_MAGIC,
	};

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i] == magic)
			return true;
	return false;
}

static int
check_file_system(int directory)
{
	struct statfs statfs;

	if (fstatfs(directory, &statfs) < 0)
		return -errno;
	return directory_is_network((uint32_t)statfs.f_type) ? -DCPI_ENETWORKFS : 0;
}

/* Without the slashes at its end: with them, the kernel follows a symbolic link whatever the flags say. */
static char *
path_without_slashes(const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return strndup(path, size);
}

static int
open_directory(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (directory >= 0)
		return directory;
	/* O_DIRECTORY wins over O_NOFOLLOW: a link is no directory, says the kernel. */
	if (errno != ENOTDIR)
		return -errno;
	return lstat(path, &stat) == 0 && S_ISLNK(stat.st_mode) ? -DCPI_ESYMLINK : -ENOTDIR;
}

int
directory_open(const char *path, bool write)
{
	char *name = path_without_slashes(path);
	bool made = false;
	int directory, err = 0;

	if (!name)
		return -ENOMEM;
	if (write) {
		made = mkdir(name, DIRECTORY_MODE) == 0;
		if (!made && errno != EEXIST)
			err = -errno;
	}
	directory = open_directory(name);
	free(name);
	if (directory < 0)
		return err ? err : directory;
	err = write ? check_file_system(directory) : 0;
	if (!err && made && fchmod(directory, DIRECTORY_MODE) < 0) /* whatever the umask */
		err = -errno;
	if (!err)
		return directory;
	close(directory);
	return err;
}

off_t
directory_file_size(int directory, const char *name)
{
	struct stat stat;

	if (fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(stat.st_mode))
		return -DCPI_ESYMLINK;
	return S_ISREG(stat.st_mode) ? stat.st_size : -DCPI_EFOREIGN;
}

void
directory_remove_copy(int directory)
{
	if (unlinkat(directory, DIRECTORY_COPY, 0) < 0)
		return; /* mostly it is not there; else the next compaction says why it cannot be made */
}
