"""Two network namespaces joined by a virtual cable, for two hosts; needs root and iproute2."""
import os
import shutil
import subprocess

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Cable:
    """Skips the test that asks where there can be none."""

    addresses = ("10.213.8.1", "10.213.8.2")

    def __init__(self, testcase):
        if os.geteuid() != 0 or not shutil.which("ip", path=PATH):
            testcase.skipTest("network namespaces need root and ip (iproute2)")
        self.names = [f"shardc-{os.getpid()}-c{i}" for i in range(2)]
        self.ends = [f"sc{os.getpid()}-{i}" for i in range(2)]
        testcase.addCleanup(self.remove)
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            self.ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1])
            for name, end, address in zip(self.names, self.ends, self.addresses):
                self.ip("link", "set", end, "netns", name)
                self.ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
                self.ip("-n", name, "link", "set", end, "up")
                self.ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            testcase.skipTest(f"no network namespaces here: {error.stderr.strip()}")

    @staticmethod
    def ip(*words):
        environment = os.environ | {"PATH": PATH}
        subprocess.run(["ip", *words], env=environment, check=True, capture_output=True, text=True)

    def on(self, host):
        """What stands before a command that is to run there, under a host name of its own."""
        script = f'PATH=$PATH:/usr/sbin:/sbin; hostname host{host}; exec "$@"'
        enter = (shutil.which("ip", path=PATH), "netns", "exec", self.names[host])
        return *enter, "unshare", "--uts", "sh", "-c", script, "sh"

    def cut(self):
        """Packets are lost on it from now on, and nobody is told: they go to an address that the
        other end does not have. What is on one host goes on."""
        for name, end, other in zip(self.names, self.ends, reversed(self.addresses)):
            words = ("replace", other, "lladdr", "02:00:00:00:00:99", "nud", "permanent")
            self.ip("-n", name, "neigh", *words, "dev", end)

    def remove(self):
        for name in self.names:
            subprocess.run(
                ["ip", "netns", "del", name],
                env=os.environ | {"PATH": PATH},
                stderr=subprocess.DEVNULL,
                check=False,
            )
