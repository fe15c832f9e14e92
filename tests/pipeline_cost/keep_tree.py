#!/usr/bin/python3
"""keep_tree.py IN OUT COMM - of recorded rings (tests/workloads/record_rings.c) what concerns the processes below COMM

COMM executed what was recorded. Whatever else ran on the machine meanwhile is left out, and so are mappings that carry
no code of it: what remains is what a quiet machine would have recorded.
"""
import struct
import sys

SAMPLE, COMM, EXIT, FORK = 9, 3, 4, 7
data = bytearray(open(sys.argv[1], "rb").read())
header = list(struct.unpack_from("<8sQQQQQQ", data))
begin, size = header[5], header[6]
records, times = [], []
at = begin
while at < begin + size:
    kind, _, length = struct.unpack_from("<IHH", data, at)
    time = struct.unpack_from("<Q", data, at + 32 if kind == SAMPLE else at + length - 16)[0]
    records.append((time, at, kind, length))
    at += length
tree = set()
kept = []
for time, at, kind, length in sorted(records):
    pid, parent = struct.unpack_from("<II", data, at + (24 if kind == SAMPLE else 8))
    if kind == COMM and data[at + 16 : at + length - 24].rstrip(b"\0").decode() == sys.argv[3]:
        tree.add(pid)
    if kind == FORK and parent in tree:
        tree.add(pid)
    if pid in tree:
        kept.append((at, length))
out = data[:begin] + b"".join(data[at : at + length] for at, length in sorted(kept))
struct.pack_into("<Q", out, 48, len(out) - begin)
open(sys.argv[2], "wb").write(out)
print(f"{len(kept)} of {len(records)} records, {len(tree)} processes")
