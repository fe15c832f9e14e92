#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "code/pipeline_parts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int
read_bounded(const struct config_source *source, const config_setting_t *group, const char *name, unsigned most,
             unsigned *value)
{
	const config_setting_t *setting = config_setting_get_member(group, name);
	uint64_t number = 0;
	int err = setting ? config_whole_number(source, setting, 0, most, "", &number) : 0;

	*value = (unsigned)number;
	return err;
}

/* models = [ first, last ]; none: all of the family */
static int
read_models(const struct config_source *source, const config_setting_t *group, struct pipeline_match *match)
{
	const config_setting_t *models = config_setting_get_member(group, "models");
	int first, last;

	match->model_last = 255;
	if (!models)
		return 0;
	if (!config_setting_is_array(models) || config_setting_length(models) != 2)
		return config_refuse(source, models, "models must be [ first, last ]");
	first = config_setting_get_int_elem(models, 0);
	last = config_setting_get_int_elem(models, 1);
	if (first < 0 || last < first || last > 255)
		return config_refuse(source, models, "models must be [ first, last ], from 0 to 255");
	match->model_first = (unsigned)first;
	match->model_last = (unsigned)last;
	return 0;
}

/* has = "FLAG", lacks = "FLAG" */
static int
read_flags(const struct config_source *source, const config_setting_t *group, struct pipeline_match *match)
{
	const config_setting_t *has = config_setting_get_member(group, "has");
	const config_setting_t *lacks = config_setting_get_member(group, "lacks");
	int err = 0;

	if ((has || lacks) && !*match->vendor)
		return config_refuse(source, has ? has : lacks, "a match by a flag must have a vendor");
	if (has)
		err = config_string(source, has, match->has, sizeof(match->has));
	if (!err && lacks)
		err = config_string(source, lacks, match->lacks, sizeof(match->lacks));
	return err;
}

static int
read_match(const struct config_source *source, const config_setting_t *group, struct pipeline_match *match)
{
	static const char *const known[] = {"vendor", "family",      "models", "has",
	                                    "lacks",  "implementer", "part",   "text"};
	const config_setting_t *vendor, *text;
	int err;

	if (!config_setting_is_group(group))
		return config_refuse(source, group, "match must be a list of groups, ( { ... }, ... )");
	vendor = config_setting_get_member(group, "vendor");
	text = config_setting_get_member(group, "text");
	err = config_known_names(source, group, known, COUNT(known));
	if (!err && vendor)
		err = config_string(source, vendor, match->vendor, sizeof(match->vendor));
	if (!err && text)
		err = config_string(source, text, match->text, sizeof(match->text));
	if (!err)
		err = read_bounded(source, group, "family", 4095, &match->family);
	if (!err)
		err = read_models(source, group, match);
	if (!err)
		err = read_flags(source, group, match);
	if (!err)
		err = read_bounded(source, group, "implementer", 255, &match->implementer);
	if (!err)
		err = read_bounded(source, group, "part", 4095, &match->part);
	if (!err && !*match->vendor && !*match->text && !match->implementer)
		return config_refuse(source, group, "match must have a vendor, an implementer or a text");
	return err;
}

int
pipeline_read_matches(const struct config_source *source, const config_setting_t *list, struct pipeline *pipeline)
{
	int count = list ? config_setting_length(list) : 0;
	int err = 0;

	if (!list)
		return 0;
	if (!config_setting_is_list(list) || count > PIPELINE_MATCHES_MAX)
		return config_refuse(source, list, "match must be a list, ( ... ), of at most %d",
		                     PIPELINE_MATCHES_MAX);
	for (int i = 0; !err && i < count; i++)
		err = read_match(source, config_setting_get_elem(list, (unsigned)i), &pipeline->matches[i]);
	pipeline->match_count = (unsigned)count;
	return err;
}

/* Behind its numbers: "... with FLAG FLAG)". */
static bool
has_flag(const char *flags, const char *flag)
{
	static const char ends[] = " )";
	size_t length = strlen(flag);

	if (strncmp(flags, " with ", 6) != 0)
		return false;
	for (flags += 6; *flags && *flags != ')'; flags += strcspn(flags, ends), flags += *flags == ' ')
		if (strcspn(flags, ends) == length && strncmp(flags, flag, length) == 0)
			return true;
	return false;
}

static bool
fits_x86(const struct pipeline_match *match, const char *cpu)
{
	const char *numbers = strrchr(cpu, '(');
	unsigned family, model;
	char vendor[16];
	int end = 0;

	if (!numbers || sscanf(numbers, "(%15s family %u model %u%n", vendor, &family, &model, &end) != 3)
		return false;
	if ((*match->has && !has_flag(numbers + end, match->has)) ||
	    (*match->lacks && has_flag(numbers + end, match->lacks)))
		return false;
	return strcmp(vendor, match->vendor) == 0 && (!match->family || family == match->family) &&
	       model >= match->model_first && model <= match->model_last;
}

/* The forms are collectord/machine.h's. */
static bool
fits(const struct pipeline_match *match, const char *cpu)
{
	const char *arm = strstr(cpu, "ARM implementer ");
	unsigned implementer, part;

	if (*match->text)
		return fnmatch(match->text, cpu, 0) == 0;
	if (match->implementer)
		return arm && sscanf(arm, "ARM implementer %x, part %x", &implementer, &part) == 2 &&
		       implementer == match->implementer && part == match->part;
	return fits_x86(match, cpu);
}

bool
pipeline_is_for(const struct pipeline *pipeline, const char *cpu)
{
	for (unsigned i = 0; i < pipeline->match_count; i++)
		if (fits(&pipeline->matches[i], cpu))
			return true;
	return false;
}
