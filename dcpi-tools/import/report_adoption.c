/* adoption_print(), adoption_json(): see report.h. */
#include <errno.h>
#include <inttypes.h>

#include "dcpi-tools/common/json.h"
#include "dcpi-tools/common/text.h"
#include "dcpi-tools/import/report.h"

int
adoption_print(const struct adoption *adoption, const char *directory, const struct output *output)
{
	FILE *stream = output->stream;

	text_print(directory, stream);
	fprintf(stream, ": %" PRIu64 " epochs, %" PRIu64 " slices, %" PRIu64 " images (%" PRIu64 " of them new)",
	        adoption->epochs + adoption->updated, adoption->slices, adoption->images, adoption->new_images);
	if (adoption->first)
		fprintf(stream, ", into epoch%s %" PRIu32, adoption->first == adoption->last ? "" : "s",
		        adoption->first);
	if (adoption->first != adoption->last)
		fprintf(stream, " to %" PRIu32, adoption->last);
	fputc('\n', stream);
	if (adoption->updated)
		fprintf(stream, "Went on:  %" PRIu64 " epochs that were here have taken the place of what was here\n",
		        adoption->updated);
	if (adoption->known)
		fprintf(stream, "Known:    %" PRIu64 " epochs are here already\n", adoption->known);
	return ferror(stream) ? -EIO : 0;
}

json_t *
adoption_json(const struct adoption *adoption, const char *directory)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "database", json_shown(directory),
	                 "first_epoch", adoption->first ? json_count(adoption->first) : json_null(), "last_epoch",
	                 adoption->last ? json_count(adoption->last) : json_null(), "epochs",
	                 json_count(adoption->epochs), "updated_epochs", json_count(adoption->updated), "known_epochs",
	                 json_count(adoption->known), "slices", json_count(adoption->slices), "images",
	                 json_count(adoption->images), "new_images", json_count(adoption->new_images));
}
