#include "dcpi-tools/mem/script.h"

#include <errno.h>
#include <fcntl.h>
#include <lua5.4/lauxlib.h>
#include <lua5.4/lualib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/error.h"
#include "base/guard.h"
#include "dcpi-tools/common/child.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/output.h"
#include "dcpi-tools/common/text.h"

#define SOURCES_FOLDER "config/scripts" /* below the folder of the sources */
#define SOURCES_PROBE  "gaps.lua"

/* Whether the file can be a script. It is not opened if it is a pipe, which is read once. 0 or a negative errno. */
static int
check_file(const char *path, bool *is_binary)
{
	struct stat status;
	char first = 0;
	int file;

	*is_binary = false;
	if (stat(path, &status) || access(path, R_OK))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return 0;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	*is_binary = pread(file, &first, 1, 0) == 1 && first == LUA_SIGNATURE[0];
	close(file);
	return 0;
}

int
script_find(const char *name, char path[PATH_MAX])
{
	char directory[PATH_MAX];
	bool is_binary;
	int err;

	if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
		return message_cannot(name, "read the script", -ENAMETOOLONG, NULL);
	if (strcmp(name, SCRIPT_STDIN) == 0)
		return STATUS_OK;
	err = check_file(path, &is_binary);
	if (err == -ENOENT && !strchr(name, '/')) {
		config_model_directory("DCPI_SCRIPTS", SOURCES_FOLDER, SOURCES_PROBE, SCRIPT_DIRECTORY, directory,
		                       sizeof(directory));
		if (snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX)
			err = check_file(path, &is_binary);
		if (err == -ENOENT) {
			message_print(name, "cannot read the script: there is no such file, neither here nor in %s",
			              directory);
			return STATUS_FAILURE;
		}
	}
	if (err)
		return message_cannot(path, "read the script", err, NULL);
	if (is_binary) {
		message_print(path, "cannot read the script: it is compiled; name its source");
		return STATUS_FAILURE;
	}
	return STATUS_OK;
}

/* ---- Ctrl-C ---- */

static lua_State *volatile running; /* NULL: no script */
static volatile sig_atomic_t interrupted;

/* Between two instructions of the script, where an error may be raised. */
static void
stop_script(lua_State *state, lua_Debug *record)
{
	(void)record;
	lua_sethook(state, NULL, 0, 0);
	luaL_where(state, 0);
	lua_pushliteral(state, "interrupted");
	lua_concat(state, 2);
	lua_error(state);
}

/* lua_sethook() may be called by a signal handler; what takes long in a function of C is ended by a second signal. */
static void
on_interrupt(int number)
{
	interrupted = number;
	if (running)
		lua_sethook(running, stop_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void
catch_interrupts(lua_State *state)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

	running = state;
	sigemptyset(&action.sa_mask);
	if (exit_signals_include(SIGINT))
		sigaction(SIGINT, &action, NULL);
}

/* ---- errors ---- */

/* Whether a message names a line of the file that a function of the script is in. */
static bool
has_place(const char *message, const lua_Debug *function)
{
	const size_t length = strlen(function->short_src);

	return strncmp(message, function->short_src, length) == 0 && message[length] == ':';
}

/*
 * The message of an error, from the error's value: errors of Lua and of most functions begin with file and line;
 * others, as those whose value is no text, get those of the script's function that was running.
 */
static int
describe_error(lua_State *state)
{
	const bool is_text = lua_isstring(state, 1) || luaL_getmetafield(state, 1, "__tostring") != LUA_TNIL;
	const char *message =
		is_text ? luaL_tolstring(state, 1, NULL)
			: lua_pushfstring(state, "the script raised an error without a text (its type is %s)",
	                                  luaL_typename(state, 1));
	lua_Debug function, first = {.currentline = 0};

	for (int level = 0; lua_getstack(state, level, &function); level++) {
		lua_getinfo(state, "Sl", &function);
		if (function.currentline <= 0)
			continue;
		if (has_place(message, &function))
			return 1;
		if (!first.currentline)
			first = function;
	}
	if (first.currentline)
		lua_pushfstring(state, "%s:%d: %s", first.short_src, first.currentline, message);
	return 1;
}

/* ---- a script ---- */

struct script {
	const struct script_profile *profile;
	const char *path;
	char **arguments;
};

/* `arg`, and the arguments of the chunk on top, as lua(1) has them. How many arguments there are. */
static int
push_arguments(lua_State *state, char **arguments)
{
	int count = 0;

	lua_newtable(state);
	for (; arguments[count]; count++) {
		lua_pushstring(state, arguments[count]);
		lua_rawseti(state, -2, count);
	}
	lua_setglobal(state, "arg");
	luaL_checkstack(state, count, "too many arguments");
	for (int i = 1; i < count; i++)
		lua_pushstring(state, arguments[i]);
	return count - 1;
}

/* In protected mode: also without memory, what fails is an error of Lua. Argument 1 is the script. */
static int
run_protected(lua_State *state)
{
	const struct script *script = lua_touserdata(state, 1);
	const bool is_stdin = strcmp(script->path, SCRIPT_STDIN) == 0;

	luaL_openlibs(state);
	script_profile_open(state, script->profile);
	/* Text only: Lua does not check binary chunks, and damaged ones make it fault. */
	if (luaL_loadfilex(state, is_stdin ? NULL : script->path, "t"))
		return lua_error(state);
	lua_call(state, push_arguments(state, script->arguments), 0);
	return 0;
}

static int
run_state(lua_State *state, struct script *script)
{
	int failed;

	lua_pushcfunction(state, describe_error);
	lua_pushcfunction(state, run_protected);
	lua_pushlightuserdata(state, script);
	catch_interrupts(state);
	failed = lua_pcall(state, 1, 0, 1);
	running = NULL;
	return failed;
}

/* The message is on top. An exit status. */
static int
report_error(lua_State *state, const struct script *script, int failed)
{
	const char *message = lua_tostring(state, -1);
	char *shown = message ? text_shown(message) : NULL;

	message_print(failed == LUA_ERRMEM ? script->path : NULL, "%s", shown ? shown : "the script failed");
	free(shown);
	return STATUS_FAILURE;
}

int
script_run(const struct script_profile *profile, const char *path, char **arguments)
{
	struct script script = {.profile = profile, .path = path, .arguments = arguments};
	char *shown = text_shown(path);
	struct guard guard = {
		.subject = shown ? shown : "?",
		.claim = "the script made Lua fault",
		.advice = "look at what it does with libraries in C, binary chunks, or the debug library",
		.status = STATUS_FAILURE,
	};
	struct output output;
	lua_State *state = luaL_newstate();
	int status = STATUS_OK, failed, err;

	if (!state) {
		free(shown);
		return message_cannot(path, "run the script", -ENOMEM, NULL);
	}
	output_open(&output, COLOR_NEVER, false);
	guard_enter(&guard);
	failed = run_state(state, &script);
	if (failed)
		status = report_error(state, &script, failed);
	lua_close(state);
	guard_leave(&guard);
	free(shown);
	err = output_close(&output);
	if (err && !status)
		status = message_cannot("standard output", "write the report", err, NULL);
	return failed && interrupted ? exit_signals_raise(interrupted) : status;
}
