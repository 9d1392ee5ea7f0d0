"""A confined worker: the system calls that it is refused, and its limit of memory."""

import errno
import json
import os
import struct
import subprocess
import sys

import pytest

from shiyi.sparql.sandbox.confinement import _CALLS, _program

# numbers as in asm/unistd_64.h, and those of aarch64 as in asm-generic/unistd.h
AARCH64 = {
    "socket": 198, "socketpair": 199, "connect": 203, "bind": 200, "listen": 201, "accept": 202,
    "accept4": 242, "sendto": 206, "sendmsg": 211, "sendmmsg": 269, "execve": 221, "execveat": 281,
    "ptrace": 117, "process_vm_writev": 271, "io_uring_setup": 425,
}  # fmt: skip
CALLS = {
    "socket": 41, "socketpair": 53, "connect": 42, "bind": 49, "listen": 50, "accept": 43,
    "accept4": 288, "sendto": 44, "sendmsg": 46, "sendmmsg": 307, "execve": 59, "execveat": 322,
    "ptrace": 101, "process_vm_writev": 311, "io_uring_setup": 425, "fork": 57, "vfork": 58,
}  # fmt: skip
ALLOWED = {"getpid": 39, "getppid": 110}

CONFINED = """
import ctypes, json, os, resource, sys
from shiyi.sparql.sandbox.confinement import confine
import numpy
confined = confine(int(sys.argv[1]))
libc, found = ctypes.CDLL(None, use_errno=True), {}
for name, number in json.loads(sys.argv[2]).items():
    ctypes.set_errno(0)
    libc.syscall(number, -1, 0, 0, 0, 0, 0)
    found[name] = ctypes.get_errno()
try:
    numpy.ones(int(sys.argv[1]) << 20, numpy.uint8)
    room = True
except MemoryError:
    room = False
sizes = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CORE)
print(json.dumps([confined, found, room, *sizes]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
def test_a_worker_is_refused_calls_and_memory() -> None:
    mib = 1500
    command = [sys.executable, "-c", CONFINED, str(mib), json.dumps(CALLS | ALLOWED)]
    process = subprocess.run(  # noqa: S603 - our own interpreter and words
        command, capture_output=True, text=True, check=True
    )
    confined, found, room, memory, core = json.loads(process.stdout)
    assert confined
    assert {name for name in CALLS if found[name] != errno.EPERM} == set()
    assert {name for name in ALLOWED if found[name]} == set()
    assert not room
    assert (memory, core) == ([mib << 20, mib << 20], [0, 0])


def verdict(program: bytes, audit: int, number: int) -> int:
    """Return what the kernel's interpreter of classic BPF would for a system call."""
    steps, at, value = [*struct.iter_unpack("HBBI", program)], 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            value = {0: number, 4: audit}[operand]
        else:
            at += yes if {0x15: value == operand, 0x35: value >= operand}[code] else no


@pytest.mark.parametrize(
    ("machine", "audit", "calls"), [("x86_64", 0xC000003E, CALLS), ("aarch64", 0xC00000B7, AARCH64)]
)
def test_the_filter_refuses_its_calls_and_other_numberings(
    machine: str, audit: int, calls: dict[str, int]
) -> None:
    program, refused = _program(*_CALLS[machine]), 0x00050000 | errno.EPERM
    results = {number for number in range(500) if verdict(program, audit, number) == refused}
    assert results == set(calls.values())
    assert {verdict(program, audit, n) for n in range(500) if n not in results} == {0x7FFF0000}
    assert verdict(program, audit + 1, 499) == verdict(program, audit, 0x40000000) == refused
