"""Limits that a process sets itself: memory, no sockets, no other programs.

Imports nothing but the standard library, since each worker pays for it at its start.
"""

import ctypes
import os
import resource
import signal
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # classic BPF
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # EPERM
_X32 = 0x40000000  # a second numbering of the calls on x86_64

# audit number, then: socket socketpair bind listen accept connect sendto sendmsg accept4 sendmmsg
# execve execveat ptrace process_vm_writev io_uring_setup (and fork, vfork where they exist)
_CALLS = {
    "x86_64": (0xC000003E, (41, 53, 49, 50, 43, 42, 44, 46, 288, 307, 59, 322, 101, 311, 425,
                            57, 58)),
    "aarch64": (0xC00000B7, (198, 199, 200, 201, 202, 203, 206, 211, 242, 269, 221, 281, 117, 271,
                             425)),
}  # fmt: skip


def confine(memory_mib: int) -> bool:
    """Limit this process for good, and tell whether it can no longer open a socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))
    return _without_sockets()


def _without_sockets() -> bool:
    known = _CALLS.get(os.uname().machine)
    if known is None or sys.platform != "linux":
        return False
    program = _program(*known)
    code = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.create_string_buffer(header), 0, 0)
    opened = libc.socket(2, 1, 0)  # believe the attempt, not the return codes
    if opened >= 0:
        os.close(opened)
    return bool(opened < 0)


def _program(audit: int, calls: tuple[int, ...]) -> bytes:
    """Refuse ``calls`` and any other numbering of calls; allow the rest."""
    refuse_at = 4 + len(calls) + 1
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 0, refuse_at - 2, audit), (_LOAD, 0, 0, 0)]
    steps.append((_AT_LEAST, refuse_at - 4, 0, _X32))
    steps += [(_EQUAL, refuse_at - 5 - i, 0, number) for i, number in enumerate(calls)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
