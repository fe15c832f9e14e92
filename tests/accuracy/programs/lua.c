/*
 * lua SCRIPT TIMES - run a script so often, with Debian's liblua5.4.a
 *
 * Lua takes its seed for hashes from the time, and from addresses. The time at least is always the same here.
 */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#include <time.h>

#include "input.h"

time_t
time(time_t *now)
{
	if (now)
		*now = 1;
	return 1;
}

int
main(int argc, char **argv)
{
	const struct input_arguments arguments = input_arguments(argc, argv);

	for (unsigned long i = 0; i < arguments.times; i++) {
		lua_State *lua = input_require(luaL_newstate());

		luaL_openlibs(lua);
		if (luaL_dofile(lua, arguments.input)) {
			fprintf(stderr, "lua: %s\n", lua_tostring(lua, -1));
			return EXIT_FAILURE;
		}
		if (i + 1 == arguments.times)
			printf("%s\n", luaL_tolstring(lua, -1, NULL));
		lua_close(lua);
	}
	return 0;
}
