#include <libsample/error.h>

#include "base/error.h"

/* Programs have these numbers in them. */
_Static_assert((int)SAMPLE_EDAMAGED == (int)DCPI_EDAMAGED, "the table has another number");
_Static_assert((int)SAMPLE_ENEWER == (int)DCPI_ENEWER, "the table has another number");
_Static_assert((int)SAMPLE_EREADERS == (int)DCPI_EREADERS, "the table has another number");
_Static_assert((int)SAMPLE_ENODATABASE == (int)DCPI_ENODATABASE, "the table has another number");
_Static_assert((int)SAMPLE_ENOSELECTION == (int)DCPI_ENOSELECTION, "the table has another number");
_Static_assert((int)SAMPLE_EBUILDID == (int)DCPI_EBUILDID, "the table has another number");
_Static_assert((int)SAMPLE_ESYMLINK == (int)DCPI_ESYMLINK, "the table has another number");
_Static_assert((int)SAMPLE_EFOREIGN == (int)DCPI_EFOREIGN, "the table has another number");

const char *
sample_error_text(int error)
{
	return error_text(error);
}

const char *
sample_version(void)
{
	return DCPI_VERSION;
}
