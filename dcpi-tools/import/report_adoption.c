/* adoption_print(), adoption_json(): see report.h. */
#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/report.h"

int
adoption_print(const struct database_merge *adoption, const char *directory, const struct output *output)
{
	const uint64_t epochs = adoption->epochs + adoption->updated;
	FILE *stream = output->stream;

	text_print(directory, stream);
	fprintf(stream, ": %" PRIu64 " epoch%s, %" PRIu64 " slice%s, %" PRIu64 " image%s (%" PRIu64 " of them new)",
	        epochs, text_plural(epochs), adoption->slices, text_plural(adoption->slices), adoption->images,
	        text_plural(adoption->images), adoption->new_images);
	if (adoption->first)
		fprintf(stream, ", into epoch%s %" PRIu32, adoption->first == adoption->last ? "" : "s",
		        adoption->first);
	if (adoption->first != adoption->last)
		fprintf(stream, " to %" PRIu32, adoption->last);
	fputc('\n', stream);
	if (adoption->updated)
		fprintf(stream, "Went on:  %" PRIu64 " epoch%s taken the place of what was here\n", adoption->updated,
		        adoption->updated == 1 ? " that was here has" : "s that were here have");
	if (adoption->known)
		fprintf(stream, "Known:    %" PRIu64 " epoch%s here already\n", adoption->known,
		        adoption->known == 1 ? " is" : "s are");
	return ferror(stream) ? -EIO : 0;
}

json_t *
adoption_json(const struct database_merge *adoption, const char *directory)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "database", json_shown(directory),
	                 "first_epoch", adoption->first ? json_count(adoption->first) : json_null(), "last_epoch",
	                 adoption->last ? json_count(adoption->last) : json_null(), "epochs",
	                 json_count(adoption->epochs), "updated_epochs", json_count(adoption->updated), "known_epochs",
	                 json_count(adoption->known), "slices", json_count(adoption->slices), "images",
	                 json_count(adoption->images), "new_images", json_count(adoption->new_images));
}
