#include "dcpi-tools/loc/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "dcpi-tools/common/picture.h"
#include "dcpi-tools/common/text.h"

#define WIDTH      900
#define HEIGHT     560
#define NAMED      10   /* loops */
#define LARGEST    6.0  /* size of a point for all references */
#define LEAST      0.4  /* and of any */
#define CLOSE      0.03 /* of a score: numbers of loops that are no further apart stand together */
#define PERCENT    100.0
#define NAME_SIZE  128
#define GROUP_SIZE 64

struct plane {
	const struct loc_profile *profile;
	const char *path;
	size_t named[NAMED]; /* loops of the profile, those with most references first */
	size_t named_count;
};

/* Table 1 of Diniz and Krishna, "A Compiler-guided Instrumentation for Application Behavior Understanding", 2006. */
static const struct {
	const char *name;
	double spatial, temporal;
} published[] = {{"streamadd", 0.999, 0.1}, {"randomaccess", 0.001, 0}, {"NAS CG", 0.714, 0.422}};

static bool
is_drawn(const struct loc_loop *loop)
{
	return loop->score.judged && loop->count;
}

static void
print_points(const struct plane *plane, FILE *stream)
{
	fputs("$loops << EOD\n", stream);
	for (size_t i = 0; i < plane->profile->loop_count; i++) {
		const struct loc_loop *loop = &plane->profile->loops[i];
		const double size = LARGEST * sqrt(loc_profile_share(plane->profile, loop));

		if (is_drawn(loop))
			fprintf(stream, "%.4f %.4f %.3f\n", locality_temporal(&loop->score),
			        locality_spatial(&loop->score), size > LEAST ? size : LEAST);
	}
	fputs("EOD\n$published << EOD\n", stream);
	for (size_t i = 0; i < ARRAY_COUNT(published); i++)
		fprintf(stream, "%.3f %.3f\n", published[i].temporal, published[i].spatial);
	fputs("EOD\n", stream);
	if (plane->profile->temporal >= 0)
		fprintf(stream, "$all << EOD\n%.4f %.4f\nEOD\n", plane->profile->temporal, plane->profile->spatial);
}

static bool
are_close(const struct loc_loop *one, const struct loc_loop *other)
{
	return fabs(locality_spatial(&one->score) - locality_spatial(&other->score)) < CLOSE &&
	       fabs(locality_temporal(&one->score) - locality_temporal(&other->score)) < CLOSE;
}

/* A number beside each of the named loops; those of loops that are close stand beside the first. */
static void
print_numbers(const struct plane *plane, FILE *stream)
{
	bool has_number[NAMED] = {false};

	for (size_t i = 0; i < plane->named_count; i++) {
		const struct loc_loop *loop = &plane->profile->loops[plane->named[i]];
		char group[GROUP_SIZE] = "";

		if (has_number[i])
			continue;
		for (size_t k = i; k < plane->named_count; k++) {
			const size_t length = strlen(group);

			if (has_number[k] || !are_close(loop, &plane->profile->loops[plane->named[k]]))
				continue;
			has_number[k] = true;
			snprintf(group + length, sizeof(group) - length, "%s%zu", length ? ", " : "", k + 1);
		}
		fprintf(stream, "set label '%s' at %.4f,%.4f offset character %.2f,0.8 front\n", group,
		        locality_temporal(&loop->score), locality_spatial(&loop->score),
		        0.8 + 0.5 * LARGEST * sqrt(loc_profile_share(plane->profile, loop)));
	}
	for (size_t i = 0; i < ARRAY_COUNT(published); i++)
		fprintf(stream,
		        "set label '%s' at %.3f,%.3f offset character 1,-0.6 textcolor rgb '#606060' "
		        "font ',10' front\n",
		        published[i].name, published[i].temporal, published[i].spatial);
}

/* The key has a line for each of them. */
static void
print_names(const struct plane *plane, FILE *stream)
{
	for (size_t i = 0; i < plane->named_count; i++) {
		const struct loc_loop *loop = &plane->profile->loops[plane->named[i]];
		char name[NAME_SIZE];

		snprintf(name, sizeof(name), "%zu: %s, %s:%" PRIu32 ", %.1f %%", i + 1, loop->loop->function,
		         text_basename(loop->loop->file), loop->loop->line,
		         PERCENT * loc_profile_share(plane->profile, loop));
		fputs(", NaN with points pointtype 7 pointsize 0.1 linecolor rgb '#ffffff' title '", stream);
		plot_print_title(name, stream);
		fputs("' noenhanced", stream);
	}
}

static void
print_plane(const void *context, FILE *stream)
{
	const struct plane *plane = context;

	plot_begin_white(plane->path, WIDTH, HEIGHT, stream);
	print_points(plane, stream);
	print_numbers(plane, stream);
	fputs("set title '", stream);
	plot_print_title(text_basename(locality_record_program(plane->profile->records[0])), stream);
	fputs("' noenhanced\nset xlabel 'temporal locality'\nset ylabel 'spatial locality'\n"
	      "set xrange [-0.06:1.02]\nset yrange [-0.06:1.08]\nset key Left reverse samplen 1 spacing 1.2\n"
	      "plot $loops using 1:2:3 with points pointtype 7 pointsize variable linecolor rgb '#800072b2' "
	      "title 'loops, by references'",
	      stream);
	if (plane->profile->temporal >= 0)
		fputs(", $all using 1:2 with points pointtype 3 pointsize 1.6 linewidth 2 linecolor rgb '#d55e00' "
		      "title 'all together'",
		      stream);
	fputs(", $published using 1:2 with points pointtype 2 pointsize 1.2 linewidth 2 linecolor rgb '#808080' "
	      "title 'Diniz and Krishna, 2006'",
	      stream);
	print_names(plane, stream);
	fputs("\n", stream);
}

int
loc_plot(const struct loc_profile *profile, const char *path)
{
	struct plane plane = {.profile = profile, .path = path};

	for (size_t i = 0; i < profile->loop_count; i++) {
		if (is_drawn(&profile->loops[i]) && plane.named_count < NAMED)
			plane.named[plane.named_count++] = i;
	}
	return plot_write(path, print_plane, &plane);
}
