#include "dcpi-tools/common/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "dcpi-tools/common/message.h"
#include "dcpi-tools/common/text.h"

#define NOT_FOUND    127
#define NAME_COLUMNS 60
#define PDF_SCALE    40.0 /* pixels in a centimetre */

size_t
picture_form(const char *path, const char *const *names, size_t count)
{
	const char *dot = strrchr(path, '.');
	size_t form = 0;

	while (form < count && !(dot && strcasecmp(dot + 1, names[form]) == 0))
		form++;
	return form;
}

int
picture_write_script(const struct picture_program *program, const char *path, picture_printer *print,
                     const void *context)
{
	FILE *file = fopen(path, "we");
	int err = 0;

	if (!file)
		return message_cannot(path, program->write, -errno, NULL);
	print(context, file);
	if (ferror(file))
		err = -EIO;
	if (fclose(file) != 0 && !err)
		err = -errno;
	return err ? message_cannot(path, program->write, err, NULL) : STATUS_OK;
}

/* Run it with its standard input from `input`, at its beginning: its exit status; -ENOENT: there is none; or -errno. */
static int
run_program(char *const arguments[], int input, int output)
{
	posix_spawn_file_actions_t actions;
	pid_t child = 0;
	int err, status;

	lseek(input, 0, SEEK_SET);
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!err && output >= 0)
		err = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -EIO;
	return WEXITSTATUS(status) == NOT_FOUND ? -ENOENT : WEXITSTATUS(status);
}

int
picture_draw(const struct picture_program *program, char *const arguments[], const char *path, picture_printer *print,
             const void *context, int output)
{
	FILE *input = tmpfile();
	int status;

	if (!input || fcntl(fileno(input), F_SETFD, FD_CLOEXEC)) {
		status = -errno;
		if (input)
			fclose(input);
		return message_cannot(path, program->draw, status, NULL);
	}
	print(context, input);
	status = fflush(input) != 0 || ferror(input) ? -EIO : run_program(arguments, fileno(input), output);
	fclose(input);
	if (status == 0)
		return STATUS_OK;
	if (status == -ENOENT)
		message_print(path,
		              "cannot %s: there is no program '%s' (install the package %s, or name a file that ends "
		              "in %s)",
		              program->draw, program->name, program->package, program->script_suffix);
	else if (status < 0)
		return message_cannot(path, program->draw, status, NULL);
	else
		message_print(path, "cannot %s: '%s' ended with status %d", program->draw, program->name, status);
	return STATUS_FAILURE;
}

static const struct picture_program gnuplot = {
	.name = "gnuplot",
	.package = "gnuplot-nox",
	.draw = "draw the plot",
	.write = "write the plot",
	.script_suffix = ".gnuplot",
};

enum plot_form { PLOT_SVG, PLOT_PNG, PLOT_PDF, PLOT_SCRIPT, PLOT_FORMS };

static const char *const plot_names[PLOT_FORMS] = {"svg", "png", "pdf", "gnuplot"};

/* White, not transparent: letters and axes are black, and a dark viewer would hide them. */
static const char *const terminals[PLOT_FORMS] = {
	[PLOT_SVG] = "svg dynamic noenhanced background 'white' font 'sans,12'",
	[PLOT_PNG] = "pngcairo noenhanced background 'white' font 'sans,10'",
	[PLOT_PDF] = "pdfcairo noenhanced background 'white' font 'sans,10'",
	[PLOT_SCRIPT] = "svg dynamic noenhanced background 'white' font 'sans,12'",
};

int
plot_check(const char *path)
{
	if (picture_form(path, plot_names, PLOT_FORMS) < PLOT_FORMS)
		return STATUS_OK;
	message_print(path, "a plot can be drawn into a file that ends in .svg, .png, .pdf or .gnuplot");
	return STATUS_USAGE;
}

int
plot_write(const char *path, picture_printer *print, const void *context)
{
	char *arguments[] = {(char *)"gnuplot", (char *)"-", NULL};
	int output, status = plot_check(path);

	if (status)
		return status;
	if (picture_form(path, plot_names, PLOT_FORMS) == PLOT_SCRIPT)
		return picture_write_script(&gnuplot, path, print, context);
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output < 0)
		return message_cannot(path, gnuplot.write, -errno, NULL);
	status = picture_draw(&gnuplot, arguments, path, print, context, output);
	close(output);
	return status;
}

void
plot_begin(const char *path, double width, double height, FILE *stream)
{
	const size_t form = picture_form(path, plot_names, PLOT_FORMS);
	const double scale = form == PLOT_PDF ? PDF_SCALE : 1;
	const char *unit = form == PLOT_PDF ? "cm" : "";

	fprintf(stream, "set encoding utf8\nset terminal %s size %g%s,%g%s\n", terminals[form], width / scale, unit,
	        height / scale, unit);
}

void
plot_begin_white(const char *path, double width, double height, FILE *stream)
{
	plot_begin(path, width, height, stream);
	fputs("set object 1 rectangle from screen 0,0 to screen 1,1 behind "
	      "fillcolor rgb '#ffffff' fillstyle solid noborder\n"
	      "set border 3 linecolor rgb '#808080'\nset tics nomirror\nset key outside right top\n",
	      stream);
}

static void
print_shown(const char *name, bool is_format, FILE *stream)
{
	char *shown = text_shown(name);
	size_t length;

	if (!shown)
		return;
	length = text_prefix(shown, NAME_COLUMNS);
	for (size_t i = 0; i < length; i++) {
		if (is_format && shown[i] == '%')
			fputs("%%", stream);
		else
			fputc(strchr("'`@\\", shown[i]) ? '?' : shown[i], stream);
	}
	if (shown[length])
		fputs("...", stream);
	free(shown);
}

void
plot_print_name(const char *name, FILE *stream)
{
	print_shown(name, true, stream);
}

void
plot_print_title(const char *title, FILE *stream)
{
	print_shown(title, false, stream);
}
