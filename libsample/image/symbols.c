#include "image/symbols.h"

#include <errno.h>

#include "base/error.h"
#include "image/call_frames.h"
#include "image/debug_file.h"
#include "image/elf_symbols.h"
#include "image/image_file_private.h"
#include "image/minidebug.h"
#include "image/plt.h"
#include "image/symbol_builder.h"

/* A debug file that cannot be found or read only costs names. */
static void
find_debug_file(struct image_file *file)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	int size;

	if (file->debug.elf || !file->path)
		return;
	size = elf_file_build_id(&file->main, build_id);
	if (size > 0 && debug_file_by_build_id(&file->debug, file->debug_root, build_id, (size_t)size) == 0)
		return;
	debug_file_by_link(&file->debug, file->debug_root, file->path, &file->main);
}

static int
add_helper(struct symbol_builder *builder, const struct elf_file *helper, const struct segment_table *segments)
{
	int err = helper->elf ? elf_symbols_add(builder, helper, segments, SHT_SYMTAB) : 0;

	return err == -DCPI_EDAMAGED ? 0 : err;
}

/* Symbols that were split from the image: in its debug file or, where there is none, in its minidebuginfo. */
static int
add_split_symbols(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	int err;

	find_debug_file(file);
	err = add_helper(builder, &file->debug, &file->segments);
	if (err || file->debug.elf)
		return err;
	err = minidebug_open(mini, &file->main);
	if (err)
		return err == -ENOMEM ? err : 0;
	return add_helper(builder, mini, &file->segments);
}

/* `mini` stays open until the table is made: names point into it. */
static int
collect(struct symbol_builder *builder, struct image_file *file, struct elf_file *mini)
{
	int err;

	if (!file->main.elf)
		return elf_symbols_add(builder, &file->debug, &file->segments, SHT_SYMTAB);
	err = elf_symbols_add(builder, &file->main, &file->segments, SHT_SYMTAB);
	if (!err)
		err = elf_symbols_add(builder, &file->main, &file->segments, SHT_DYNSYM);
	if (!err)
		err = add_split_symbols(builder, file, mini);
	if (!err)
		err = call_frames_add(builder, &file->main, &file->segments);
	if (!err)
		err = plt_add(builder, &file->main, &file->segments);
	return err;
}

int
symbol_table_from_file(struct image_file *file, struct symbol_table **table)
{
	struct symbol_builder builder = SYMBOL_BUILDER_INIT;
	struct elf_file mini = ELF_FILE_INIT;
	int err;

	*table = NULL;
	err = collect(&builder, file, &mini);
	if (!err)
		err = symbol_builder_finish(&builder, table);
	symbol_builder_fini(&builder);
	elf_file_close(&mini);
	return err;
}
