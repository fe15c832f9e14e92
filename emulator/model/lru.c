#include "emulator/model/lru.h"

#define ROW(way)    UINT64_C(0xff) << (way)*8
#define OTHERS(way) ~(LRU_LOWS << (way))

const struct lru_uses lru_uses = {
	{ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7)},
	{OTHERS(0), OTHERS(1), OTHERS(2), OTHERS(3), OTHERS(4), OTHERS(5), OTHERS(6), OTHERS(7)},
};
