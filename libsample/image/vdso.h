/*
 * vdso.h - the code that the kernel maps into every process (private to this room)
 */
#ifndef DCPI_IMAGE_VDSO_H
#define DCPI_IMAGE_VDSO_H

#include "image/elf_file.h"

/* Open a copy of this process's own vdso. 0, -ENOENT when it has none, -ENOMEM, -DCPI_EDAMAGED. */
int vdso_open(struct elf_file *file);

#endif
