#include "emulator/model/order.h"

#define USE(way)                                                                                                       \
	{                                                                                                              \
		UINT64_C(0xff) << (way)*8, ~(ORDER_LOWS << (way))                                                      \
	}

const struct order_use order_uses[ORDER_WAYS] = {USE(0), USE(1), USE(2), USE(3), USE(4), USE(5), USE(6), USE(7)};
