#include "dcpi-tools/common/reasons.h"

const struct reason reasons[REASON_COUNT] = {
	{'I', "I-cache miss", "its code was not in the first-level cache"},
	{'T', "ITB miss", "its code's page was not in the TLB"},
	{'p', "branch mispredict", "a branch before it was predicted wrongly"},
	{'d', "D-cache miss", "an operand was loaded from farther than the first-level cache"},
	{'w', "write-buffer overflow", "stores before it waited for memory"},
	{'D', "DTB miss", "the page of a load or store was not in the TLB"},
	{'y', "synchronization", "an atomic operation or a barrier"},
	{'m', "multiplier busy", "the multiplier worked for an instruction before it"},
	{'f', "divider busy", "the divider worked for an instruction before it"},
	{'o', "other", "something else that is known"},
	{'?', "unexplained", "no reason is left that could be"},
	{'s', "slotting hazard", "it cannot issue along with the ones before it"},
	{'a', "Ra dependency", "its first operand is not ready, even if nothing misses"},
	{'b', "Rb dependency", "its second operand, or an address, is not ready"},
	{'c', "Rc dependency", "a further operand is not ready, or its result's register not free"},
	{'u', "FU dependency", "the unit it needs is busy"},
};

size_t
reason_find(char letter)
{
	size_t i = 0;

	while (i < REASON_COUNT && reasons[i].letter != letter)
		i++;
	return i;
}
