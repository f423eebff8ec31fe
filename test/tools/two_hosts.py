"""Two network namespaces, each with a name and an address, joined by a virtual cable, stand for two
hosts."""
import os
import shutil
import subprocess
import unittest

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class TwoHosts:
    """Host i is called host{i} and has the address 10.213.7.{i + 1}; a unittest.SkipTest says why
    there can be none."""

    addresses = ("10.213.7.1", "10.213.7.2")

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip", path=PATH):
            raise unittest.SkipTest("network namespaces need root and ip (iproute2)")
        self.names = [f"shardc-{os.getpid()}-{i}" for i in range(2)]
        self.cable = [f"sv{os.getpid()}-{i}" for i in range(2)]
        try:
            for name in self.names:
                self.ip("netns", "add", name)
            self.ip("link", "add", self.cable[0], "type", "veth", "peer", "name", self.cable[1])
            for i, name in enumerate(self.names):
                self.ip("link", "set", self.cable[i], "netns", name)
                self.ip("-n", name, "addr", "add", f"{self.addresses[i]}/24", "dev", self.cable[i])
                self.ip("-n", name, "link", "set", self.cable[i], "up")
                self.ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise unittest.SkipTest(f"no network namespaces here: {error.stderr.strip()}")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(
                ["ip", "netns", "del", name],
                env=os.environ | {"PATH": PATH},
                stderr=subprocess.DEVNULL,
                check=False,
            )

    def ip(self, *words):
        environment = os.environ | {"PATH": PATH}
        subprocess.run(["ip", *words], env=environment, check=True, capture_output=True, text=True)

    def command(self, host, *words):
        """What runs `words` there; PATH has to have ip."""
        script = f'hostname host{host} && exec "$@"'
        inside = ("unshare", "--uts", "sh", "-c", script, "sh")
        return ["ip", "netns", "exec", self.names[host], *inside, *words]
