/* hottest [DIRECTORY] - which image most of a profile's time went to: cc hottest.c $(pkg-config --libs libsample) */
#include <libsample/error.h>
#include <libsample/selection.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	struct sample_database *database = NULL;
	struct sample_selection *selection = NULL;
	size_t event = 0, hottest = 0;
	int err;

	err = sample_database_open(argc > 1 ? argv[1] : NULL, &database);
	if (!err)
		err = sample_selection_read(database, NULL, &selection, NULL, 0); /* the latest epoch */
	if (!err)
		err = sample_event_first(selection, &event);
	for (size_t i = 1; !err && i < sample_image_count(selection); i++)
		if (sample_image_samples(selection, i, event) > sample_image_samples(selection, hottest, event))
			hottest = i;
	if (!err && sample_image_count(selection) > 0)
		printf("%s: %llu of %llu samples\n", sample_image_path(selection, hottest),
		       (unsigned long long)sample_image_samples(selection, hottest, event),
		       (unsigned long long)sample_event_samples(selection, event));
	if (err)
		fprintf(stderr, "hottest: %s\n", sample_error_text(err));
	sample_selection_free(selection);
	sample_database_close(database);
	return err != 0;
}
