"""Trainers for GPUs, on emulated ones: the file that ships, PTX, streams, graphs and NCCL calls.

The emulated driver ends a run whose accesses are not ordered, are out of bounds or read what nobody
wrote, so that each run here is a test of that as well.
"""
import json
import os
import tempfile
import unittest

import parity
from emulated_cuda import emulated
from record_bits import digest
from reference import MODELS, CommandFailed, models, read_metrics, read_safetensors
from strategies import STRATEGIES, fits, ranks_of

# Of processor time: see test/run.py.
LONG = True

# Else each policy and each mesh on one model.
THOROUGH = bool(os.environ.get("SHARDC_TEST_THOROUGH"))
TARGET = ("--target", "cuda:sm_90")
STEPS = 3
# All ranks in one process, which starts and compiles kernels once.
THREADS = ("--nproc-per-node", 1)
SCALED = ("--loss-scale", "dynamic", "--loss-scale-initial", str(2.0**24))
# What bf16 and float16 lose beside float32, over three steps.
HALF_BOUND = 2e-2


def tiny_models():
    return {
        name: model
        for name, model in sorted(models().items())
        if "tiny" in name and model.folder.startswith(MODELS)
    }


class Run:
    """A few steps of a model, and what came out. With `graphs`, steps are launches of graphs."""

    def __init__(
        self,
        model,
        mesh,
        precision,
        *compile_flags,
        train=(),
        accumulation=1,
        gpus=None,
        start=THREADS,
        graphs=False,
        **settings,
    ):
        path = lambda name: os.path.join(folder, name)
        batch = max(model.batch, ranks_of(mesh) * accumulation)
        gpus = gpus or ranks_of(mesh)
        with tempfile.TemporaryDirectory() as folder, emulated(gpus, True, **settings):
            model.compile(
                path("m.trainer"),
                mesh,
                precision,
                *TARGET,
                *compile_flags,
                batch=batch // accumulation,
            )
            accumulate = ("--grad-accumulation", accumulation) if accumulation > 1 else ()
            self.said = model.train(
                path("m.trainer"),
                "--metrics",
                path("m.jsonl"),
                *([] if graphs else ["--cuda-graph", "off"]),
                "--export-gradients",
                path("g.safetensors"),
                "--export-safetensors",
                path("f.safetensors"),
                *accumulate,
                *start,
                *train,
                steps=STEPS,
            ).stdout
            steps, _ = read_metrics(path("m.jsonl"))
            self.losses = [s["loss"] for s in steps]
            self.norms = [s.get("grad_norm") for s in steps]
            self.gradients = read_safetensors(path("g.safetensors"))
            with open(path("f.safetensors"), "rb") as file:
                self.digest = digest(file.read())

    def bits(self):
        return self.losses, self.norms, self.digest


class Cuda(unittest.TestCase):
    def against_pytorch(self, model, run, precision):
        r = model.reference
        losses, norms = r["loss_f64"][:STEPS], r["grad_norm_f64"][:STEPS]
        bound = parity.curve_bound(r["loss"], r["loss_f64"], precision)
        self.assertLess(parity.worst_relative(run.losses, losses), bound)
        bound = parity.curve_bound(r["grad_norm"], r["grad_norm_f64"], precision)
        self.assertLess(parity.worst_relative(run.norms, norms), bound)
        want = read_safetensors(os.path.join(model.folder, r["grads_step0"]))
        want = {name: g for name, g in want.items() if name not in set(r["lost_parameters"])}
        deviation, bound = parity.gradient_deviation(run.gradients, want, precision)
        self.assertLess(deviation, bound)

    def test_every_tiny_model_trains_as_pytorch_does(self):
        meshes = ("1", "2", "2x2")
        for turn, (name, model) in enumerate(tiny_models().items()):
            mesh = meshes[turn % len(meshes)]
            if model.batch % ranks_of(mesh) or model.is_of_batch:
                mesh = "1"
            with self.subTest(model=name, mesh=mesh):
                self.against_pytorch(model, Run(model, mesh, "float64"), "float64")

    def test_smaller_types(self):
        for name in ("gpt2-tiny", "s2-llama-tiny-mask"):
            model = models()[name]
            with self.subTest(model=name, precision="float32"):
                self.against_pytorch(model, Run(model, "2", "float32"), "float32")
            with self.subTest(model=name, precision="bf16"):
                run = Run(model, "2", "bf16")
                deviation = parity.worst_relative(run.losses, model.reference["loss_f64"][:STEPS])
                self.assertLess(deviation, HALF_BOUND)

    def test_strategies_have_the_same_bits(self):
        model = models()["mlp-tiny-loss"]
        for mesh in ("2", "2x2"):
            first = None
            for strategy in STRATEGIES:
                if not fits(strategy, mesh):
                    continue
                with self.subTest(mesh=mesh, strategy=strategy):
                    run = Run(model, mesh, "float32", "--strategy", strategy)
                    self.against_pytorch(model, run, "float32")
                    graphs = Run(model, mesh, "float32", "--strategy", strategy, graphs=True)
                    self.assertEqual(graphs.digest, run.digest)
                    if not strategy.startswith("hybrid"):
                        first = first or run.bits()
                        self.assertEqual(run.bits(), first)

    def test_recomputation_changes_no_bit(self):
        # In bf16 a residual that the library adds to a product is rounded once: in forward and
        # where it runs again, or in neither.
        policies = ("cheap", "all", "selective", "unit", "class:product", "time=10")
        for turn, (name, mesh) in enumerate((("s2-llama-tiny-mask", "2"), ("gpt2-tiny", "1"))):
            model = models()[name]
            flags = ("--units", "block", "--cluster", "dgx-h100")
            first = Run(model, mesh, "bf16", "--remat", "none", *flags).bits()
            for policy in policies if THOROUGH else policies[turn::2]:
                with self.subTest(model=name, mesh=mesh, policy=policy):
                    run = Run(model, mesh, "bf16", "--remat", policy, *flags)
                    self.assertEqual(run.bits(), first)

    def test_ranks_and_micro_batches_add_up_in_one_order(self):
        model = models()["mlp-tiny-loss"]
        for precision in ("float64", "bf16"):
            with self.subTest(precision=precision):
                four = Run(model, "4", precision, graphs=True)
                two = Run(model, "2", precision, accumulation=2, graphs=True)
                self.assertEqual(two.bits(), four.bits())
                one = Run(model, "1", precision, accumulation=4, graphs=True)
                self.assertEqual(one.bits(), four.bits())
                plain = Run(model, "2", precision, accumulation=2)
                self.assertEqual(plain.digest, four.digest)

    def test_graphs_have_the_bits_of_plain_launches(self):
        model = models()["gpt2-tiny"]
        graphs = Run(model, "2", "float32", graphs=True)
        self.assertEqual(Run(model, "2", "float32", graphs=True).bits(), graphs.bits())
        for plain in (["--cuda-graph", "off"], ["--profile"]):
            with self.subTest(plain=plain):
                self.assertEqual(
                    Run(model, "2", "float32", graphs=True, train=plain).bits(), graphs.bits()
                )

    def test_attention_without_cudnn(self):
        """No emulated GPU runs cuDNN: the own kernels are taken, which is said."""
        model = models()["gpt2-tiny"]
        auto = Run(model, "1", "bf16")
        self.assertRegex(auto.said, r"\nattention (forward )?by own kernels: \S.*\n")
        own = Run(model, "1", "bf16", train=("--attention", "own"))
        self.assertNotIn("attention", own.said)
        self.assertEqual(own.bits(), auto.bits())
        with self.assertRaisesRegex(
            CommandFailed,
            r"trainer: error: plan entry \S+ \(.*\): --attention cudnn: .*; give"
            " --attention auto\n",
        ):
            Run(model, "1", "bf16", train=("--attention", "cudnn"))

    def test_sums_by_nccl(self):
        model = models()["mlp-tiny-loss"]
        for strategy, accumulation in (("full", 1), ("none", 1), ("full", 2)):
            with self.subTest(strategy=strategy, accumulation=accumulation):
                run = lambda reduce: Run(
                    model,
                    "4",
                    "float32",
                    "--strategy",
                    strategy,
                    train=["--reduce", reduce],
                    accumulation=accumulation,
                )
                nccl, ordered = run("nccl"), run("ordered")
                self.assertEqual(run("nccl").bits(), nccl.bits())
                # NCCL goes round a ring.
                self.assertNotEqual(nccl.digest, ordered.digest)
                self.assertIn("sums over ranks are NCCL's", nccl.said)
                self.assertNotIn("sums over ranks are NCCL's", ordered.said)
                if accumulation == 1:
                    self.against_pytorch(model, nccl, "float32")
                self.assertLess(parity.worst_relative(nccl.losses, ordered.losses), 1e-5)

    def calls(self, name, mesh):
        """What a run of some steps asks of the first GPU's driver, as (function, bytes)."""
        model = models()[name]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            report = path("report.json")
            model.compile(path("t"), mesh, "bf16", *TARGET, "--report", report, batch=8)
            with emulated(ranks_of(mesh), CALLS=path("calls")):
                # Metrics cost no call.
                metrics = ("--metrics", path("m.jsonl"))
                model.train(path("t"), *THREADS, *metrics, steps=STEPS + 2)
            with open(path("calls"), encoding="utf-8") as file:
                lines = [line.split() for line in file]
            with open(report, encoding="utf-8") as file:
                memory = json.load(file)["memory"]
        return [(name, int(size)) for device, name, size in lines if device == "0"], memory

    def test_calls_of_a_step_do_not_follow_its_depth(self):
        counts = {}
        for name in ("gpt2-tiny", "mlp-tiny-loss"):
            for mesh in ("1", "2"):
                calls = [of for of, _ in self.calls(name, mesh)[0]]
                launches = [i for i, of in enumerate(calls) if of == "cuGraphLaunch"]
                self.assertEqual(len(launches), STEPS + 1)
                # Who waits for other ranks looks again and again.
                step = [of for of in calls[launches[-2] : launches[-1]] if of != "cuStreamQuery"]
                self.assertLessEqual(len(step), 16, step)
                counts[name, mesh] = len(step)
        # One is a multilayer perceptron, the other has blocks with attention.
        self.assertEqual(len(set(counts.values())), 1, counts)

    def test_memory_is_what_the_plan_says_and_there_before_the_first_step(self):
        for mesh in ("1", "2"):
            calls, memory = self.calls("gpt2-tiny", mesh)
            begun = next(i for i, (of, _) in enumerate(calls) if of == "cuLaunchKernel")
            self.assertEqual([call for call in calls[begun:] if "Alloc" in call[0]], [])
            on_device = [size for of, size in calls if of == "cuMemAlloc_v2"]
            # What collectives work on is in windows, which are on memory of NCCL's.
            windows = [size for of, size in calls if of == "ncclMemAlloc"]
            named = ("persistent", "step", "gather") if mesh != "1" else ()
            self.assertCountEqual(windows, [memory["pools"][name] for name in named])
            on_device += windows
            for name, size in memory["pools"].items():
                if size:
                    with self.subTest(mesh=mesh, pool=name):
                        self.assertIn(size, on_device)
                        on_device.remove(size)
            # Tables of kernels are beside them.
            self.assertLess(sum(on_device), 4096, on_device)
            self.assertLess(max(on_device), 1024, on_device)
            # Four that copies go through, a word of progress, and faults of kernels.
            on_host = [size for of, size in calls if of == "cuMemHostAlloc"]
            self.assertEqual(sorted(on_host), [4, 512] + 4 * [4 << 20])

    def test_steps_that_are_not_finite_are_skipped(self):
        run = Run(models()["mlp-tiny-loss"], "2", "float16", train=SCALED)
        self.assertIn(run.said.count("step skipped"), range(1, STEPS + 1))

    def test_processes_have_the_bits_of_threads(self):
        model = models()["mlp-tiny-loss"]
        threads = Run(model, "2", "float32", gpus=2, graphs=True)
        self.assertNotIn("processes of", threads.said)
        for start in ((), ("--nproc-per-node", 2)):
            with self.subTest(start=start):
                processes = Run(model, "2", "float32", gpus=2, start=start, graphs=True)
                self.assertIn("2 processes of 1 rank, UCX", processes.said)
                self.assertEqual(processes.bits(), threads.bits())

    def test_evaluations_and_checkpoints_change_no_bit(self):
        # A checkpoint is copied by another thread, beside the next step.
        model = models()["mlp-tiny-loss"]
        run = Run(model, "2", "float32", graphs=True)
        evaluated = ["--eval-every", 1]
        for name, path in model.data("data/eval").items():
            evaluated += ["--eval-data", f"{name}={path}"]
        with tempfile.TemporaryDirectory() as folder:
            saved = ["--checkpoint-dir", folder, "--checkpoint-every", 1]
            also = Run(model, "2", "float32", graphs=True, train=[*evaluated, *saved])
        self.assertEqual(also.bits(), run.bits())
        self.assertEqual(also.said.count("eval after step"), STEPS + 1)

    def test_streams_that_are_delayed_change_no_bit(self):
        model = models()["mlp-tiny-loss"]
        units = ("--units", "size:17kB")
        for graphs in (False, True):
            at_once = Run(model, "2x2", "float32", *units, graphs=graphs)
            for seed in os.environ.get("SHARDC_TEST_DELAY_SEEDS", "1").split(","):
                with self.subTest(graphs=graphs, seed=seed):
                    run = Run(model, "2x2", "float32", *units, graphs=graphs, DELAY_SEED=seed)
                    self.assertEqual(run.bits(), at_once.bits())


class Refusals(unittest.TestCase):
    """One line each, and nothing written."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = models()["mlp-tiny-loss"]
        cls.trainer = os.path.join(folder.name, "m.trainer")
        cls.model.compile(cls.trainer, "2", "float32", *TARGET)

    def refused(self, expected, *start):
        with self.assertRaises(CommandFailed) as caught:
            self.model.train(self.trainer, *start, steps=1)
        lines = str(caught.exception).strip().splitlines()
        self.assertRegex(lines[-1], expected)
        errors = [line for line in lines if line.startswith("trainer: error:")]
        self.assertEqual(len(errors), 1, lines)

    def test_too_few_gpus(self):
        with emulated(1):
            self.refused("there is 1 GPU here, and 2 ranks that want one each; compile for")
            self.refused("there is 1 GPU here, and a rank that wants number 1", *THREADS)

    def test_too_little_memory(self):
        with emulated(2, GPU_BYTES=1 << 16):
            self.refused("has 65536 bytes, and a rank of this plan needs [0-9]+; compile for")
            self.refused("has no [0-9]+ bytes for ", *THREADS)

    def test_too_old_gpus(self):
        with emulated(2, CAPABILITY=80):
            for start in ((), THREADS):
                self.refused(
                    "is for GPUs of compute capability 9.0 or newer, and .* has 8.0", *start
                )

    def test_graphs_that_no_launch_is_in(self):
        for flag in ("--profile", "--check-finite"):
            self.refused(f"--cuda-graph has no effect with {flag}", "--cuda-graph", "on", flag)

    def test_no_driver(self):
        with emulated(2):
            os.environ["LD_LIBRARY_PATH"] = ""
            try:
                import ctypes

                ctypes.CDLL("libcuda.so.1")
            except OSError:
                self.refused("libcuda.so.1.*install NVIDIA's driver")
            else:
                self.skipTest("there is a driver here")


if __name__ == "__main__":
    unittest.main()
