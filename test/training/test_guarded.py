"""Real trainers on guarded devices (test/runtime/device/GuardedDevice.h), to the bits of the
processor's: every tiny model, and one of them with every strategy, in float64, bf16, and float16
with skipped steps. An access of the host to the device's memory, a missing wait or a read of what
was never written would end them."""
import copy
import os
import tempfile
import unittest
import unittest.mock

import reference
from other_runtime import OtherRuntime
from record_bits import digest
from reference import MODELS, SHARDC, models, read_metrics
from strategies import STRATEGIES, fits, ranks_of

MESHES = ("1", "4", "2x2")
STEPS = 4
BOTH = "optimizer,activations=1GB"
# Steps that are skipped, and steps that are not: the scale is halved until gradients are finite.
SCALED = ("--loss-scale", "dynamic", "--loss-scale-initial", str(2.0**24))


class Guarded(OtherRuntime):
    runtime = "guarded-runtime"

    def trained(
        self,
        shardc,
        model,
        mesh,
        strategy,
        precision,
        flags,
        accumulation,
        seed,
        optimizer,
        offload,
        update,
    ):
        path = lambda name: os.path.join(folder, name)
        ranks = ranks_of(mesh)
        batch = max(model.batch, ranks * accumulation)
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(
            reference, "SHARDC", shardc
        ):
            model.compile(
                path("m.trainer"),
                mesh,
                precision,
                "--strategy",
                strategy,
                "--optimizer",
                optimizer,
                "--offload",
                offload,
                "--update",
                update,
                batch=batch // accumulation,
            )
            os.environ["SHARDC_GUARD_SEED"] = str(seed)
            if update == "step":
                flags = (*flags, "--export-gradients", path("g.safetensors"))
            said = model.train(
                path("m.trainer"),
                "--metrics",
                path("m.jsonl"),
                "--export-safetensors",
                path("f.safetensors"),
                "--grad-accumulation",
                accumulation,
                *flags,
                *(("--offload-dir", folder) if offload != "none" else ()),
                steps=STEPS,
            ).stdout
            steps, _ = read_metrics(path("m.jsonl"))
            files = []
            for name in filter(os.path.exists, map(path, ("g.safetensors", "f.safetensors"))):
                with open(name, "rb") as file:
                    files.append(digest(file.read()))
        return (
            [(s.get("loss"), s.get("grad_norm")) for s in steps],
            files,
            said.count("step skipped"),
        )

    def check(
        self,
        model,
        mesh,
        strategy,
        precision,
        flags=(),
        accumulation=1,
        seed=0,
        optimizer="adamw",
        offload="none",
        update="step",
    ):
        with self.subTest(
            model=model.folder,
            mesh=mesh,
            strategy=strategy,
            precision=precision,
            accumulation=accumulation,
            offload=offload,
            update=update,
        ):
            case = (model, mesh, strategy, precision, flags, accumulation, seed, optimizer, offload)
            case = (*case, update)
            expected = self.trained(SHARDC, *case)
            self.assertEqual(self.trained(self.shardc, *case), expected)
            return expected[2]

    def test_every_tiny_model(self):
        for seed, (name, model) in enumerate(sorted(models().items())):
            if "tiny" in name and model.folder.startswith(MODELS):
                self.check(model, "2", "full", ("float64", "bf16")[seed % 2], seed=seed)

    def test_matrices_on_their_way_with_every_strategy(self):
        model = models()["s0-mlp-transformer-tiny-legacy"]
        cases = [(m, s) for m in MESHES for s in STRATEGIES if fits(s, m) and m != "1"]
        for seed, (mesh, strategy) in enumerate(cases):
            precision = ("float64", "bf16")[seed % 2]
            self.check(model, mesh, strategy, precision, (), 1, seed, "muon")

    def test_transfers_at_other_times(self):
        """What the optimizer needs comes and goes beside it; without the file, in two memories."""
        for seed, (name, mesh, strategy) in enumerate(
            (
                ("gpt2-tiny", "1", "full"),
                ("gpt2-tiny", "2x2", "hybrid_opt"),
                ("s2-llama-tiny-mask", "4", "full"),
                ("mlp-tiny-loss", "2", "none"),
            )
        ):
            precision = ("float64", "bf16")[seed % 2]
            model, accumulation = models()[name], 1 + seed % 2
            offload = ("" if strategy == "hybrid_opt" else "parameters,") + BOTH
            self.check(model, mesh, strategy, precision, (), accumulation, seed, offload=offload)

    def test_updates_in_backward(self):
        """Beside it, of slices that other ranks may still read."""
        for seed, (name, mesh, strategy) in enumerate(
            (
                ("gpt2-tiny", "1", "full"),
                ("gpt2-tiny", "2x2", "hybrid_opt"),
                ("s2-llama-tiny-mask", "4", "full"),
                ("preference-tiny", "2", "full"),
                ("mlp-tiny-loss", "2", "none"),
            )
        ):
            model = copy.copy(models()[name])
            model.recipe = {**model.recipe, "clip": 0}
            rest = (("float64", "bf16")[seed % 2], (), 1 + seed % 2, seed)
            offload = ("none", BOTH)[seed % 2]
            self.check(model, mesh, strategy, *rest, offload=offload, update="backward")

    def test_every_strategy_in_every_precision(self):
        model = models()["mlp-tiny-loss"]
        for seed, (mesh, strategy) in enumerate(
            (m, s) for m in MESHES for s in STRATEGIES if fits(s, m) and (m != "1" or s == "full")
        ):
            for precision, flags in (("float64", ()), ("bf16", ()), ("float16", SCALED)):
                skipped = self.check(model, mesh, strategy, precision, flags, 1 + seed % 2, seed)
                self.assertIn(
                    skipped,
                    range(1, STEPS) if flags else (0,),
                    "steps that were skipped, and steps that were not",
                )


if __name__ == "__main__":
    unittest.main()
