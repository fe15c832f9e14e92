#include "dcpi-tools/web/assets.h"

#include <string.h>

/* The files beside this one, and the script of dcpiflame's pictures, as they are. The Makefile says which object
 * depends on them. */
#define ASSET_INCLUDE(name, file)                                                                                      \
	__asm__(".section .rodata\n"                                                                                   \
	        ".global asset_" #name "_begin, asset_" #name "_end\n"                                                 \
	        "asset_" #name "_begin:\n"                                                                             \
	        ".incbin \"dcpi-tools/web/" file "\"\n"                                                                \
	        "asset_" #name "_end:\n"                                                                               \
	        ".previous\n");                                                                                        \
	extern const char asset_##name##_begin[], asset_##name##_end[]

ASSET_INCLUDE(style, "style.css");
ASSET_INCLUDE(script, "dcpi.js");
ASSET_INCLUDE(flame, "../flame/flame.js");
ASSET_INCLUDE(icon, "icon.svg");

const struct asset *
asset_find(const char *path)
{
	static struct asset assets[] = {
		{.path = "/style.css", .type = "text/css; charset=utf-8", .data = asset_style_begin},
		{.path = "/dcpi.js", .type = "text/javascript; charset=utf-8", .data = asset_script_begin},
		{.path = "/flame.js", .type = "text/javascript; charset=utf-8", .data = asset_flame_begin},
		{.path = "/icon.svg", .type = "image/svg+xml", .data = asset_icon_begin},
	};
	const char *const ends[] = {asset_style_end, asset_script_end, asset_flame_end, asset_icon_end};

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].path, path) != 0)
			continue;
		assets[i].size = (size_t)(ends[i] - assets[i].data);
		return &assets[i];
	}
	return NULL;
}
