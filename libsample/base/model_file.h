/*
 * model_file.h - things that are described in a file each, NAME.conf in a directory: CPUs, machines
 *
 * Thread rule: stateless.
 */
#ifndef DCPI_BASE_MODEL_FILE_H
#define DCPI_BASE_MODEL_FILE_H

#include <stddef.h>

#define MODEL_FILE_SUFFIX ".conf"

/*
 * The text of the file at `path`, for the caller to free. 0; -errno, -DCPI_ECONFIG or -DCPI_EDAMAGED with a sentence in
 * `why` that begins with the file and says `what` cannot be read: "the model of a CPU".
 */
int model_file_read(const char *path, const char *what, char **text, char *why, size_t size);

/*
 * Where those of a kind are: what the variable `environment` says; else, of a program in a build folder, `folder` of
 * its sources, which is there when it has the file `probe`; else `installed`.
 */
void model_file_directory(const char *environment, const char *folder, const char *probe, const char *installed,
                          char *directory, size_t size);

/* The names of those in `directory`, without the suffix, in alphabetical order. How many, or -errno. */
int model_file_list(const char *directory, char ***names);
void model_file_list_free(char **names, int count); /* a negative count is allowed */

/*
 * Say that there is no `what` ("model of a CPU") of the name `choice` in `directories`: which one was probably meant,
 * else which there are. -DCPI_ECONFIG.
 */
int model_file_refuse(const char *what, const char *choice, const char *const *directories, size_t directory_count,
                      char *why, size_t size);

#endif
