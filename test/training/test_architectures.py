"""Live against PyTorch (./dev test --torch): architectures that people train, exported by
`shardc export` and trained beside PyTorch in float64 (architectures/, docs/models.md)."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from reference import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
COMPARE = os.path.join(HERE, "architectures", "compare.py")
# One of each kind; all of them take a quarter of an hour.
TESTED = """Llama 3.1; GPT-2; Mixtral; DeBERTa-v3; T5; ViT; ResNet; Whisper; Wav2Vec2; CLIP;
LSTM language model; nanoGPT; U-Net""".replace(
    "\n", " "
).split(
    "; "
)
# What the older exporter cannot write, or writes with the lengths of its example.
ONLY_DYNAMO = ("Whisper", "CLIP")


@unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
)
class Architectures(unittest.TestCase):
    def check(self, name):
        python = os.environ.get("PYTHON", sys.executable)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [python, COMPARE, folder, name],
                capture_output=True,
                text=True,
                env={**os.environ, "PATH": os.path.join(BUILD, "bin") + ":/usr/bin:/bin"},
            )
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            with open(os.path.join(folder, name + ".json")) as file:
                results = json.load(file)
        for way, result in results.items():
            if way == "tracing" and name in ONLY_DYNAMO:
                continue
            self.assertEqual(result["outcome"], "ok", f"{way}: {result}")


for _name in TESTED:
    setattr(
        Architectures,
        "test_" + "".join(c if c.isalnum() else "_" for c in _name.lower()),
        lambda self, name=_name: self.check(name),
    )

if __name__ == "__main__":
    unittest.main()
