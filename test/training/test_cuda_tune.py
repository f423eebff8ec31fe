"""--tune of trainers for GPUs, on emulated ones: which algorithm each product runs is timed once,
kept in a file, and read again.

The emulated heuristic names three algorithms for a product. SHARDC_EMULATED_BLASLT_FASTEST says
which of them is fast; their sums differ in their order, so that the bits tell which one has run.
"""
import json
import os
import tempfile
import unittest

import test_faults
from emulated_cuda import emulated
from reference import CommandFailed, models, read_metrics

TARGET = ("--target", "cuda:sm_90")
STEPS = 3
# All ranks in one process, which starts and compiles kernels once.
THREADS = ("--nproc-per-node", 1)
RANKS = 2


class Tune(test_faults.Processes):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.model = models()["mlp-tiny-loss"]
        cls.trainer = os.path.join(cls.folder, "flat")
        cls.model.compile(cls.trainer, RANKS, "float32", *TARGET)

    def setUp(self):
        self.here = self.enterContext(tempfile.TemporaryDirectory())
        self.file = self.of("tune.json")

    def of(self, name):
        """A path of this test alone."""
        return os.path.join(self.here, name)

    def run_trainer(self, *flags, fastest=None, start=THREADS, **settings):
        """What came out, and how often the driver was asked for a time."""
        for name in ("calls", "m.jsonl", "f.safetensors"):
            if os.path.exists(self.of(name)):
                os.remove(self.of(name))
        settings |= {"CALLS": self.of("calls")}
        if fastest is not None:
            settings["BLASLT_FASTEST"] = fastest
        with emulated(RANKS, **settings):
            self.said = self.model.train(
                self.trainer,
                *("--metrics", self.of("m.jsonl")),
                *("--export-safetensors", self.of("f.safetensors")),
                *flags,
                *start,
                steps=STEPS,
            ).stdout
        with open(self.of("f.safetensors"), "rb") as file:
            parameters = file.read()
        with open(self.of("calls"), encoding="utf-8") as file:
            calls = [line.split()[:2] for line in file]
        self.timed = [device for device, function in calls if function == "cuEventElapsedTime"]
        losses = [step["loss"] for step in read_metrics(self.of("m.jsonl"))[0]]
        return losses, parameters

    def tuned(self, **settings):
        return self.run_trainer("--tune", self.file, **settings)

    def bytes(self):
        if not os.path.exists(self.file):
            return None
        with open(self.file, "rb") as file:
            return file.read()

    def read(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def write(self, tuned):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(tuned, file)

    def refused(self, expected, *flags, **settings):
        """One line and an exit code, and the file is as it was."""
        before = self.bytes()
        with emulated(RANKS, **settings), self.assertRaises(CommandFailed) as caught:
            self.model.train(self.trainer, *THREADS, *(flags or ("--tune", self.file)), steps=1)
        lines = str(caught.exception).strip().splitlines()
        self.assertEqual(lines[-2], "exit 1", lines)
        self.assertRegex(lines[-1], "^trainer: error: .*" + expected)
        self.assertEqual(self.bytes(), before)
        left = [name for name in os.listdir(self.here) if "tune.json" in name]
        self.assertEqual(left, [] if before is None else ["tune.json"])

    def test_products_are_timed_once_and_have_the_same_bits(self):
        untuned = self.run_trainer()
        self.assertEqual(self.timed, [])
        first = self.tuned(fastest=2)
        self.assertIn(f"products by the algorithms of {self.file}", self.said)
        # Rank 0 alone has timed, and what was the fastest has run.
        self.assertEqual(set(self.timed), {"0"})
        self.assertNotEqual(first, untuned)
        tuned = self.read()
        self.assertEqual(tuned["device"], "Emulated GPU")
        self.assertEqual(tuned["cublaslt"], 130100)
        self.assertGreater(len(tuned["products"]), 5)
        for product, choice in tuned["products"].items():
            with self.subTest(product=product):
                self.assertEqual(choice["timed"], 3)
                self.assertLess(choice["microseconds"], choice["first_microseconds"])
                self.assertGreater(choice["first_microseconds"], 2000)
        before = self.bytes()
        # Another one is the fastest by now, and nobody looks.
        for start in (THREADS, ()):
            self.assertEqual(self.tuned(fastest=1, start=start), first)
            self.assertEqual(self.timed, [])
        self.assertEqual(self.bytes(), before)

    def test_what_the_heuristic_names_first_stays_where_nothing_is_faster(self):
        self.assertEqual(self.tuned(fastest=0), self.run_trainer())

    def test_what_a_file_lacks_is_timed_and_added(self):
        first = self.tuned(fastest=2)
        whole = self.read()
        lacking = json.loads(json.dumps(whole))
        product, choice = list(lacking["products"].items())[1]
        del lacking["products"][product]
        self.write(lacking)
        self.assertEqual(self.tuned(fastest=2, start=()), first)
        # Five rounds of three algorithms.
        self.assertEqual(self.timed, ["0"] * 15)
        added = self.read()
        self.assertEqual(added["products"].keys(), whole["products"].keys())
        self.assertEqual(added["products"][product]["algorithm"], choice["algorithm"])
        del added["products"][product]
        self.assertEqual(added, lacking)

    def test_bad_files(self):
        self.tuned(fastest=2)
        whole = self.read()
        product = next(iter(whole["products"]))

        def edited(edit):
            tuned = json.loads(json.dumps(whole))
            edit(tuned)
            return json.dumps(tuned)

        def algorithm(text):
            return edited(lambda t: t["products"][product].update(algorithm=text))

        own = whole["products"][product]["algorithm"]
        others = (choice["algorithm"] for choice in whole["products"].values())
        for content, expected in (
            ("", "is no file of tuned products: it is not JSON"),
            (json.dumps(whole)[:-20], "is no file of tuned products: it is not JSON"),
            ("[]", "no object"),
            ("{}", "key 'format' not found"),
            (edited(lambda t: t.pop("products")), "key 'products' not found"),
            (edited(lambda t: t.update(products=3)), "is no file of tuned products"),
            (edited(lambda t: t.update(cublaslt="new")), "no whole number from 0"),
            (algorithm("00"), "is not 64 bytes in hexadecimal"),
            (algorithm("x" + own[1:]), "is not 64 bytes in hexadecimal"),
            (algorithm("1" + own[1:]), "is none that cuBLASLt takes here"),
            (algorithm(next(o for o in others if o != own)), "is none that cuBLASLt takes here"),
            (
                edited(lambda t: t.update(cublaslt=130000)),
                "timed on Emulated GPU of compute capability 11.0 with cuBLASLt 130000, and here "
                "is Emulated GPU of compute capability 11.0 with cuBLASLt 130100; name another",
            ),
            (edited(lambda t: t.update(device="NVIDIA H200")), "timed on NVIDIA H200 of compute"),
        ):
            with self.subTest(expected=expected):
                with open(self.file, "w", encoding="utf-8") as file:
                    file.write(content)
                self.refused(expected)
        self.write(whole)
        self.refused("capability 11.0 with .*and here is .*capability 9.0", CAPABILITY=90)

    def test_places_that_cannot_be_written(self):
        missing = self.of("missing/tune.json")
        self.refused("cannot write .*missing/tune.json: No such file", "--tune", missing)
        self.refused("is not a regular file", "--tune", self.here)
        both = ("--tune", self.file, "--metrics", self.file)
        self.refused("two outputs would be one file: --metrics .* and --tune ", *both)

    def test_processes_that_differ(self):
        def start(flags, **settings):
            with emulated(RANKS):
                wrap = {1: ("env", *(f"SHARDC_EMULATED_{k}={v}" for k, v in settings.items()))}
                return self.ends(self.start(flags, processes=RANKS, wrap=wrap), 60)

        steps = ("--data", "synthetic:1", "--lr", "1e-3", "--steps", 1)
        with self.subTest("other GPUs"):
            (first, _), (code, errors) = start(
                lambda rank: (*steps, "--tune", self.file), CAPABILITY=100
            )
            self.assertNotEqual(first, 0)
            self.assertEqual((code, errors.count("\n")), (1, 1), errors)
            self.assertIn(
                "rank 0 times products on Emulated GPU of compute capability 11.0 with cuBLASLt "
                "130100, and rank 1 has Emulated GPU of compute capability 10.0 with",
                errors,
            )
        with self.subTest("one without a file"):
            ended = start(lambda rank: (*steps, *([] if rank else ["--tune", self.file])))
            self.assertNotIn(0, [code for code, _ in ended])
            self.assertIn("--tune", ended[0][1] + ended[1][1])
        self.assertEqual(os.listdir(self.here), [])
        # Each has a path of its own, of which rank 0's is a file.
        ended = start(lambda rank: (*steps, "--tune", self.of(f"{rank}.json")))
        self.assertEqual(ended, [(0, "")] * RANKS)
        self.assertEqual(os.listdir(self.here), ["0.json"])


if __name__ == "__main__":
    unittest.main()
