#include "code/x86_64_newer.h"

#include <string.h>

/*
 * Operands, the destination first: V, K, G are ModRM.reg as a vector, a mask, a general register; H, L, B are VEX.vvvv
 * as these; W, Q, E are ModRM.rm as these or memory; M is memory; I an immediate. A lower case x, y behind V, H or W
 * makes it 128 or 256 bits. In names "%bw" and "%dq" are a letter by W, "%wb" and "%qd" the other way round.
 *
 * `tuple` says how much memory there is: 0 the vector (or, broadcast, one element by W), else so many bytes, else HALF,
 * QUARTER or EIGHTH of the vector, or ELEMENT (4 or 8 by W).
 */
#define HALF    100
#define QUARTER 101
#define EIGHTH  102
#define ELEMENT 103

#define ANY 0xff

struct newer {
	uint8_t kind, map, prefix, opcode, w, field; /* field: ModRM.reg as a part of the opcode */
	const char *name, *operands;
	uint8_t tuple;
};

#define VEX(map, prefix, opcode, w)  ENCODING_VEX, map, prefix, opcode, w, ANY
#define EVEX(map, prefix, opcode, w) ENCODING_EVEX, map, prefix, opcode, w, ANY
#define LEGACY(map, prefix, opcode)  ENCODING_LEGACY, map, prefix, opcode, ANY, ANY

/* clang-format off */
static const struct newer table[] = {
	/* masks */
	{VEX(MAP_0F, 0, 0x90, 0), "kmovw", "KQ", 2}, {VEX(MAP_0F, 0, 0x90, 1), "kmovq", "KQ", 8},
	{VEX(MAP_0F, 0x66, 0x90, 0), "kmovb", "KQ", 1}, {VEX(MAP_0F, 0x66, 0x90, 1), "kmovd", "KQ", 4},
	{VEX(MAP_0F, 0, 0x91, 0), "kmovw", "QK", 2}, {VEX(MAP_0F, 0, 0x91, 1), "kmovq", "QK", 8},
	{VEX(MAP_0F, 0x66, 0x91, 0), "kmovb", "QK", 1}, {VEX(MAP_0F, 0x66, 0x91, 1), "kmovd", "QK", 4},
	{VEX(MAP_0F, 0, 0x92, 0), "kmovw", "KE", 0}, {VEX(MAP_0F, 0x66, 0x92, 0), "kmovb", "KE", 0},
	{VEX(MAP_0F, 0xf2, 0x92, 0), "kmovd", "KE", 0}, {VEX(MAP_0F, 0xf2, 0x92, 1), "kmovq", "KE", 0},
	{VEX(MAP_0F, 0, 0x93, 0), "kmovw", "GQ", 0}, {VEX(MAP_0F, 0x66, 0x93, 0), "kmovb", "GQ", 0},
	{VEX(MAP_0F, 0xf2, 0x93, 0), "kmovd", "GQ", 0}, {VEX(MAP_0F, 0xf2, 0x93, 1), "kmovq", "GQ", 0},
	{VEX(MAP_0F, 0, 0x41, ANY), "kand%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x41, ANY), "kand%bd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x42, ANY), "kandn%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x42, ANY), "kandn%bd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x44, ANY), "knot%wq", "KQ", 0}, {VEX(MAP_0F, 0x66, 0x44, ANY), "knot%bd", "KQ", 0},
	{VEX(MAP_0F, 0, 0x45, ANY), "kor%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x45, ANY), "kor%bd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x46, ANY), "kxnor%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x46, ANY), "kxnor%bd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x47, ANY), "kxor%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x47, ANY), "kxor%bd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x4a, ANY), "kadd%wq", "KLQ", 0}, {VEX(MAP_0F, 0x66, 0x4a, ANY), "kadd%bd", "KLQ", 0},
	{VEX(MAP_0F, 0x66, 0x4b, 0), "kunpckbw", "KLQ", 0}, {VEX(MAP_0F, 0, 0x4b, 0), "kunpckwd", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x4b, 1), "kunpckdq", "KLQ", 0},
	{VEX(MAP_0F, 0, 0x98, ANY), "kortest%wq", "KQ", 0}, {VEX(MAP_0F, 0x66, 0x98, ANY), "kortest%bd", "KQ", 0},
	{VEX(MAP_0F, 0, 0x99, ANY), "ktest%wq", "KQ", 0}, {VEX(MAP_0F, 0x66, 0x99, ANY), "ktest%bd", "KQ", 0},
	{VEX(MAP_0F3A, 0x66, 0x30, ANY), "kshiftr%bw", "KQI", 0}, {VEX(MAP_0F3A, 0x66, 0x31, ANY), "kshiftr%dq", "KQI", 0},
	{VEX(MAP_0F3A, 0x66, 0x32, ANY), "kshiftl%bw", "KQI", 0}, {VEX(MAP_0F3A, 0x66, 0x33, ANY), "kshiftl%dq", "KQI", 0},
	{EVEX(MAP_0F38, 0xf3, 0x28, ANY), "vpmovm2%bw", "VQ", 0}, {EVEX(MAP_0F38, 0xf3, 0x38, ANY), "vpmovm2%dq", "VQ", 0},
	{EVEX(MAP_0F38, 0xf3, 0x29, ANY), "vpmov%bw2m", "KW", 0}, {EVEX(MAP_0F38, 0xf3, 0x39, ANY), "vpmov%dq2m", "KW", 0},
	{EVEX(MAP_0F38, 0xf3, 0x2a, 1), "vpbroadcastmb2q", "VQ", 0}, {EVEX(MAP_0F38, 0xf3, 0x3a, 0), "vpbroadcastmw2d", "VQ", 0},

	/* comparisons into masks */
	{EVEX(MAP_0F, 0x66, 0x74, ANY), "vpcmpeqb", "KHW", 0}, {EVEX(MAP_0F, 0x66, 0x75, ANY), "vpcmpeqw", "KHW", 0},
	{EVEX(MAP_0F, 0x66, 0x76, 0), "vpcmpeqd", "KHW", 0}, {EVEX(MAP_0F38, 0x66, 0x29, 1), "vpcmpeqq", "KHW", 0},
	{EVEX(MAP_0F, 0x66, 0x64, ANY), "vpcmpgtb", "KHW", 0}, {EVEX(MAP_0F, 0x66, 0x65, ANY), "vpcmpgtw", "KHW", 0},
	{EVEX(MAP_0F, 0x66, 0x66, 0), "vpcmpgtd", "KHW", 0}, {EVEX(MAP_0F38, 0x66, 0x37, 1), "vpcmpgtq", "KHW", 0},
	{EVEX(MAP_0F3A, 0x66, 0x3e, ANY), "vpcmpu%bw", "KHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x3f, ANY), "vpcmp%bw", "KHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x1e, ANY), "vpcmpu%dq", "KHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x1f, ANY), "vpcmp%dq", "KHWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x26, ANY), "vptestm%bw", "KHW", 0}, {EVEX(MAP_0F38, 0x66, 0x27, ANY), "vptestm%dq", "KHW", 0},
	{EVEX(MAP_0F38, 0xf3, 0x26, ANY), "vptestnm%bw", "KHW", 0}, {EVEX(MAP_0F38, 0xf3, 0x27, ANY), "vptestnm%dq", "KHW", 0},
	{EVEX(MAP_0F, 0, 0xc2, 0), "vcmpps", "KHWI", 0}, {EVEX(MAP_0F, 0x66, 0xc2, 1), "vcmppd", "KHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x66, 0), "vfpclassps", "KWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x66, 1), "vfpclasspd", "KWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x8f, 0), "vpshufbitqmb", "KHW", 0},

	/* integers */
	{EVEX(MAP_0F3A, 0x66, 0x25, ANY), "vpternlog%dq", "VHWI", 0},
	{EVEX(MAP_0F, 0x66, 0xdb, ANY), "vpand%dq", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xdf, ANY), "vpandn%dq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xeb, ANY), "vpor%dq", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xef, ANY), "vpxor%dq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xfc, ANY), "vpaddb", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xfd, ANY), "vpaddw", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xfe, 0), "vpaddd", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xd4, 1), "vpaddq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xf8, ANY), "vpsubb", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xf9, ANY), "vpsubw", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xfa, 0), "vpsubd", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xfb, 1), "vpsubq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xd8, ANY), "vpsubusb", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xd9, ANY), "vpsubusw", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xdc, ANY), "vpaddusb", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xdd, ANY), "vpaddusw", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xda, ANY), "vpminub", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xde, ANY), "vpmaxub", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x38, ANY), "vpminsb", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x39, ANY), "vpmins%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x3a, ANY), "vpminuw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x3b, ANY), "vpminu%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x3c, ANY), "vpmaxsb", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x3d, ANY), "vpmaxs%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x3e, ANY), "vpmaxuw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x3f, ANY), "vpmaxu%dq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0xf6, ANY), "vpsadbw", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xe0, ANY), "vpavgb", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x1f, 1), "vpabsq", "VW", 0}, {EVEX(MAP_0F38, 0x66, 0x1c, ANY), "vpabsb", "VW", 0},
	{EVEX(MAP_0F38, 0x66, 0x40, ANY), "vpmull%dq", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xd5, ANY), "vpmullw", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x04, ANY), "vpmaddubsw", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0xf5, ANY), "vpmaddwd", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0xb4, 1), "vpmadd52luq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0xb5, 1), "vpmadd52huq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x50, 0), "vpdpbusd", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x51, 0), "vpdpbusds", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x52, 0), "vpdpwssd", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x53, 0), "vpdpwssds", "VHW", 0},
	{VEX(MAP_0F38, 0x66, 0x50, 0), "vpdpbusd", "VHW", 0}, {VEX(MAP_0F38, 0x66, 0x51, 0), "vpdpbusds", "VHW", 0},
	{VEX(MAP_0F38, 0x66, 0x52, 0), "vpdpwssd", "VHW", 0}, {VEX(MAP_0F38, 0x66, 0x53, 0), "vpdpwssds", "VHW", 0},
	{EVEX(MAP_0F38, 0xf3, 0x52, 0), "vdpbf16ps", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x54, ANY), "vpopcnt%bw", "VW", 0}, {EVEX(MAP_0F38, 0x66, 0x55, ANY), "vpopcnt%dq", "VW", 0},
	{EVEX(MAP_0F38, 0x66, 0x44, ANY), "vplzcnt%dq", "VW", 0}, {EVEX(MAP_0F38, 0x66, 0xc4, ANY), "vpconflict%dq", "VW", 0},
	{EVEX(MAP_0F3A, 0x66, 0x42, 0), "vdbpsadbw", "VHWI", 0}, {EVEX(MAP_0F38, 0x66, 0x83, 1), "vpmultishiftqb", "VHW", 0},

	/* shifts: by an immediate, the destination is vvvv */
	{ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 2, "vpsrlw", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 4, "vpsraw", "HWI", 0},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 6, "vpsllw", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 0, "vpror%dq", "HWI", 0},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 1, "vprol%dq", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, 0, 2, "vpsrld", "HWI", 0},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 4, "vpsra%dq", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, 0, 6, "vpslld", "HWI", 0},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x73, 1, 2, "vpsrlq", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x73, ANY, 3, "vpsrldq", "HWI", 0},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x73, 1, 6, "vpsllq", "HWI", 0}, {ENCODING_EVEX, MAP_0F, 0x66, 0x73, ANY, 7, "vpslldq", "HWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x14, ANY), "vprorv%dq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x15, ANY), "vprolv%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x45, ANY), "vpsrlv%dq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x46, ANY), "vpsrav%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x47, ANY), "vpsllv%dq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x10, 1), "vpsrlvw", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x11, 1), "vpsravw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x12, 1), "vpsllvw", "VHW", 0},
	{EVEX(MAP_0F3A, 0x66, 0x70, 1), "vpshldw", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x71, ANY), "vpshld%dq", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x72, 1), "vpshrdw", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x73, ANY), "vpshrd%dq", "VHWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x70, 1), "vpshldvw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x71, ANY), "vpshldv%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x72, 1), "vpshrdvw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x73, ANY), "vpshrdv%dq", "VHW", 0},

	/* shuffles */
	{EVEX(MAP_0F3A, 0x66, 0x03, ANY), "valign%dq", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x0f, ANY), "vpalignr", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x23, 0), "vshuff32x4", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x23, 1), "vshuff64x2", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x43, 0), "vshufi32x4", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x43, 1), "vshufi64x2", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x00, 1), "vpermq", "VWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x01, 1), "vpermpd", "VWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x36, ANY), "vperm%dq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x8d, ANY), "vperm%bw", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x16, 0), "vpermps", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x16, 1), "vpermpd", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x75, ANY), "vpermi2%bw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x7d, ANY), "vpermt2%bw", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x76, ANY), "vpermi2%dq", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x7e, ANY), "vpermt2%dq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0x60, ANY), "vpunpcklbw", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x61, ANY), "vpunpcklwd", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0x62, 0), "vpunpckldq", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x6c, 1), "vpunpcklqdq", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0x68, ANY), "vpunpckhbw", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x69, ANY), "vpunpckhwd", "VHW", 0},
	{EVEX(MAP_0F, 0x66, 0x6a, 0), "vpunpckhdq", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x6d, 1), "vpunpckhqdq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x00, ANY), "vpshufb", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x70, 0), "vpshufd", "VWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x66, ANY), "vpblendm%bw", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x64, ANY), "vpblendm%dq", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0x62, 0), "vpexpandb", "VW", 1}, {EVEX(MAP_0F38, 0x66, 0x62, 1), "vpexpandw", "VW", 2},
	{EVEX(MAP_0F38, 0x66, 0x63, 0), "vpcompressb", "WV", 1}, {EVEX(MAP_0F38, 0x66, 0x63, 1), "vpcompressw", "WV", 2},
	{EVEX(MAP_0F38, 0x66, 0x78, 0), "vpbroadcastb", "VWx", 1}, {EVEX(MAP_0F38, 0x66, 0x79, 0), "vpbroadcastw", "VWx", 2},
	{EVEX(MAP_0F38, 0x66, 0x58, 0), "vpbroadcastd", "VWx", 4}, {EVEX(MAP_0F38, 0x66, 0x59, 1), "vpbroadcastq", "VWx", 8},
	{EVEX(MAP_0F38, 0x66, 0x59, 0), "vbroadcasti32x2", "VWx", 8}, {EVEX(MAP_0F38, 0x66, 0x19, 0), "vbroadcastf32x2", "VWx", 8},
	{EVEX(MAP_0F38, 0x66, 0x7a, 0), "vpbroadcastb", "VE", 0}, {EVEX(MAP_0F38, 0x66, 0x7b, 0), "vpbroadcastw", "VE", 0},
	{EVEX(MAP_0F38, 0x66, 0x7c, 0), "vpbroadcastd", "VE", 0}, {EVEX(MAP_0F38, 0x66, 0x7c, 1), "vpbroadcastq", "VE", 0},
	{EVEX(MAP_0F38, 0x66, 0x5a, 0), "vbroadcasti32x4", "VM", 16}, {EVEX(MAP_0F38, 0x66, 0x5a, 1), "vbroadcasti64x2", "VM", 16},
	{VEX(MAP_0F38, 0x66, 0x5a, 0), "vbroadcasti128", "VM", 16}, {EVEX(MAP_0F38, 0x66, 0x5b, 0), "vbroadcasti32x8", "VM", 32},
	{EVEX(MAP_0F38, 0x66, 0x5b, 1), "vbroadcasti64x4", "VM", 32}, {EVEX(MAP_0F38, 0x66, 0x1a, 0), "vbroadcastf32x4", "VM", 16},
	{EVEX(MAP_0F3A, 0x66, 0x38, 0), "vinserti32x4", "VHWxI", 16}, {EVEX(MAP_0F3A, 0x66, 0x38, 1), "vinserti64x2", "VHWxI", 16},
	{EVEX(MAP_0F3A, 0x66, 0x3a, 0), "vinserti32x8", "VHWyI", 32}, {EVEX(MAP_0F3A, 0x66, 0x3a, 1), "vinserti64x4", "VHWyI", 32},
	{EVEX(MAP_0F3A, 0x66, 0x18, 0), "vinsertf32x4", "VHWxI", 16}, {EVEX(MAP_0F3A, 0x66, 0x18, 1), "vinsertf64x2", "VHWxI", 16},
	{EVEX(MAP_0F3A, 0x66, 0x1a, 0), "vinsertf32x8", "VHWyI", 32}, {EVEX(MAP_0F3A, 0x66, 0x1a, 1), "vinsertf64x4", "VHWyI", 32},
	{EVEX(MAP_0F3A, 0x66, 0x39, 0), "vextracti32x4", "WxVI", 16}, {EVEX(MAP_0F3A, 0x66, 0x39, 1), "vextracti64x2", "WxVI", 16},
	{EVEX(MAP_0F3A, 0x66, 0x3b, 0), "vextracti32x8", "WyVI", 32}, {EVEX(MAP_0F3A, 0x66, 0x3b, 1), "vextracti64x4", "WyVI", 32},
	{EVEX(MAP_0F3A, 0x66, 0x19, 0), "vextractf32x4", "WxVI", 16}, {EVEX(MAP_0F3A, 0x66, 0x19, 1), "vextractf64x2", "WxVI", 16},
	{EVEX(MAP_0F3A, 0x66, 0x1b, 0), "vextractf32x8", "WyVI", 32}, {EVEX(MAP_0F3A, 0x66, 0x1b, 1), "vextractf64x4", "WyVI", 32},

	/* moves, floating point */
	{EVEX(MAP_0F, 0x66, 0x6f, 0), "vmovdqa32", "VW", 0}, {EVEX(MAP_0F, 0x66, 0x6f, 1), "vmovdqa64", "VW", 0},
	{EVEX(MAP_0F, 0x66, 0x7f, 0), "vmovdqa32", "WV", 0}, {EVEX(MAP_0F, 0x66, 0x7f, 1), "vmovdqa64", "WV", 0},
	{EVEX(MAP_0F, 0xf3, 0x6f, 0), "vmovdqu32", "VW", 0}, {EVEX(MAP_0F, 0xf3, 0x6f, 1), "vmovdqu64", "VW", 0},
	{EVEX(MAP_0F, 0xf3, 0x7f, 0), "vmovdqu32", "WV", 0}, {EVEX(MAP_0F, 0xf3, 0x7f, 1), "vmovdqu64", "WV", 0},
	{EVEX(MAP_0F, 0xf2, 0x6f, 0), "vmovdqu8", "VW", 0}, {EVEX(MAP_0F, 0xf2, 0x6f, 1), "vmovdqu16", "VW", 0},
	{EVEX(MAP_0F, 0xf2, 0x7f, 0), "vmovdqu8", "WV", 0}, {EVEX(MAP_0F, 0xf2, 0x7f, 1), "vmovdqu16", "WV", 0},
	{EVEX(MAP_0F, 0x66, 0xe7, 0), "vmovntdq", "MV", 0}, {EVEX(MAP_0F38, 0x66, 0x2a, 0), "vmovntdqa", "VM", 0},
	{EVEX(MAP_0F, 0, 0x54, 0), "vandps", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x54, 1), "vandpd", "VHW", 0},
	{EVEX(MAP_0F, 0, 0x55, 0), "vandnps", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x55, 1), "vandnpd", "VHW", 0},
	{EVEX(MAP_0F, 0, 0x56, 0), "vorps", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x56, 1), "vorpd", "VHW", 0},
	{EVEX(MAP_0F, 0, 0x57, 0), "vxorps", "VHW", 0}, {EVEX(MAP_0F, 0x66, 0x57, 1), "vxorpd", "VHW", 0},
	{EVEX(MAP_0F3A, 0x66, 0x54, 0), "vfixupimmps", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x54, 1), "vfixupimmpd", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x50, 0), "vrangeps", "VHWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x50, 1), "vrangepd", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x56, 0), "vreduceps", "VWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x56, 1), "vreducepd", "VWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0x26, 0), "vgetmantps", "VWI", 0}, {EVEX(MAP_0F3A, 0x66, 0x26, 1), "vgetmantpd", "VWI", 0},
	{EVEX(MAP_0F38, 0x66, 0x42, 0), "vgetexpps", "VW", 0}, {EVEX(MAP_0F38, 0x66, 0x42, 1), "vgetexppd", "VW", 0},
	{EVEX(MAP_0F38, 0x66, 0x2c, 0), "vscalefps", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0x2c, 1), "vscalefpd", "VHW", 0},
	{EVEX(MAP_0F, 0xf3, 0xe6, 1), "vcvtqq2pd", "VW", 0}, {EVEX(MAP_0F, 0x66, 0x7b, 1), "vcvtpd2qq", "VW", 0},
	{EVEX(MAP_0F, 0x66, 0x7a, 1), "vcvttpd2qq", "VW", 0}, {EVEX(MAP_0F, 0xf3, 0x7a, 1), "vcvtuqq2pd", "VW", 0},

	/* cryptography */
	{EVEX(MAP_0F38, 0x66, 0xdc, ANY), "vaesenc", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0xdd, ANY), "vaesenclast", "VHW", 0},
	{EVEX(MAP_0F38, 0x66, 0xde, ANY), "vaesdec", "VHW", 0}, {EVEX(MAP_0F38, 0x66, 0xdf, ANY), "vaesdeclast", "VHW", 0},
	{VEX(MAP_0F38, 0x66, 0xdc, ANY), "vaesenc", "VHW", 0}, {VEX(MAP_0F38, 0x66, 0xdd, ANY), "vaesenclast", "VHW", 0},
	{VEX(MAP_0F38, 0x66, 0xde, ANY), "vaesdec", "VHW", 0}, {VEX(MAP_0F38, 0x66, 0xdf, ANY), "vaesdeclast", "VHW", 0},
	{EVEX(MAP_0F3A, 0x66, 0x44, ANY), "vpclmulqdq", "VHWI", 0}, {VEX(MAP_0F3A, 0x66, 0x44, ANY), "vpclmulqdq", "VHWI", 0},
	{EVEX(MAP_0F38, 0x66, 0xcf, 0), "vgf2p8mulb", "VHW", 0}, {VEX(MAP_0F38, 0x66, 0xcf, 0), "vgf2p8mulb", "VHW", 0},
	{EVEX(MAP_0F3A, 0x66, 0xce, 1), "vgf2p8affineqb", "VHWI", 0}, {VEX(MAP_0F3A, 0x66, 0xce, 1), "vgf2p8affineqb", "VHWI", 0},
	{EVEX(MAP_0F3A, 0x66, 0xcf, 1), "vgf2p8affineinvqb", "VHWI", 0}, {VEX(MAP_0F3A, 0x66, 0xcf, 1), "vgf2p8affineinvqb", "VHWI", 0},
	{LEGACY(MAP_0F38, 0x66, 0xcf), "gf2p8mulb", "VW", 0}, {LEGACY(MAP_0F3A, 0x66, 0xce), "gf2p8affineqb", "VWI", 0},
	{LEGACY(MAP_0F3A, 0x66, 0xcf), "gf2p8affineinvqb", "VWI", 0},

	/* the system */
	{LEGACY(MAP_0F38, 0, 0xf9), "movdiri", "MG", ELEMENT}, {LEGACY(MAP_0F38, 0x66, 0xf8), "movdir64b", "GM", 64},
	{LEGACY(MAP_0F38, 0xf2, 0xf8), "enqcmd", "GM", 64}, {LEGACY(MAP_0F38, 0xf3, 0xf8), "enqcmds", "GM", 64},
	{ENCODING_LEGACY, MAP_0F, 0, 0x1c, ANY, 0, "cldemote", "M", 1},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0x1e, ANY, 1, "rdssp%dq", "E", 0},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 5, "incssp%dq", "E", 0},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 4, "ptwrite", "E", ELEMENT},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 6, "umonitor", "E", 0},
	{ENCODING_LEGACY, MAP_0F, 0xf2, 0xae, ANY, 6, "umwait", "E", 0},
	{ENCODING_LEGACY, MAP_0F, 0x66, 0xae, ANY, 6, "tpause", "E", 0},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xc7, ANY, 7, "rdpid", "E", 0},
};
/* clang-format on */

/* 0F 01 with a register: the whole of ModRM is the opcode. */
static const char *
system_name(const struct x86_encoding *encoding)
{
	if (encoding->kind != ENCODING_LEGACY || encoding->map != MAP_0F || encoding->opcode != 0x01 ||
	    encoding->has_memory)
		return NULL;
	switch (encoding->modrm) {
	case 0xe8:
		return encoding->prefix == 0 ? "serialize" : NULL;
	case 0xee:
		return "rdpkru";
	case 0xef:
		return "wrpkru";
	case 0xfa:
		return "monitorx";
	case 0xfb:
		return "mwaitx";
	case 0xfc:
		return "clzero";
	default:
		return NULL;
	}
}

static bool
is_row(const struct newer *row, const struct x86_encoding *encoding)
{
	if (row->kind != encoding->kind || row->map != encoding->map || row->opcode != encoding->opcode)
		return false;
	if (row->prefix != encoding->prefix || (row->w != ANY && row->w != (encoding->rex & REX_W ? 1 : 0)))
		return false;
	if (row->field != ANY && row->field != (encoding->modrm >> 3 & 7))
		return false;
	return encoding->has_memory || !strchr(row->operands, 'M');
}

static const struct newer *
find_row(const struct x86_encoding *encoding)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (is_row(&table[i], encoding))
			return &table[i];
	return NULL;
}

static void
name_fill(const char *pattern, const struct x86_encoding *encoding, char name[32])
{
	size_t at = 0;

	for (; *pattern && at < 31; pattern++) {
		if (*pattern != '%') {
			name[at++] = *pattern;
			continue;
		}
		name[at++] = pattern[encoding->rex & REX_W ? 2 : 1];
		pattern += 2;
	}
	name[at] = '\0';
}

static uint8_t
element_size(const struct x86_encoding *encoding)
{
	return encoding->rex & REX_W ? 8 : 4;
}

static uint8_t
memory_size(const struct x86_encoding *encoding, uint8_t tuple)
{
	uint8_t vector = (uint8_t)(16u << (encoding->length & 3));

	switch (tuple) {
	case 0:
		return encoding->broadcasts ? element_size(encoding) : vector;
	case HALF:
		return vector / 2;
	case QUARTER:
		return vector / 4;
	case EIGHTH:
		return vector / 8;
	case ELEMENT:
		return element_size(encoding);
	default:
		return tuple;
	}
}

/* EVEX counts a displacement of one byte in units of what is accessed. */
static void
memory_fill(const struct x86_encoding *encoding, uint64_t address, uint8_t size, struct instruction_operand *operand)
{
	bool is_scaled = encoding->kind == ENCODING_EVEX && encoding->displacement_size == 1;

	operand->kind = OPERAND_MEMORY;
	operand->size = size;
	operand->base = encoding->base == 0xff ? REGISTER_NONE : encoding->base;
	operand->index = encoding->index == 0xff ? REGISTER_NONE : encoding->index;
	operand->scale = encoding->scale;
	operand->value = (int64_t)encoding->displacement * (is_scaled ? size : 1);
	operand->is_pc = encoding->is_rip_relative;
	if (operand->is_pc)
		operand->value = (int64_t)(address + encoding->size + (uint64_t)operand->value);
}

static void
register_fill(uint8_t reg, uint8_t base, uint8_t size, struct instruction_operand *operand)
{
	operand->kind = OPERAND_REGISTER;
	operand->reg = base + reg % (base == REGISTER_VECTOR ? 32 : base == REGISTER_MASK ? 8 : 16);
	operand->size = size;
}

static void
operand_fill(const struct x86_encoding *encoding, uint64_t address, char letter, uint8_t vector, uint8_t tuple,
             struct instruction_operand *operand)
{
	*operand = (struct instruction_operand){.kind = OPERAND_OTHER};
	operand->reg = operand->base = operand->index = REGISTER_NONE;
	if (strchr("WQEM", letter) && encoding->has_memory) {
		memory_fill(encoding, address, memory_size(encoding, tuple), operand);
		return;
	}
	switch (letter) {
	case 'V':
		register_fill(encoding->reg, REGISTER_VECTOR, vector, operand);
		break;
	case 'H':
		register_fill(encoding->other, REGISTER_VECTOR, vector, operand);
		break;
	case 'W':
		register_fill(encoding->rm, REGISTER_VECTOR, vector, operand);
		break;
	case 'K':
		register_fill(encoding->reg, REGISTER_MASK, 8, operand);
		break;
	case 'L':
		register_fill(encoding->other, REGISTER_MASK, 8, operand);
		break;
	case 'Q':
		register_fill(encoding->rm, REGISTER_MASK, 8, operand);
		break;
	case 'G':
		register_fill(encoding->reg, 0, element_size(encoding), operand);
		break;
	case 'B':
		register_fill(encoding->other, 0, element_size(encoding), operand);
		break;
	case 'E':
		register_fill(encoding->rm, 0, element_size(encoding), operand);
		break;
	default:
		operand->kind = OPERAND_IMMEDIATE;
		operand->value = (uint8_t)encoding->immediate;
		operand->size = 1;
		break;
	}
}

static void
operands_fill(const struct x86_encoding *encoding, uint64_t address, const char *letters, uint8_t tuple,
              struct instruction_detail *detail)
{
	for (; *letters && detail->operand_count < INSTRUCTION_OPERANDS_MAX; letters++) {
		uint8_t vector = letters[1] == 'x'   ? 16
		                 : letters[1] == 'y' ? 32
		                                     : (uint8_t)(16u << (encoding->length & 3));

		operand_fill(encoding, address, *letters, vector, tuple, &detail->operands[detail->operand_count++]);
		if (letters[1] == 'x' || letters[1] == 'y')
			letters++;
	}
}

bool
x86_64_newer_detail(const struct x86_encoding *encoding, uint64_t address, struct instruction_detail *detail)
{
	const struct newer *row = find_row(encoding);
	const char *name = system_name(encoding);

	memset(detail, 0, sizeof(*detail));
	if (name) {
		name_fill(name, encoding, detail->mnemonic);
		return true;
	}
	if (row) {
		name_fill(row->name, encoding, detail->mnemonic);
		operands_fill(encoding, address, row->operands, row->tuple, detail);
		return true;
	}
	if (encoding->kind == ENCODING_LEGACY || encoding->kind == ENCODING_XOP || !encoding->has_modrm)
		return false;
	name_fill(X86_64_UNKNOWN_NAME, encoding, detail->mnemonic);
	operands_fill(encoding, address, "VHW", 0, detail);
	return true;
}
