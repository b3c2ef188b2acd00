#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""terminal.py COLUMNS [REGEX FILE]... -- COMMAND...

Runs a command at a terminal of its own, with that many columns, and prints what the terminal got, each
escape as ESC and each carriage return as CR. When a REGEX has come, its FILE is created. The exit status is
that of the command.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import termios


def main():
    end = sys.argv.index("--")
    columns = int(sys.argv[1])
    marks = [(re.compile(sys.argv[i].encode()), sys.argv[i + 1]) for i in range(2, end, 2)]
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        os.close(leader)
        login(follower)
        os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        for regex, path in marks:
            if regex.search(seen):
                open(path, "w").close()
    status = os.waitpid(pid, 0)[1]
    text = seen.replace(b"\r\n", b"\n").replace(b"\r", b"CR").replace(b"\x1b", b"ESC")
    sys.stdout.buffer.write(text)
    sys.exit(os.waitstatus_to_exitcode(status))


def login(follower):
    os.setsid()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(follower, fd)


main()
