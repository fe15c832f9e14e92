#include "code/x86_64_newer_table.h"

#include <string.h>

#define ANY 0xff

#define VEX(map, prefix, opcode, w)  ENCODING_VEX, map, prefix, opcode, w, ANY
#define EVEX(map, prefix, opcode, w) ENCODING_EVEX, map, prefix, opcode, w, ANY
#define LEGACY(map, prefix, opcode)  ENCODING_LEGACY, map, prefix, opcode, ANY, ANY

/* clang-format off */
static const struct newer_form table[] = {
	/* masks */
	{VEX(MAP_0F, 0, 0x90, 0), 2, "kmovw", "KQ"}, {VEX(MAP_0F, 0, 0x90, 1), 8, "kmovq", "KQ"},
	{VEX(MAP_0F, 0x66, 0x90, 0), 1, "kmovb", "KQ"}, {VEX(MAP_0F, 0x66, 0x90, 1), 4, "kmovd", "KQ"},
	{VEX(MAP_0F, 0, 0x91, 0), 2, "kmovw", "QK"}, {VEX(MAP_0F, 0, 0x91, 1), 8, "kmovq", "QK"},
	{VEX(MAP_0F, 0x66, 0x91, 0), 1, "kmovb", "QK"}, {VEX(MAP_0F, 0x66, 0x91, 1), 4, "kmovd", "QK"},
	{VEX(MAP_0F, 0, 0x92, 0), 0, "kmovw", "KE"}, {VEX(MAP_0F, 0x66, 0x92, 0), 0, "kmovb", "KE"},
	{VEX(MAP_0F, 0xf2, 0x92, 0), 0, "kmovd", "KE"}, {VEX(MAP_0F, 0xf2, 0x92, 1), 0, "kmovq", "KE"},
	{VEX(MAP_0F, 0, 0x93, 0), 0, "kmovw", "GQ"}, {VEX(MAP_0F, 0x66, 0x93, 0), 0, "kmovb", "GQ"},
	{VEX(MAP_0F, 0xf2, 0x93, 0), 0, "kmovd", "GQ"}, {VEX(MAP_0F, 0xf2, 0x93, 1), 0, "kmovq", "GQ"},
	{VEX(MAP_0F, 0, 0x41, ANY), 0, "kand%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x41, ANY), 0, "kand%bd", "KLQ"},
	{VEX(MAP_0F, 0, 0x42, ANY), 0, "kandn%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x42, ANY), 0, "kandn%bd", "KLQ"},
	{VEX(MAP_0F, 0, 0x44, ANY), 0, "knot%wq", "KQ"}, {VEX(MAP_0F, 0x66, 0x44, ANY), 0, "knot%bd", "KQ"},
	{VEX(MAP_0F, 0, 0x45, ANY), 0, "kor%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x45, ANY), 0, "kor%bd", "KLQ"},
	{VEX(MAP_0F, 0, 0x46, ANY), 0, "kxnor%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x46, ANY), 0, "kxnor%bd", "KLQ"},
	{VEX(MAP_0F, 0, 0x47, ANY), 0, "kxor%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x47, ANY), 0, "kxor%bd", "KLQ"},
	{VEX(MAP_0F, 0, 0x4a, ANY), 0, "kadd%wq", "KLQ"}, {VEX(MAP_0F, 0x66, 0x4a, ANY), 0, "kadd%bd", "KLQ"},
	{VEX(MAP_0F, 0x66, 0x4b, 0), 0, "kunpckbw", "KLQ"}, {VEX(MAP_0F, 0, 0x4b, 0), 0, "kunpckwd", "KLQ"},
	{VEX(MAP_0F, 0, 0x4b, 1), 0, "kunpckdq", "KLQ"},
	{VEX(MAP_0F, 0, 0x98, ANY), 0, "kortest%wq", "KQ"}, {VEX(MAP_0F, 0x66, 0x98, ANY), 0, "kortest%bd", "KQ"},
	{VEX(MAP_0F, 0, 0x99, ANY), 0, "ktest%wq", "KQ"}, {VEX(MAP_0F, 0x66, 0x99, ANY), 0, "ktest%bd", "KQ"},
	{VEX(MAP_0F3A, 0x66, 0x30, ANY), 0, "kshiftr%bw", "KQI"}, {VEX(MAP_0F3A, 0x66, 0x31, ANY), 0, "kshiftr%dq", "KQI"},
	{VEX(MAP_0F3A, 0x66, 0x32, ANY), 0, "kshiftl%bw", "KQI"}, {VEX(MAP_0F3A, 0x66, 0x33, ANY), 0, "kshiftl%dq", "KQI"},
	{EVEX(MAP_0F38, 0xf3, 0x28, ANY), 0, "vpmovm2%bw", "VQ"}, {EVEX(MAP_0F38, 0xf3, 0x38, ANY), 0, "vpmovm2%dq", "VQ"},
	{EVEX(MAP_0F38, 0xf3, 0x29, ANY), 0, "vpmov%bw2m", "KW"}, {EVEX(MAP_0F38, 0xf3, 0x39, ANY), 0, "vpmov%dq2m", "KW"},
	{EVEX(MAP_0F38, 0xf3, 0x2a, 1), 0, "vpbroadcastmb2q", "VQ"}, {EVEX(MAP_0F38, 0xf3, 0x3a, 0), 0, "vpbroadcastmw2d", "VQ"},

	/* comparisons into masks */
	{EVEX(MAP_0F, 0x66, 0x74, ANY), 0, "vpcmpeqb", "KHW"}, {EVEX(MAP_0F, 0x66, 0x75, ANY), 0, "vpcmpeqw", "KHW"},
	{EVEX(MAP_0F, 0x66, 0x76, 0), 0, "vpcmpeqd", "KHW"}, {EVEX(MAP_0F38, 0x66, 0x29, 1), 0, "vpcmpeqq", "KHW"},
	{EVEX(MAP_0F, 0x66, 0x64, ANY), 0, "vpcmpgtb", "KHW"}, {EVEX(MAP_0F, 0x66, 0x65, ANY), 0, "vpcmpgtw", "KHW"},
	{EVEX(MAP_0F, 0x66, 0x66, 0), 0, "vpcmpgtd", "KHW"}, {EVEX(MAP_0F38, 0x66, 0x37, 1), 0, "vpcmpgtq", "KHW"},
	{EVEX(MAP_0F3A, 0x66, 0x3e, ANY), 0, "vpcmpu%bw", "KHWI"}, {EVEX(MAP_0F3A, 0x66, 0x3f, ANY), 0, "vpcmp%bw", "KHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x1e, ANY), 0, "vpcmpu%dq", "KHWI"}, {EVEX(MAP_0F3A, 0x66, 0x1f, ANY), 0, "vpcmp%dq", "KHWI"},
	{EVEX(MAP_0F38, 0x66, 0x26, ANY), 0, "vptestm%bw", "KHW"}, {EVEX(MAP_0F38, 0x66, 0x27, ANY), 0, "vptestm%dq", "KHW"},
	{EVEX(MAP_0F38, 0xf3, 0x26, ANY), 0, "vptestnm%bw", "KHW"}, {EVEX(MAP_0F38, 0xf3, 0x27, ANY), 0, "vptestnm%dq", "KHW"},
	{EVEX(MAP_0F, 0, 0xc2, 0), 0, "vcmpps", "KHWI"}, {EVEX(MAP_0F, 0x66, 0xc2, 1), 0, "vcmppd", "KHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x66, 0), 0, "vfpclassps", "KWI"}, {EVEX(MAP_0F3A, 0x66, 0x66, 1), 0, "vfpclasspd", "KWI"},
	{EVEX(MAP_0F38, 0x66, 0x8f, 0), 0, "vpshufbitqmb", "KHW"},

	/* integers */
	{EVEX(MAP_0F3A, 0x66, 0x25, ANY), 0, "vpternlog%dq", "VHWI"},
	{EVEX(MAP_0F, 0x66, 0xdb, ANY), 0, "vpand%dq", "VHW"}, {EVEX(MAP_0F, 0x66, 0xdf, ANY), 0, "vpandn%dq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xeb, ANY), 0, "vpor%dq", "VHW"}, {EVEX(MAP_0F, 0x66, 0xef, ANY), 0, "vpxor%dq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xfc, ANY), 0, "vpaddb", "VHW"}, {EVEX(MAP_0F, 0x66, 0xfd, ANY), 0, "vpaddw", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xfe, 0), 0, "vpaddd", "VHW"}, {EVEX(MAP_0F, 0x66, 0xd4, 1), 0, "vpaddq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xf8, ANY), 0, "vpsubb", "VHW"}, {EVEX(MAP_0F, 0x66, 0xf9, ANY), 0, "vpsubw", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xfa, 0), 0, "vpsubd", "VHW"}, {EVEX(MAP_0F, 0x66, 0xfb, 1), 0, "vpsubq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xd8, ANY), 0, "vpsubusb", "VHW"}, {EVEX(MAP_0F, 0x66, 0xd9, ANY), 0, "vpsubusw", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xdc, ANY), 0, "vpaddusb", "VHW"}, {EVEX(MAP_0F, 0x66, 0xdd, ANY), 0, "vpaddusw", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xda, ANY), 0, "vpminub", "VHW"}, {EVEX(MAP_0F, 0x66, 0xde, ANY), 0, "vpmaxub", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x38, ANY), 0, "vpminsb", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x39, ANY), 0, "vpmins%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x3a, ANY), 0, "vpminuw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x3b, ANY), 0, "vpminu%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x3c, ANY), 0, "vpmaxsb", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x3d, ANY), 0, "vpmaxs%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x3e, ANY), 0, "vpmaxuw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x3f, ANY), 0, "vpmaxu%dq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0xf6, ANY), 0, "vpsadbw", "VHW"}, {EVEX(MAP_0F, 0x66, 0xe0, ANY), 0, "vpavgb", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x1f, 1), 0, "vpabsq", "VW"}, {EVEX(MAP_0F38, 0x66, 0x1c, ANY), 0, "vpabsb", "VW"},
	{EVEX(MAP_0F38, 0x66, 0x40, ANY), 0, "vpmull%dq", "VHW"}, {EVEX(MAP_0F, 0x66, 0xd5, ANY), 0, "vpmullw", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x04, ANY), 0, "vpmaddubsw", "VHW"}, {EVEX(MAP_0F, 0x66, 0xf5, ANY), 0, "vpmaddwd", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0xb4, 1), 0, "vpmadd52luq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0xb5, 1), 0, "vpmadd52huq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x50, 0), 0, "vpdpbusd", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x51, 0), 0, "vpdpbusds", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x52, 0), 0, "vpdpwssd", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x53, 0), 0, "vpdpwssds", "VHW"},
	{VEX(MAP_0F38, 0x66, 0x50, 0), 0, "vpdpbusd", "VHW"}, {VEX(MAP_0F38, 0x66, 0x51, 0), 0, "vpdpbusds", "VHW"},
	{VEX(MAP_0F38, 0x66, 0x52, 0), 0, "vpdpwssd", "VHW"}, {VEX(MAP_0F38, 0x66, 0x53, 0), 0, "vpdpwssds", "VHW"},
	{EVEX(MAP_0F38, 0xf3, 0x52, 0), 0, "vdpbf16ps", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x54, ANY), 0, "vpopcnt%bw", "VW"}, {EVEX(MAP_0F38, 0x66, 0x55, ANY), 0, "vpopcnt%dq", "VW"},
	{EVEX(MAP_0F38, 0x66, 0x44, ANY), 0, "vplzcnt%dq", "VW"}, {EVEX(MAP_0F38, 0x66, 0xc4, ANY), 0, "vpconflict%dq", "VW"},
	{EVEX(MAP_0F3A, 0x66, 0x42, 0), 0, "vdbpsadbw", "VHWI"}, {EVEX(MAP_0F38, 0x66, 0x83, 1), 0, "vpmultishiftqb", "VHW"},

	/* shifts: by an immediate, the destination is vvvv */
	{ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 2, 0, "vpsrlw", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 4, 0, "vpsraw", "HWI"},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x71, ANY, 6, 0, "vpsllw", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 0, 0, "vpror%dq", "HWI"},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 1, 0, "vprol%dq", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, 0, 2, 0, "vpsrld", "HWI"},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x72, ANY, 4, 0, "vpsra%dq", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x72, 0, 6, 0, "vpslld", "HWI"},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x73, 1, 2, 0, "vpsrlq", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x73, ANY, 3, 0, "vpsrldq", "HWI"},
	{ENCODING_EVEX, MAP_0F, 0x66, 0x73, 1, 6, 0, "vpsllq", "HWI"}, {ENCODING_EVEX, MAP_0F, 0x66, 0x73, ANY, 7, 0, "vpslldq", "HWI"},
	{EVEX(MAP_0F38, 0x66, 0x14, ANY), 0, "vprorv%dq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x15, ANY), 0, "vprolv%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x45, ANY), 0, "vpsrlv%dq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x46, ANY), 0, "vpsrav%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x47, ANY), 0, "vpsllv%dq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x10, 1), 0, "vpsrlvw", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x11, 1), 0, "vpsravw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x12, 1), 0, "vpsllvw", "VHW"},
	{EVEX(MAP_0F3A, 0x66, 0x70, 1), 0, "vpshldw", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x71, ANY), 0, "vpshld%dq", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x72, 1), 0, "vpshrdw", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x73, ANY), 0, "vpshrd%dq", "VHWI"},
	{EVEX(MAP_0F38, 0x66, 0x70, 1), 0, "vpshldvw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x71, ANY), 0, "vpshldv%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x72, 1), 0, "vpshrdvw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x73, ANY), 0, "vpshrdv%dq", "VHW"},

	/* shuffles */
	{EVEX(MAP_0F3A, 0x66, 0x03, ANY), 0, "valign%dq", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x0f, ANY), 0, "vpalignr", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x23, 0), 0, "vshuff32x4", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x23, 1), 0, "vshuff64x2", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x43, 0), 0, "vshufi32x4", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x43, 1), 0, "vshufi64x2", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x00, 1), 0, "vpermq", "VWI"}, {EVEX(MAP_0F3A, 0x66, 0x01, 1), 0, "vpermpd", "VWI"},
	{EVEX(MAP_0F38, 0x66, 0x36, ANY), 0, "vperm%dq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x8d, ANY), 0, "vperm%bw", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x16, 0), 0, "vpermps", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x16, 1), 0, "vpermpd", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x75, ANY), 0, "vpermi2%bw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x7d, ANY), 0, "vpermt2%bw", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x76, ANY), 0, "vpermi2%dq", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x7e, ANY), 0, "vpermt2%dq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0x60, ANY), 0, "vpunpcklbw", "VHW"}, {EVEX(MAP_0F, 0x66, 0x61, ANY), 0, "vpunpcklwd", "VHW"},
	{EVEX(MAP_0F, 0x66, 0x62, 0), 0, "vpunpckldq", "VHW"}, {EVEX(MAP_0F, 0x66, 0x6c, 1), 0, "vpunpcklqdq", "VHW"},
	{EVEX(MAP_0F, 0x66, 0x68, ANY), 0, "vpunpckhbw", "VHW"}, {EVEX(MAP_0F, 0x66, 0x69, ANY), 0, "vpunpckhwd", "VHW"},
	{EVEX(MAP_0F, 0x66, 0x6a, 0), 0, "vpunpckhdq", "VHW"}, {EVEX(MAP_0F, 0x66, 0x6d, 1), 0, "vpunpckhqdq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x00, ANY), 0, "vpshufb", "VHW"}, {EVEX(MAP_0F, 0x66, 0x70, 0), 0, "vpshufd", "VWI"},
	{EVEX(MAP_0F38, 0x66, 0x66, ANY), 0, "vpblendm%bw", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x64, ANY), 0, "vpblendm%dq", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0x62, 0), 1, "vpexpandb", "VW"}, {EVEX(MAP_0F38, 0x66, 0x62, 1), 2, "vpexpandw", "VW"},
	{EVEX(MAP_0F38, 0x66, 0x63, 0), 1, "vpcompressb", "WV"}, {EVEX(MAP_0F38, 0x66, 0x63, 1), 2, "vpcompressw", "WV"},
	{EVEX(MAP_0F38, 0x66, 0x78, 0), 1, "vpbroadcastb", "VWx"}, {EVEX(MAP_0F38, 0x66, 0x79, 0), 2, "vpbroadcastw", "VWx"},
	{EVEX(MAP_0F38, 0x66, 0x58, 0), 4, "vpbroadcastd", "VWx"}, {EVEX(MAP_0F38, 0x66, 0x59, 1), 8, "vpbroadcastq", "VWx"},
	{EVEX(MAP_0F38, 0x66, 0x59, 0), 8, "vbroadcasti32x2", "VWx"}, {EVEX(MAP_0F38, 0x66, 0x19, 0), 8, "vbroadcastf32x2", "VWx"},
	{EVEX(MAP_0F38, 0x66, 0x7a, 0), 0, "vpbroadcastb", "VE"}, {EVEX(MAP_0F38, 0x66, 0x7b, 0), 0, "vpbroadcastw", "VE"},
	{EVEX(MAP_0F38, 0x66, 0x7c, 0), 0, "vpbroadcastd", "VE"}, {EVEX(MAP_0F38, 0x66, 0x7c, 1), 0, "vpbroadcastq", "VE"},
	{EVEX(MAP_0F38, 0x66, 0x5a, 0), 16, "vbroadcasti32x4", "VM"}, {EVEX(MAP_0F38, 0x66, 0x5a, 1), 16, "vbroadcasti64x2", "VM"},
	{VEX(MAP_0F38, 0x66, 0x5a, 0), 16, "vbroadcasti128", "VM"}, {EVEX(MAP_0F38, 0x66, 0x5b, 0), 32, "vbroadcasti32x8", "VM"},
	{EVEX(MAP_0F38, 0x66, 0x5b, 1), 32, "vbroadcasti64x4", "VM"}, {EVEX(MAP_0F38, 0x66, 0x1a, 0), 16, "vbroadcastf32x4", "VM"},
	{EVEX(MAP_0F3A, 0x66, 0x38, 0), 16, "vinserti32x4", "VHWxI"}, {EVEX(MAP_0F3A, 0x66, 0x38, 1), 16, "vinserti64x2", "VHWxI"},
	{EVEX(MAP_0F3A, 0x66, 0x3a, 0), 32, "vinserti32x8", "VHWyI"}, {EVEX(MAP_0F3A, 0x66, 0x3a, 1), 32, "vinserti64x4", "VHWyI"},
	{EVEX(MAP_0F3A, 0x66, 0x18, 0), 16, "vinsertf32x4", "VHWxI"}, {EVEX(MAP_0F3A, 0x66, 0x18, 1), 16, "vinsertf64x2", "VHWxI"},
	{EVEX(MAP_0F3A, 0x66, 0x1a, 0), 32, "vinsertf32x8", "VHWyI"}, {EVEX(MAP_0F3A, 0x66, 0x1a, 1), 32, "vinsertf64x4", "VHWyI"},
	{EVEX(MAP_0F3A, 0x66, 0x39, 0), 16, "vextracti32x4", "WxVI"}, {EVEX(MAP_0F3A, 0x66, 0x39, 1), 16, "vextracti64x2", "WxVI"},
	{EVEX(MAP_0F3A, 0x66, 0x3b, 0), 32, "vextracti32x8", "WyVI"}, {EVEX(MAP_0F3A, 0x66, 0x3b, 1), 32, "vextracti64x4", "WyVI"},
	{EVEX(MAP_0F3A, 0x66, 0x19, 0), 16, "vextractf32x4", "WxVI"}, {EVEX(MAP_0F3A, 0x66, 0x19, 1), 16, "vextractf64x2", "WxVI"},
	{EVEX(MAP_0F3A, 0x66, 0x1b, 0), 32, "vextractf32x8", "WyVI"}, {EVEX(MAP_0F3A, 0x66, 0x1b, 1), 32, "vextractf64x4", "WyVI"},

	/* moves, floating point */
	{EVEX(MAP_0F, 0x66, 0x6f, 0), 0, "vmovdqa32", "VW"}, {EVEX(MAP_0F, 0x66, 0x6f, 1), 0, "vmovdqa64", "VW"},
	{EVEX(MAP_0F, 0x66, 0x7f, 0), 0, "vmovdqa32", "WV"}, {EVEX(MAP_0F, 0x66, 0x7f, 1), 0, "vmovdqa64", "WV"},
	{EVEX(MAP_0F, 0xf3, 0x6f, 0), 0, "vmovdqu32", "VW"}, {EVEX(MAP_0F, 0xf3, 0x6f, 1), 0, "vmovdqu64", "VW"},
	{EVEX(MAP_0F, 0xf3, 0x7f, 0), 0, "vmovdqu32", "WV"}, {EVEX(MAP_0F, 0xf3, 0x7f, 1), 0, "vmovdqu64", "WV"},
	{EVEX(MAP_0F, 0xf2, 0x6f, 0), 0, "vmovdqu8", "VW"}, {EVEX(MAP_0F, 0xf2, 0x6f, 1), 0, "vmovdqu16", "VW"},
	{EVEX(MAP_0F, 0xf2, 0x7f, 0), 0, "vmovdqu8", "WV"}, {EVEX(MAP_0F, 0xf2, 0x7f, 1), 0, "vmovdqu16", "WV"},
	{EVEX(MAP_0F, 0x66, 0xe7, 0), 0, "vmovntdq", "MV"}, {EVEX(MAP_0F38, 0x66, 0x2a, 0), 0, "vmovntdqa", "VM"},
	{EVEX(MAP_0F, 0, 0x54, 0), 0, "vandps", "VHW"}, {EVEX(MAP_0F, 0x66, 0x54, 1), 0, "vandpd", "VHW"},
	{EVEX(MAP_0F, 0, 0x55, 0), 0, "vandnps", "VHW"}, {EVEX(MAP_0F, 0x66, 0x55, 1), 0, "vandnpd", "VHW"},
	{EVEX(MAP_0F, 0, 0x56, 0), 0, "vorps", "VHW"}, {EVEX(MAP_0F, 0x66, 0x56, 1), 0, "vorpd", "VHW"},
	{EVEX(MAP_0F, 0, 0x57, 0), 0, "vxorps", "VHW"}, {EVEX(MAP_0F, 0x66, 0x57, 1), 0, "vxorpd", "VHW"},
	{EVEX(MAP_0F3A, 0x66, 0x54, 0), 0, "vfixupimmps", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x54, 1), 0, "vfixupimmpd", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x50, 0), 0, "vrangeps", "VHWI"}, {EVEX(MAP_0F3A, 0x66, 0x50, 1), 0, "vrangepd", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0x56, 0), 0, "vreduceps", "VWI"}, {EVEX(MAP_0F3A, 0x66, 0x56, 1), 0, "vreducepd", "VWI"},
	{EVEX(MAP_0F3A, 0x66, 0x26, 0), 0, "vgetmantps", "VWI"}, {EVEX(MAP_0F3A, 0x66, 0x26, 1), 0, "vgetmantpd", "VWI"},
	{EVEX(MAP_0F38, 0x66, 0x42, 0), 0, "vgetexpps", "VW"}, {EVEX(MAP_0F38, 0x66, 0x42, 1), 0, "vgetexppd", "VW"},
	{EVEX(MAP_0F38, 0x66, 0x2c, 0), 0, "vscalefps", "VHW"}, {EVEX(MAP_0F38, 0x66, 0x2c, 1), 0, "vscalefpd", "VHW"},
	{EVEX(MAP_0F, 0xf3, 0xe6, 1), 0, "vcvtqq2pd", "VW"}, {EVEX(MAP_0F, 0x66, 0x7b, 1), 0, "vcvtpd2qq", "VW"},
	{EVEX(MAP_0F, 0x66, 0x7a, 1), 0, "vcvttpd2qq", "VW"}, {EVEX(MAP_0F, 0xf3, 0x7a, 1), 0, "vcvtuqq2pd", "VW"},

	/* cryptography */
	{EVEX(MAP_0F38, 0x66, 0xdc, ANY), 0, "vaesenc", "VHW"}, {EVEX(MAP_0F38, 0x66, 0xdd, ANY), 0, "vaesenclast", "VHW"},
	{EVEX(MAP_0F38, 0x66, 0xde, ANY), 0, "vaesdec", "VHW"}, {EVEX(MAP_0F38, 0x66, 0xdf, ANY), 0, "vaesdeclast", "VHW"},
	{VEX(MAP_0F38, 0x66, 0xdc, ANY), 0, "vaesenc", "VHW"}, {VEX(MAP_0F38, 0x66, 0xdd, ANY), 0, "vaesenclast", "VHW"},
	{VEX(MAP_0F38, 0x66, 0xde, ANY), 0, "vaesdec", "VHW"}, {VEX(MAP_0F38, 0x66, 0xdf, ANY), 0, "vaesdeclast", "VHW"},
	{EVEX(MAP_0F3A, 0x66, 0x44, ANY), 0, "vpclmulqdq", "VHWI"}, {VEX(MAP_0F3A, 0x66, 0x44, ANY), 0, "vpclmulqdq", "VHWI"},
	{EVEX(MAP_0F38, 0x66, 0xcf, 0), 0, "vgf2p8mulb", "VHW"}, {VEX(MAP_0F38, 0x66, 0xcf, 0), 0, "vgf2p8mulb", "VHW"},
	{EVEX(MAP_0F3A, 0x66, 0xce, 1), 0, "vgf2p8affineqb", "VHWI"}, {VEX(MAP_0F3A, 0x66, 0xce, 1), 0, "vgf2p8affineqb", "VHWI"},
	{EVEX(MAP_0F3A, 0x66, 0xcf, 1), 0, "vgf2p8affineinvqb", "VHWI"}, {VEX(MAP_0F3A, 0x66, 0xcf, 1), 0, "vgf2p8affineinvqb", "VHWI"},
	{LEGACY(MAP_0F38, 0x66, 0xcf), 0, "gf2p8mulb", "VW"}, {LEGACY(MAP_0F3A, 0x66, 0xce), 0, "gf2p8affineqb", "VWI"},
	{LEGACY(MAP_0F3A, 0x66, 0xcf), 0, "gf2p8affineinvqb", "VWI"},

	/* the system */
	{LEGACY(MAP_0F38, 0, 0xf9), ELEMENT, "movdiri", "MG"}, {LEGACY(MAP_0F38, 0x66, 0xf8), 64, "movdir64b", "GM"},
	{LEGACY(MAP_0F38, 0xf2, 0xf8), 64, "enqcmd", "GM"}, {LEGACY(MAP_0F38, 0xf3, 0xf8), 64, "enqcmds", "GM"},
	{ENCODING_LEGACY, MAP_0F, 0, 0x1c, ANY, 0, 1, "cldemote", "M"},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0x1e, ANY, 1, 0, "rdssp%dq", "E"},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 5, 0, "incssp%dq", "E"},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 4, ELEMENT, "ptwrite", "E"},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xae, ANY, 6, 0, "umonitor", "E"},
	{ENCODING_LEGACY, MAP_0F, 0xf2, 0xae, ANY, 6, 0, "umwait", "E"},
	{ENCODING_LEGACY, MAP_0F, 0x66, 0xae, ANY, 6, 0, "tpause", "E"},
	{ENCODING_LEGACY, MAP_0F, 0xf3, 0xc7, ANY, 7, 0, "rdpid", "E"},
};
/* clang-format on */

static bool
is_row(const struct newer_form *row, const struct x86_encoding *encoding)
{
	if (row->kind != encoding->kind || row->map != encoding->map || row->opcode != encoding->opcode)
		return false;
	if (row->prefix != encoding->prefix || (row->w != ANY && row->w != (encoding->rex & REX_W ? 1 : 0)))
		return false;
	if (row->field != ANY && row->field != (encoding->modrm >> 3 & 7))
		return false;
	return encoding->has_memory || !strchr(row->operands, 'M');
}

const struct newer_form *
x86_64_newer_find(const struct x86_encoding *encoding)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (is_row(&table[i], encoding))
			return &table[i];
	return NULL;
}
