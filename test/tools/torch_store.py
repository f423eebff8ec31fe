"""torch's TCPStore and the store of trainers, each one's client with the other's server. `check`
compares what they return; `record DIR` writes what is said between them: what
test/runtime/store/TorchStoreTest.cpp replays without torch."""
import datetime
import os
import socket
import subprocess
import sys
import threading

import torch
from torch.distributed import PrefixStore, TCPStore

PEER = os.path.join(os.environ.get("SHARDC_BUILD", "build"), "bin", "store-peer")
ALL_CALLS = "has 0, has 1, get hello, add 5, add -2, get -2, first 3, first 3, then 6, get ''"


class Proxy:
    """Passes on what a client and a server say, one connection after the other, and notes it."""

    def __init__(self, port):
        self.said = []
        self.server = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        client = self.listener.accept()[0]
        server = socket.create_connection(("127.0.0.1", self.server))
        threading.Thread(target=self.copy, args=(client, server, ">"), daemon=True).start()
        threading.Thread(target=self.copy, args=(server, client, "<"), daemon=True).start()

    def copy(self, source, target, mark):
        while data := source.recv(65536):
            if self.said and self.said[-1][0] == mark:
                self.said[-1][1] += data
            else:
                self.said.append([mark, bytearray(data)])
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def text(self):
        return "".join(f"{mark} {data.hex()}\n" for mark, data in self.said)


def torch_calls(port):
    """Each call of torch's client that ProcessGroups make, and what it returned."""
    seconds = datetime.timedelta(seconds=20)
    store = TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False, timeout=seconds)
    returned = [store.check(["a"])]
    store.set("a", b"hello")
    returned += [store.check(["a"]), store.get("a"), store.add("n", 5), store.add("n", -7)]
    returned += [store.get("n"), store.compare_set("who", "", "3")]
    returned += [store.compare_set("who", "", "5"), store.compare_set("who", "3", "6")]
    store.wait(["a", "n", "who"])
    try:
        store.wait(["never"], datetime.timedelta(milliseconds=100))
        returned.append("came")
    except Exception as error:
        returned.append(type(error).__name__)
    returned += [store.num_keys(), store.delete_key("n"), store.delete_key("n"), store.num_keys()]
    return returned


def own_calls(port):
    process = subprocess.run(
        [PEER, "use", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=60
    )
    return process.stdout.strip() or process.stderr


def torch_server():
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def equal(found, expected):
    if found != expected:
        sys.exit(f"expected {expected}, got {found}")


def check():
    expected = [False, True, b"hello", 5, -2, b"-2", b"3", b"3", b"6", "DistStoreError"]
    server = torch_server()
    keys = server.num_keys()
    equal(torch_calls(server.port), expected + [keys + 3, True, False, keys + 2])
    with subprocess.Popen([PEER, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as own:
        # One key more: the job that the server is for.
        equal(torch_calls(int(own.stdout.readline())), expected + [4, True, False, 3])
        own.stdin.close()
        equal(own.wait(20), 0)
    server = torch_server()
    equal(own_calls(server.port), ALL_CALLS)
    # Prefixes are as PrefixStore has them.
    equal(PrefixStore("run/0", server).get("who"), b"6")


def record(folder):
    for name, calls in (("torch-client", torch_calls), ("own-client", own_calls)):
        server = torch_server()
        proxy = Proxy(server.port)
        returned = calls(proxy.port)
        path = os.path.join(folder, f"{name}.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# torch {torch.__version__}: {returned}\n{proxy.text()}")
        print(path, returned)


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(sys.argv[2])
    else:
        check()
