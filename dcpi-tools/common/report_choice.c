#include "dcpi-tools/common/report_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dcpi-tools/common/image_choice.h"
#include "dcpi-tools/common/image_name.h"
#include "dcpi-tools/common/message.h"

static int
choose_columns(struct report_choice *choice, const struct columns_request *columns, const char *directory)
{
	char why[1024];
	int err;

	err = columns_choose(choice->selection, columns, &choice->columns, why, sizeof(why));
	if (!err)
		return 0;
	message_print(directory, "%s", why);
	return error_exit_status(err);
}

static int
choose_images(struct report_choice *choice, const struct options *options)
{
	const struct image_request images = {
		.patterns = options->images,
		.count = options->image_count,
		.event = choice->columns.events[0],
	};

	choice->titles = image_titles(choice->selection);
	if (!choice->titles)
		return message_cannot(NULL, "name the images", -ENOMEM, NULL);
	return images_choose(choice->selection, choice->titles, &images, &choice->wanted);
}

int
report_choose(struct report_choice *choice, struct database *database, const struct options *options,
              const struct columns_request *columns)
{
	int status;

	memset(choice, 0, sizeof(*choice));
	status = database_select(database, &options->request, &choice->selection);
	if (!status)
		status = choose_columns(choice, columns, database->directory);
	if (!status)
		status = choose_images(choice, options);
	return status;
}

void
report_choice_fini(struct report_choice *choice)
{
	image_titles_free(choice->titles, choice->selection ? choice->selection->image_count : 0);
	free(choice->wanted);
	selection_free(choice->selection);
	memset(choice, 0, sizeof(*choice));
}

int
report_choice_empty(const struct database *database)
{
	message_print(database->directory, "no samples in what was selected");
	return STATUS_EMPTY;
}
