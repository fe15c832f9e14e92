"""unwind_moments.py - records stopped moments of a program, with the frames that gdb finds, for unwind_replay

gdb -batch -nx -x unwind_moments.py PROGRAM, with ARGUMENTS (words of a shell), MOMENTS (how many), OUTPUT (a file) and
SEED in the environment. The program is stopped by SIGINT at random moments, and started again when it has ended. A moment is what a
perf sample would have - the registers, the executable mappings, 64 KiB of stack - of one of the threads, and gdb's frames.
"""
import os
import random
import struct
import subprocess

import gdb

STACK = 64 * 1024
ENTRY_SIZE = 128
# in the order of DWARF's numbers
X86_64 = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
AARCH64 = [f"x{i}" for i in range(31)] + ["sp", "pc"]


def mappings(pid):
    """[(start, end, offset, path or "")] of the executable mappings, and the end of each mapping by its start."""
    code, ends = [], []
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            start, end = (int(part, 16) for part in fields[0].split("-"))
            path = fields[5].strip() if len(fields) > 5 else ""
            ends.append((start, end))
            if "x" in fields[1] and path != "[vsyscall]":
                code.append((start, end, int(fields[2], 16), path))
    return code, ends


def registers(frame):
    for number, name in enumerate(AARCH64 if "aarch64" in frame.architecture().name() else X86_64):
        yield number, int(frame.read_register(name).cast(gdb.lookup_type("unsigned long"))) & (1 << 64) - 1


def linker_entry(pid):
    """The addresses of the dynamic linker's entry. It has no call frame information: gdb takes the program's arguments
    for return addresses there."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) > 5 and os.path.basename(fields[5]).startswith("ld-") and int(fields[2], 16) == 0:
                with open(fields[5].strip(), "rb") as file:
                    entry = int(fields[0].split("-")[0], 16) + struct.unpack_from("<Q", file.read(32), 24)[0]
                return range(entry, entry + ENTRY_SIZE)
    return range(0)


def frames(entry):
    frame = gdb.newest_frame()
    while frame:
        reason = "entry"
        if frame.pc() in entry:
            yield frame.pc(), frame.type()
            break
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            yield frame.pc(), frame.type()
        reason = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
        try:
            frame = frame.older()
        except gdb.error as error:
            reason, frame = str(error), None
    yield None, reason


def record(output):
    inferior = gdb.selected_inferior()
    code, ends = mappings(inferior.pid)
    newest = gdb.newest_frame()
    output.write(b"moment\n")
    for start, end, offset, path in code:
        output.write(f"map {start:x} {end:x} {offset:x} {path}\n".encode())
    values = dict(registers(newest))
    for number, value in values.items():
        output.write(f"register {number} {value:x}\n".encode())
    for pc, kind in frames(linker_entry(inferior.pid)):
        output.write((f"stop {kind}\n" if pc is None else f"frame {pc:x} {kind}\n").encode())
    sp = values[31 if len(values) > 17 else 7]
    size = next((min(STACK, end - sp) for start, end in ends if start <= sp < end), 0)
    output.write(f"stack {sp:x} {size}\n".encode())
    if size:
        output.write(bytes(inferior.read_memory(sp, size)))
    output.write(b"\n")


def main():
    chance = random.Random(int(os.environ.get("SEED", "1")))
    wanted = int(os.environ["MOMENTS"])
    for command in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set backtrace past-main on",
                    "set backtrace past-entry on", "set print thread-events off", "set width 0", "set print frame-info short-location",
                    "handle SIGINT stop print nopass", "handle SIGALRM nostop pass noprint"):
        gdb.execute(command, to_string=True)
    gdb.execute(f"set args {os.environ['ARGUMENTS']} >/dev/null 2>&1 </dev/null")
    recorded = 0
    with open(os.environ["OUTPUT"], "wb") as output:
        while recorded < wanted:
            gdb.execute("starti", to_string=True)
            if recorded == 0:
                machine = "aarch64" if "aarch64" in gdb.newest_frame().architecture().name() else "x86_64"
                output.write(f"machine {machine}\n".encode())
            first = True
            while recorded < wanted:
                pid = gdb.selected_inferior().pid
                pause = chance.uniform(0.2, 0.6) if first else chance.uniform(0.001, 0.03)
                first = False
                killer = subprocess.Popen(["sh", "-c", f"sleep {pause:.4f}; kill -INT {pid}"], stderr=subprocess.DEVNULL)
                gdb.execute("continue", to_string=True)
                killer.wait()
                if not gdb.selected_inferior().pid:
                    break
                chance.choice(gdb.selected_inferior().threads()).switch()
                record(output)
                recorded += 1
        if gdb.selected_inferior().pid:
            gdb.execute("kill", to_string=True)


main()
