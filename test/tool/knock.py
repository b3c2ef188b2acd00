#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""knock.py PORT KIND NAMESPACE: connects to a node's PMIx server as one should not, ten times, says
"there", and what it is told if it is told something, and stays."""
import socket
import struct
import sys
import time

PORT, KIND, NAMESPACE = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def first_message(kind, name, rank):
    """As libpmix 4 sends it: security, credential, kind, name, version, modules."""
    body = b"native\0" + struct.pack("!I", 8) + b"\0" * 8 + bytes([kind])
    if kind == 0:
        body += name.encode() + b"\0" + struct.pack("!I", rank)
    else:
        body += struct.pack("!II", 0, 0)
    body += b"4.2.2\0v41\0" + bytes([1]) + b"hash\0"
    return struct.pack("=iIII", 0, 0, len(body), 0) + body


def knock(sock):
    whole = first_message(0, NAMESPACE, 0)
    if KIND == "half":
        sock.sendall(whole[:40])
    elif KIND == "noise":
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"\xff" * 100)
    elif KIND == "long":
        sock.sendall(struct.pack("=iIII", 0, 0, 1 << 31, 0) + b"x" * 1000)
    elif KIND == "gone":
        sock.sendall(whole[:60])
        sock.close()
    elif KIND == "tool":
        sock.sendall(first_message(3, "", 0))
    elif KIND == "stranger":
        sock.sendall(first_message(0, "no.such.namespace", 0))


socks = [socket.create_connection(("127.0.0.1", PORT)) for i in range(10)]
for one in socks:
    try:
        knock(one)
    except OSError:
        pass
for one in socks if KIND in ("tool", "stranger") else []:
    try:
        answer = one.recv(4)
    except OSError:
        answer = b""
    print(struct.unpack("!i", answer)[0] if len(answer) == 4 else "closed")
print("there", flush=True)
time.sleep(60)
