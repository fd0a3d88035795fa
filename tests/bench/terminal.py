"""A program on a pseudo terminal, timed from outside: what a person at the keyboard would wait for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence


class Terminal:
    """Starts `argv` on a pty of `columns` by `rows`; all it wrote stays in `seen`."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], columns: int = 140, rows: int = 45) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], list(argv), dict(env))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.set_blocking(self.fd, False)
        self.seen = b""

    def read(self, wait: float) -> bytes:
        """What comes next within `wait` seconds."""
        ready, _, _ = select.select([self.fd], [], [], wait)
        if not ready:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except (BlockingIOError, OSError):
            return b""
        self.seen += data
        return data

    def wait_for(self, needle: bytes, seconds: float, start: int = 0) -> float | None:
        """The moment (perf_counter) at which `needle` stood in the output; None if it did not come."""
        end = time.perf_counter() + seconds
        while needle not in self.seen[max(0, start - len(needle)) :]:
            left = end - time.perf_counter()
            if left <= 0:
                return None
            self.read(left)
        return time.perf_counter()

    def quiet(self, gap: float = 0.25, seconds: float = 60) -> None:
        """Wait until nothing has come for `gap` seconds."""
        end = time.perf_counter() + seconds
        while self.read(gap) and time.perf_counter() < end:
            pass

    def idle(self, seconds: float = 120) -> None:
        """Wait until the program uses no processor: it has read everything."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            before = self.cpu()
            self.quiet(0.5, 0.5)
            time.sleep(0.3)
            if self.cpu() - before < 0.05:
                return

    def key(self, data: bytes, timeout: float = 2.0) -> float:
        """Press a key; seconds until the first of its picture came."""
        self.read(0)
        pressed = time.perf_counter()
        os.write(self.fd, data)
        while time.perf_counter() - pressed < timeout:
            if self.read(timeout):
                return time.perf_counter() - pressed
        return timeout

    def cpu(self) -> float:
        """Processor seconds used so far."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> tuple[float, float]:
        """Resident MB now, and the most it ever was."""
        with open(f"/proc/{self.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return tuple(int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]

    def close(self) -> None:
        """End the program."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            end = time.perf_counter() + 3
            while time.perf_counter() < end:
                self.read(0.02)
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self.fd)
                    return
        os.close(self.fd)
