#include "profile/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/directory.h"

int
place_note(struct place *place, int directory)
{
	int fd = openat(directory, DIRECTORY_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat data, lock;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &data) < 0 || fstatat(directory, DIRECTORY_LOCK, &lock, AT_SYMLINK_NOFOLLOW) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	place_fini(place);
	*place = (struct place){
		.data = fd,
		.device = data.st_dev,
		.data_number = data.st_ino,
		.lock_number = lock.st_ino,
	};
	return 0;
}

void
place_fini(struct place *place)
{
	if (place->data >= 0)
		close(place->data);
	place->data = -1;
}

static bool
is_numbered(const struct place *place, int directory, const char *name, ino_t number)
{
	struct stat stat;

	return place->data >= 0 && fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       stat.st_dev == place->device && stat.st_ino == number;
}

bool
place_has_data(const struct place *place, int directory)
{
	return is_numbered(place, directory, DIRECTORY_DATA, place->data_number);
}

bool
place_has_lock(const struct place *place, int directory)
{
	return is_numbered(place, directory, DIRECTORY_LOCK, place->lock_number);
}

bool
place_is_called(int descriptor, int directory, const char *name)
{
	struct stat open, named;

	return descriptor >= 0 && fstat(descriptor, &open) == 0 &&
	       fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}
