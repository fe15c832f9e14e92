/*
 * soname.h - what an image's file says a program that needs it should look for
 *
 * Thread rule: one thread per file.
 */
#ifndef DCPI_IMAGE_SONAME_H
#define DCPI_IMAGE_SONAME_H

#include "image/image_file.h"

/* DT_SONAME. 0 with a new string in *soname (free it); -ENOENT when there is none, -DCPI_EDAMAGED, -ENOMEM. */
int image_soname(const struct image_file *file, char **soname);

#endif
