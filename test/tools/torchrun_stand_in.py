"""Stands in for torchrun where torch is not: starts workers in the environment that torch 2.15's
agent gives them, and serves the agent's store. `--check FILE...` asks this store what was asked of
torch's, and compares the answers with the recorded ones."""
import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

MAGIC = 0x3C85F7CE


class Gone(Exception):
    """The client has closed its connection, or says what it may not."""


class AgentStore:
    """What a worker asks of torch's TCPStore."""

    def __init__(self):
        self.values = {}
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        def read(size):
            data = client.recv(size, socket.MSG_WAITALL) if size else b""
            if len(data) < size:
                raise Gone
            return data

        with client:
            try:
                if read(1) != b"\0" or self.number(read, "<I") != MAGIC:
                    return
                while True:
                    self.answer(client, read, read(1)[0])
            except (Gone, OSError):
                pass

    @staticmethod
    def number(read, form):
        return struct.unpack(form, read(struct.calcsize(form)))[0]

    def text(self, read):
        return read(self.number(read, "<Q"))

    def answer(self, client, read, query):
        def send_text(value):
            client.sendall(struct.pack("<Q", len(value)) + value)

        with self.changed:
            if query == 1:
                key = self.text(read)
                self.values[key] = self.text(read)
            elif query == 2:
                key, expected, desired = (self.text(read) for _ in range(3))
                if self.values.get(key, b"") == expected:
                    self.values[key] = desired
                send_text(self.values.get(key, expected))
            elif query == 3:
                send_text(self.values[self.text(read)])
            elif query == 4:
                key = self.text(read)
                total = int(self.values.get(key, b"0")) + self.number(read, "<q")
                self.values[key] = b"%d" % total
                client.sendall(struct.pack("<q", total))
            elif query in (5, 6):
                keys = [self.text(read) for _ in range(self.number(read, "<Q"))]
                self.wait_or_check(client, query == 6, keys)
            elif query == 7:
                client.sendall(struct.pack("<q", len(self.values)))
            elif query == 8:
                there = self.values.pop(self.text(read), None) is not None
                client.sendall(struct.pack("<q", there))
            elif query == 13:
                client.sendall(read(4))
            else:
                raise Gone
            self.changed.notify_all()

    def wait_or_check(self, client, waits, keys):
        def are_there():
            return all(key in self.values for key in keys)

        while waits and not are_there():
            # The next message cancels the wait, or the client is gone.
            self.changed.wait(0.05)
            try:
                byte = client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            if client.recv(len(byte)) != b"\x0c":
                raise Gone
            client.sendall(b"\1")
            return
        client.sendall(b"\0" if are_there() else b"\1")


def check(path):
    """Whether this store answers what torch's did."""
    client = socket.create_connection(("127.0.0.1", AgentStore().port))
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            mark, _, data = line.partition(" ")
            if mark == ">":
                client.sendall(bytes.fromhex(data))
            elif mark == "<":
                expected = bytes.fromhex(data)
                found = client.recv(len(expected), socket.MSG_WAITALL)
                if found != expected:
                    sys.exit(f"{path}:{number}: expected {expected.hex()}, got {found.hex()}")


def start(command, processes, store, folder, restarts, max_restarts):
    """A worker of each rank, and where each writes its error."""
    workers = []
    for rank in range(processes):
        error_file = os.path.join(folder, f"attempt_{restarts}-{rank}.json")
        place = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": processes,
            "LOCAL_WORLD_SIZE": processes,
            "GROUP_RANK": 0,
            "GROUP_WORLD_SIZE": 1,
            "ROLE_RANK": rank,
            "ROLE_WORLD_SIZE": processes,
            "ROLE_NAME": "default",
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": store.port,
            "TORCHELASTIC_RUN_ID": "stand-in",
            "TORCHELASTIC_RESTART_COUNT": restarts,
            "TORCHELASTIC_MAX_RESTARTS": max_restarts,
            "TORCHELASTIC_USE_AGENT_STORE": True,
            "TORCHELASTIC_ERROR_FILE": error_file,
            "OMP_NUM_THREADS": 1,
        }
        environment = os.environ | {name: str(value) for name, value in place.items()}
        workers.append((subprocess.Popen(command, env=environment), error_file))
    return workers


def wait(workers):
    """The first that fails, whatever is left of the others then terminated; None: none does."""
    running = list(workers)
    failed = None
    while running and not failed:
        time.sleep(0.02)
        failed = next((w for w in running if w[0].poll()), None)
        running = [w for w in running if w[0].poll() is None]
    for worker, _ in running:
        worker.terminate()
    for worker, _ in running:
        try:
            worker.wait(10)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", nargs="+", metavar="FILE")
    parser.add_argument("--nproc-per-node", type=int, default=1)
    parser.add_argument("--max-restarts", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    flags = parser.parse_args()
    for path in flags.check or []:
        check(path)
    if flags.check:
        return 0
    store = AgentStore()
    with tempfile.TemporaryDirectory() as folder:
        for restarts in range(flags.max_restarts + 1):
            processes = flags.nproc_per_node
            workers = start(flags.command, processes, store, folder, restarts, flags.max_restarts)
            failed = wait(workers)
            if not failed:
                return 0
        worker, error_file = failed
        if os.path.exists(error_file):
            with open(error_file, encoding="utf-8") as file:
                message = json.load(file)["message"]
            int(message["extraInfo"]["timestamp"])
            print("traceback :", message["extraInfo"]["py_callstack"], file=sys.stderr)
        print("exitcode  :", worker.returncode, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
