#include "image/soname.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/image_file_private.h"

/* The soname's place among the names, by the dynamic section. */
static int
find_soname(const struct elf_file *file, size_t *place, size_t *names)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, ".dynamic", &header);
	const Elf_Data *data = section ? elf_file_bytes(file, section) : NULL;
	Elf_Data *translated = data ? elf_getdata(section, NULL) : NULL;
	GElf_Dyn entry;

	if (!translated)
		return -ENOENT;
	for (int i = 0; gelf_getdyn(translated, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag != DT_SONAME)
			continue;
		*place = entry.d_un.d_val;
		*names = header.sh_link;
		return 0;
	}
	return -ENOENT;
}

int
image_soname(const struct image_file *file, char **soname)
{
	struct elf_names names;
	size_t place = 0, section = 0;
	int err;

	*soname = NULL;
	if (!file->main.elf)
		return -ENOENT;
	err = find_soname(&file->main, &place, &section);
	if (!err)
		err = elf_file_names(&file->main, section, &names);
	if (err)
		return err;
	if (place >= names.size)
		return -DCPI_EDAMAGED;
	*soname = strdup(names.text + place);
	return *soname ? 0 : -ENOMEM;
}
