"""Damages trainers, models, external data, data and weights, and runs what is left.

Each is refused with one line and exit code 1, or harmless. A signal, a sanitizer's report, a run
that hangs, a file that is left behind is a finding.

  ./dev fuzz damage [--seeds A..B]

A seed is always the same damage. Half of the trainers have their checksums made right again, so
that the checks behind them are reached; of those, the runtime's and the kernels' machine code is
left alone: nothing but a checksum can tell good code from bad."""
import argparse
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

from seeds import seeds_of

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build"))
SHARDC = os.path.join(BUILD, "bin", "shardc")
MEND = os.path.join(BUILD, "bin", "mend-checksums")
MODELS = os.path.join(ROOT, "test", "models")
SECONDS, BYTES = 60, 16 << 30
PLAN, KERNELS, RUNTIME = 1, 2, 5  # kinds of sections
NUMBERS = [
    0,
    1,
    2,
    7,
    63,
    64,
    127,
    128,
    255,
    4095,
    4096,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**63 - 1,
    2**63,
    2**64 - 1,
]


def run(words, folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        [str(w) for w in words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )
    try:
        out, error = process.communicate(timeout=SECONDS)
        return process.returncode, out.decode(errors="replace"), error.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "", ""


def sections(trainer):
    """(kind, offset, length) of a trainer's container (runtime/Container.h)."""
    table, _, count, _ = struct.unpack("<QQII", trainer[-32:-8])
    return [
        struct.unpack("<I4xQQ8x", trainer[table + 32 * i : table + 32 * i + 32])
        for i in range(count)
    ]


class Damage:
    """Changes bytes [begin, end) of a file, and says how."""

    def __init__(self, draw, content, begin=0, end=None):
        self.draw = draw
        self.content = bytearray(content)
        self.begin = begin
        self.end = len(content) if end is None else end
        self.said = []

    def place(self, size=1):
        return self.draw.randrange(self.begin, max(self.begin + 1, self.end - size + 1))

    def flip(self):
        for _ in range(self.draw.choice([1, 1, 1, 2, 8])):
            at = self.place()
            self.content[at] ^= 1 << self.draw.randrange(8)
            self.said.append(f"flip {at}")

    def number(self):
        """A size, an offset or a count that is another."""
        width = self.draw.choice([1, 2, 4, 8])
        at = self.place(width)
        old = int.from_bytes(self.content[at : at + width], "little")
        new = self.draw.choice([self.draw.choice(NUMBERS), old + 1, old - 1, 2 * old])
        new %= 1 << 8 * width
        self.content[at : at + width] = new.to_bytes(width, "little")
        self.said.append(f"number of {width} bytes at {at}: {old} -> {new}")

    def digits(self):
        """A number in a text, as the headers of .npy and safetensors have them."""
        found = list(re.finditer(rb"\d+", bytes(self.content[self.begin : self.begin + 4096])))
        if not found:
            return self.flip()
        match = self.draw.choice(found)
        new = self.draw.choice(
            [
                b"0",
                b"-1",
                b"1e3",
                b"0.5",
                b"9223372036854775808",
                b"99999999999999999999999",
                b"%d" % (int(match[0]) + 1),
                b"%d" % max(0, int(match[0]) - 1),
                b"NaN",
            ]
        )
        at = self.begin + match.start()
        self.content[at : at + len(match[0])] = new
        self.said.append(f"digits at {at}: {match[0].decode()} -> {new.decode()}")

    def truncate(self):
        at = self.place()
        del self.content[at : self.end]
        self.said.append(f"truncate at {at}")

    def extend(self):
        size = self.draw.choice([1, 7, 8, 4096])
        self.content[self.end : self.end] = self.draw.choice(
            [bytes(size), self.draw.randbytes(size)]
        )
        self.said.append(f"{size} bytes more")

    def splice(self):
        size = min(self.draw.choice([1, 8, 32, 256, 4096]), self.end - self.begin)
        at, to = self.place(size), self.place(size)
        piece = self.content[at : at + size]
        if self.draw.random() < 0.5:
            self.content[to : to + size] = piece
        else:
            self.content[to:to] = piece
        self.said.append(f"{size} bytes of {at} at {to}")

    def remove(self):
        size = min(self.draw.choice([1, 8, 256]), self.end - self.begin)
        at = self.place(size)
        del self.content[at : at + size]
        self.said.append(f"{size} bytes at {at} removed")

    def apply(self, kinds):
        self.draw.choice(kinds)(self)
        return bytes(self.content)


KINDS = [
    Damage.flip,
    Damage.flip,
    Damage.number,
    Damage.number,
    Damage.truncate,
    Damage.extend,
    Damage.splice,
    Damage.remove,
]
TEXTS = KINDS + [Damage.digits] * 4
IN_PLACE = [Damage.flip, Damage.flip, Damage.number]  # leave the rest of a container where it is


def samples(place):
    return sorted(name for name in os.listdir(os.path.join(place, "data")) if name.endswith(".npy"))


class Bench:
    """The files that are damaged, and what becomes of them whole."""

    def __init__(self, folder):
        self.folder = folder
        for name, model, flags in (
            ("mlp", "mlp-tiny-loss", ["--dim", "batch=2"]),
            (
                "gpt",
                "gpt2-tiny",
                [
                    "--dim",
                    "batch=2",
                    "--dim",
                    "sequence=64",
                    "--mesh",
                    "2",
                    "--loss",
                    "cross-entropy:logits=logits,labels=labels,shift=1",
                ],
            ),
        ):
            source = os.path.join(MODELS, model)
            place = os.path.join(folder, name)
            shutil.copytree(source, place)
            self.compile(place, flags, "t")
            self.compile(place, [*flags, "--embed-weights"], "e")
            data = self.data(place)
            code, _, error = run(
                [os.path.join(place, "t"), *data, "--steps", 0, "--export-safetensors", "w.st"],
                place,
            )
            assert code == 0, error
            setattr(self, name, (place, flags, data))
        self.losses = {
            (name, trainer): self.loss(
                run([f"./{trainer}", *getattr(self, name)[2], "--steps", 2], getattr(self, name)[0])
            )
            for name in ("mlp", "gpt")
            for trainer in "te"
        }

    def compile(self, place, flags, output):
        code, _, error = run([SHARDC, "model.onnx", *flags, "-q", "-o", output], place)
        assert code == 0, error

    @staticmethod
    def data(place):
        return [word for name in samples(place) for word in ("--data", f"{name[:-4]}=data/{name}")]

    @staticmethod
    def loss(result):
        code, out, _ = result
        return re.findall(r"loss (\S+)", out) if code == 0 else None

    def read(self, place, name):
        with open(os.path.join(place, name), "rb") as file:
            return file.read()


class Finding(Exception):
    pass


def judge(result, program, what):
    """refused or accepted; raises a Finding for anything else."""
    code, _, error = result
    lines = [line for line in error.splitlines() if not line.startswith(f"{program}: warning: ")]
    text = error.strip()[-600:]
    if code is None:
        raise Finding(f"{what}: no end after {SECONDS} s")
    if code < 0:
        raise Finding(f"{what}: {signal.Signals(-code).name}\n{text}")
    if code == 0 and not lines:
        return "accepted"
    if code == 1 and len(lines) == 1 and lines[0].startswith(f"{program}: error: "):
        if "which is its own fault" in lines[0]:
            raise Finding(f"{what}: {lines[0]}")
        return "refused"
    raise Finding(f"{what}: exit {code}, {len(lines)} lines\n{text}")


def leftovers(place, before):
    return sorted(set(os.listdir(place)) - set(before))


def damage_model(bench, draw, place, flags, data):
    """The graph, or the file with its weights beside it."""
    name = draw.choice(
        [f for f in ("model.onnx", "model.onnx.data") if os.path.exists(os.path.join(place, f))]
    )
    damage = Damage(draw, bench.read(place, name))
    write(place, name, damage.apply(KINDS))
    what = f"{name}: {'; '.join(damage.said)}"
    outcome = judge(run([SHARDC, "model.onnx", *flags, "-q", "-o", "o"], place), "shardc", what)
    if outcome == "accepted":
        outcome = (
            judge(run(["./o", *data, "--steps", 2], place), "trainer", f"{what}; its trainer")
            + ", compiled"
        )
    return outcome, ["o"]


def damage_trainer(bench, draw, place, flags, data):
    name = draw.choice("te")
    whole = bench.read(place, name)
    parts = sections(whole)
    mended = draw.random() < 0.5
    end = next(length for kind, _, length in parts if kind == RUNTIME)
    if mended:
        kind, begin, length = draw.choice(
            [part for part in parts if part[0] not in (KERNELS, RUNTIME)]
            + [(0, len(whole) - 32 - 32 * len(parts), 32 * len(parts) + 24)]
        )
        damage = Damage(draw, whole, begin, begin + length)
        content = damage.apply(IN_PLACE)
    else:
        damage = Damage(draw, whole, (end + 4095) // 4096 * 4096)
        content = damage.apply(KINDS)
    path = write(place, "o", content)
    os.chmod(path, 0o755)
    if mended:
        subprocess.run([MEND, path], check=True)
    what = f"trainer {name}{', mended' if mended else ''}: {'; '.join(damage.said)}"
    result = run(["./o", *data, "--steps", 2], place)
    outcome = judge(result, "trainer", what)
    if (
        outcome == "accepted"
        and not mended
        and bench.loss(result) != bench.losses[os.path.basename(place), name]
    ):
        raise Finding(f"{what}: another loss, {bench.loss(result)}")
    return outcome + (", mended" if mended else ""), ["o"]


def damage_data(bench, draw, place, flags, data):
    name = draw.choice(samples(place))
    damage = Damage(draw, bench.read(place, f"data/{name}"))
    # The header is a small part of the file.
    if draw.random() < 0.6:
        damage.end = min(128, damage.end)
    write(place, f"data/{name}", damage.apply(TEXTS))
    return (
        judge(
            run(["./t", *data, "--steps", 2], place), "trainer", f"{name}: {'; '.join(damage.said)}"
        ),
        [],
    )


def damage_weights(bench, draw, place, flags, data):
    name = draw.choice(["w.st", "model.onnx"])
    damage = Damage(draw, bench.read(place, name))
    if name == "w.st" and draw.random() < 0.7:
        damage.end = min(1000, damage.end)
    given = "given" + {"w.st": ".safetensors", "model.onnx": ".onnx"}[name]
    write(place, given, damage.apply(TEXTS if name == "w.st" else KINDS))
    return judge(
        run(["./t", *data, "--weights", given, "--steps", 2], place),
        "trainer",
        f"--weights {name}: {'; '.join(damage.said)}",
    ), [given]


def write(place, name, content):
    path = os.path.join(place, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


TARGETS = {
    "model": damage_model,
    "trainer": damage_trainer,
    "data": damage_data,
    "weights": damage_weights,
}


def run_seed(bench, seed):
    """(target, outcome); raises a Finding."""
    draw = random.Random(seed)
    target = draw.choice(sorted(TARGETS))
    source, flags, data = getattr(bench, draw.choice(["mlp", "gpt"]))
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        # Trainers that a run needs are links; what is damaged is written anew.
        place = os.path.join(folder, os.path.basename(source))
        os.makedirs(os.path.join(place, "data"))
        for name in os.listdir(source):
            if name != "data" and os.path.isfile(os.path.join(source, name)):
                (os.link if name in ("t", "e") else shutil.copyfile)(
                    os.path.join(source, name), os.path.join(place, name)
                )
        for name in samples(source):
            shutil.copyfile(os.path.join(source, "data", name), os.path.join(place, "data", name))
        before = os.listdir(place)
        outcome, written = TARGETS[target](bench, draw, place, flags, data)
        if left := [name for name in leftovers(place, before) if name not in written]:
            raise Finding(f"left behind: {', '.join(left)}")
        return target, outcome


def damage_all(seeds, report=None):
    """Counts of outcomes by target, and the findings as (seed, text)."""
    counts, findings = {}, []
    with tempfile.TemporaryDirectory(prefix="shardc-damage-") as folder:
        bench = Bench(folder)
        for seed in seeds:
            try:
                key = run_seed(bench, seed)
                counts[key] = counts.get(key, 0) + 1
            except Finding as finding:
                findings.append((seed, str(finding)))
                if report:
                    report(seed, str(finding))
    return counts, findings


def main(argv):
    parser = argparse.ArgumentParser(prog="./dev fuzz damage", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seeds", type=seeds_of, default=range(100), metavar="A..B", help="B not included [0..100]"
    )
    args = parser.parse_args(argv)
    counts, findings = damage_all(
        args.seeds, lambda seed, text: print(f"seed {seed}: {text}", flush=True)
    )
    for (target, outcome), count in sorted(counts.items()):
        print(f"{target:8} {outcome:20} {count:6}")
    print(f"{len(args.seeds)} damaged files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
