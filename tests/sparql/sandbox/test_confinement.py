"""A confined worker: the system calls that it is refused, and its limit of memory."""

import errno
import json
import os
import subprocess
import sys

import pytest

# x86_64 numbers, as in asm/unistd_64.h
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
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        command, capture_output=True, text=True, check=True
    )
    confined, found, room, memory, core = json.loads(done.stdout)
    assert confined
    assert {name for name in CALLS if found[name] != errno.EPERM} == set()
    assert {name for name in ALLOWED if found[name]} == set()
    assert not room
    assert (memory, core) == ([mib << 20, mib << 20], [0, 0])
