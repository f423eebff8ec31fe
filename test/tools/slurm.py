"""A Slurm cluster of this machine alone, for tests."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")


class Cluster:
    """Starts Debian's slurm-wlm in a folder of its own, on ports of its own; a unittest.SkipTest
    says why it cannot."""

    def __enter__(self):
        self.path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        missing = [p for p in PROGRAMS if not shutil.which(p, path=self.path)]
        if missing:
            raise unittest.SkipTest(f"not installed: {', '.join(missing)} (slurm-wlm, munge)")
        if os.geteuid() != 0:
            raise unittest.SkipTest("slurmd has to be started by root")
        self.folder = tempfile.mkdtemp(prefix="shardc-slurm-")
        os.chmod(self.folder, 0o755)
        self.configuration = os.path.join(self.folder, "slurm.conf")
        self.daemons = []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        host = socket.gethostname().split(".")[0]
        ports = [self.free_port() for _ in range(2)]
        munge = os.path.join(self.folder, "munge")
        with open(f"{munge}.key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{munge}.key", 0o400)
        for name in ("state", "spool"):
            os.mkdir(os.path.join(self.folder, name))
        lines = {
            "ClusterName": "test",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": ports[0],
            "SlurmdPort": ports[1],
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={munge}.socket",
            "CredType": "cred/munge",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "StateSaveLocation": f"{self.folder}/state",
            "SlurmdSpoolDir": f"{self.folder}/spool",
            "SlurmctldPidFile": f"{self.folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/slurmd.pid",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "MpiDefault": "none",
            "SelectType": "select/cons_tres",
            "NodeName": f"{host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=100",
            "PartitionName": "all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8",
        }
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in lines.items())
        self.daemon(
            "munged",
            *("-F", "--force", f"--key-file={munge}.key", f"--socket={munge}.socket"),
            *(f"--pid-file={munge}.pid", f"--log-file={munge}.log", f"--seed-file={munge}.seed"),
        )
        self.wait("munged", lambda: os.path.exists(f"{munge}.socket"))
        self.daemon("slurmctld", "-D", "-f", self.configuration)
        self.daemon("slurmd", "-D", "-f", self.configuration, "-N", host)
        self.wait("the node", self.node_is_idle)

    def daemon(self, name, *arguments):
        with open(os.path.join(self.folder, f"{name}.log"), "w", encoding="utf-8") as log:
            self.daemons.append(
                subprocess.Popen(
                    [shutil.which(name, path=self.path), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | {"PATH": self.path, "SLURM_CONF": self.configuration},
                )
            )

    def node_is_idle(self):
        process = subprocess.run(
            ["sinfo", "-h", "-o", "%T"],
            env=os.environ | {"SLURM_CONF": self.configuration},
            capture_output=True,
            text=True,
            timeout=20,
        )
        return process.stdout.strip() == "idle"

    def wait(self, what, is_there):
        deadline = time.monotonic() + 20
        while not is_there():
            ended = [d.args[0] for d in self.daemons if d.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise unittest.SkipTest(
                    f"Slurm does not start here: {what} is not there; ended: {ended}"
                )
            time.sleep(0.05)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def free_port():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]
