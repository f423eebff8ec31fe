"""The store of trainers over real sockets: between two programs, and with torch's TCPStore."""
import os
import socket
import struct
import subprocess
import sys
import unittest

PEER = os.path.join(os.environ.get("SHARDC_BUILD", "build"), "bin", "store-peer")
ALL_CALLS = "has 0, has 1, get hello, add 5, add -2, get -2, first 3, first 3, then 6, get ''\n"


class Store(unittest.TestCase):
    @unittest.skipUnless(
        os.environ.get("SHARDC_TEST_TORCH"), "talks with PyTorch: ./dev test --torch"
    )
    def test_with_torch(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_store.py")
        process = subprocess.run(
            [os.environ.get("PYTHON", sys.executable), program, "check"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def test_between_two_programs(self):
        with subprocess.Popen(
            [PEER, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as own:
            port = int(own.stdout.readline())
            used = subprocess.run(
                [PEER, "use", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=60
            )
            self.assertEqual((used.stdout, used.stderr), (ALL_CALLS, ""))
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"\0" + struct.pack("<I", 0x3C85F7CE) + b"\7")
                # What the calls left, and the job.
                self.assertEqual(struct.unpack("<q", client.recv(8)), (5,))
            own.stdin.close()
            self.assertEqual(own.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
