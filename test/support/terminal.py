# SPDX-License-Identifier: BSD-3-Clause
"""A user at a terminal: runs a command in one, types, and waits for what it shows.

The shell of the user is the session's leader, as at a login: it starts the command in the foreground, so that
the command can be stopped and continued, and what the terminal's mode is afterwards can be seen.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 120


class Terminal:
    def __init__(self, argv, rows=24, columns=80):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.shown = b""
        self.resize(rows, columns)
        self.mode = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            self.run(slave, argv)

    @staticmethod
    def run(slave, argv):
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 1024)
            os.execvp(argv[0], argv)
        finally:
            os._exit(127)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        """False at the end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.shown += data
        return bool(data)

    def sees(self, pattern):
        """Waits until that is shown, and forgets everything up to it; the match."""
        end = time.monotonic() + PATIENCE_S
        while True:
            match = re.search(pattern.encode(), self.shown)
            if match:
                self.shown = self.shown[match.end():]
                return match
            if time.monotonic() > end or not self.read(1):
                sys.exit(f"not seen: {pattern!r}; but {self.shown!r}")

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                sys.exit(f"not so: {what}; shown: {self.shown!r}")
            self.read(0.02)

    def is_raw(self):
        return termios.tcgetattr(self.slave)[3] & termios.ICANON == 0

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.mode

    def ends(self):
        """The exit status of the command, once it has ended; the terminal must be as it was."""
        status = []

        def has_ended():
            pid, wait_status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                status.append(os.waitstatus_to_exitcode(wait_status))
            return pid != 0

        self.until(has_ended, "ended")
        if not self.is_as_before():
            sys.exit("the terminal is not as it was")
        return status[0]

    def signal(self, number, pid=None):
        os.kill(pid or self.pid, number)
