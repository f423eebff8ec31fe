"""The wheel: `shardc export`, and shardc from Python (tools/python).

With ./dev test --torch modules of PyTorch are exported, trained and loaded back, too, with the
torch and transformers of the interpreter that PYTHON names.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from tool_test import BUILD, MODELS, ROOT, SHARDC

MAKE = os.path.join(ROOT, "tools", "python", "make_wheel.py")
LLAMA = os.path.join(MODELS, "s2-llama-tiny-causal")
LOSS = "cross-entropy:logits=logits,labels=labels,shift=1"
COMPILE_AND_RUN = """
import json
import sys
import numpy as np
import shardc

ids = np.load(sys.argv[2])
trainer = shardc.compile(sys.argv[1], mesh=2, dim={"batch": 2, "sequence": 64}, loss=sys.argv[3])
data = {"input_ids": ids, "labels": sys.argv[2]}
run = trainer.run(
    data, eval_data=data, steps=3, lr=1e-3, no_decay=["norm", "bias"], betas=(0.9, 0.98),
    group=[{"match": "embed", "lr_scale": 0.5}], export_safetensors="trained.safetensors",
)
errors = []
for attempt in (
    lambda: shardc.compile("missing.onnx"),
    lambda: shardc.compile(sys.argv[1], precision="bf17", quiet=True),
    lambda: trainer.run({"input_ids": ids}, steps=1, quiet=True),
    lambda: shardc.Trainer("missing.trainer"),
):
    try:
        attempt()
    except shardc.Error as error:
        errors.append(str(error))
evaluated = [each["loss"] for each in run.evaluations]
print(json.dumps([run.losses, evaluated, run.summary["steps"], errors]))
"""
HF_FOLDERS = """
import sys
import transformers

SMALL = dict(vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, max_position_embeddings=64)
DRY = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
CONFIGS = {
    "llama": ("LlamaForCausalLM", transformers.LlamaConfig(num_key_value_heads=2, **SMALL)),
    "gpt2": ("GPT2LMHeadModel", transformers.GPT2Config(
        vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=None,
        eos_token_id=None, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)),
    "bert": ("BertForSequenceClassification",
             transformers.BertConfig(num_labels=5, **SMALL, **DRY)),
    "roberta": ("RobertaForMaskedLM", transformers.RobertaConfig(**SMALL, **DRY)),
    "t5": ("T5ForConditionalGeneration", transformers.T5Config(
        vocab_size=97, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0)),
    "vit": ("ViTForImageClassification", transformers.ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        image_size=32, patch_size=8, num_labels=5, **DRY)),
}
for name, (architecture, config) in CONFIGS.items():
    transformers.set_seed(3)
    getattr(transformers, architecture)(config).save_pretrained(f"{sys.argv[1]}/{name}")
config = CONFIGS["llama"][1]
config.architectures = ["LlamaForCausalLM"]
config.save_pretrained(f"{sys.argv[1]}/llama-config")
"""
# Three steps of AdamW on two ranks' samples at a time, and the largest difference of a parameter.
TORCH_RUN = """
import json
import sys
import numpy as np
import torch
import torch.nn.functional as F
import transformers
import shardc

name, auto, batch, shift = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1"
model = getattr(transformers, auto).from_pretrained(name)
trained = getattr(transformers, auto).from_pretrained(name)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
data = {key: torch.from_numpy(np.load(f"{key}.npy")) for key in sys.argv[5:]}
losses = []
for step in range(3):
    part = {key: value[step * batch : (step + 1) * batch] for key, value in data.items()}
    labels = part.pop("labels")
    logits = model(**part).logits
    if shift:
        logits, labels = logits[:, :-1], labels[:, 1:]
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
shardc.load_into(trained, "trained.safetensors")
pairs = zip(model.parameters(), trained.parameters())
print(json.dumps([losses, max((a - b).abs().max().item() for a, b in pairs)]))
"""
# A module of one's own from Python: trained as PyTorch trains it, and loaded back.
FROM_PYTHON = """
import copy
import json
import torch
import torch.nn.functional as F
import shardc

torch.manual_seed(2)
module = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
module[0].bias.requires_grad_(False)
other = copy.deepcopy(module)
x, y = torch.randn(12, 6), torch.randint(3, (12,))
loss = "cross-entropy:logits=logits,labels=labels"
trainer = shardc.compile(module, x[:2], mesh=2, loss=loss, quiet=True)
try:
    trainer.load_into(module)
except shardc.Error as error:
    untrained = str(error)
data = {"input": x.numpy(), "labels": y}
run = trainer.run(data, steps=3, lr=1e-2, weight_decay=0.01, quiet=True)
optimizer = torch.optim.AdamW([p for p in other.parameters() if p.requires_grad], lr=1e-2)
wanted = []
for step in range(3):
    part = slice(4 * step, 4 * step + 4)
    each = F.cross_entropy(other(x[part]), y[part])
    optimizer.zero_grad()
    each.backward()
    optimizer.step()
    wanted.append(each.item())
trainer.load_into(module)
off = max((a - b).abs().max().item() for a, b in zip(module.parameters(), other.parameters()))
try:
    trainer.load_into(torch.nn.Linear(6, 16))
except shardc.Error as error:
    print(json.dumps([run.losses, wanted, off, untrained, str(error)]))
"""
MODULES = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16, padding_idx=0)
        self.body = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(),
                                        torch.nn.Dropout(0.1), torch.nn.Linear(32, 16))
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight
        self.unused = torch.nn.Linear(3, 3)
        self.body[0].requires_grad_(False)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids)))

class Padded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 8, padding_idx=3)
        self.head = torch.nn.Linear(8, 5)
        torch.nn.init.normal_(self.embed.weight)

    def forward(self, ids):
        return self.head(self.embed(ids).mean(1))

class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

def net():
    loss = "cross-entropy:logits=logits,labels=labels"
    return Net(), torch.randint(50, (2, 12)), {"outputs": ["logits"], "loss": loss}

def padded():
    torch.manual_seed(3)
    loss = "cross-entropy:logits=logits,labels=labels"
    return Padded(), torch.arange(11).expand(2, 11), {"outputs": ["logits"], "loss": loss}

def branch():
    return Branch(), torch.randn(2, 4)

def number():
    return 3

def options():
    return Net(), torch.randint(50, (2, 12)), {"output": "logits"}
"""


def environment(python=None):
    """A virtual environment that has the wheel, and where there is a `python` its packages."""
    folder = tempfile.TemporaryDirectory()
    words = [sys.executable, MAKE, BUILD, "-o", folder.name]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = glob.glob(os.path.join(folder.name, "*.whl"))
    made = os.path.join(folder.name, "v")
    subprocess.run(
        [python or sys.executable, "-m", "venv", "--system-site-packages", made], check=True
    )
    install = [os.path.join(made, "bin", "pip"), "install", "-q", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True)
    os.remove(wheel)
    if python:
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        there, here = (
            subprocess.run([each, "-c", ask], capture_output=True, text=True, check=True)
            for each in (python, os.path.join(made, "bin", "python"))
        )
        with open(os.path.join(here.stdout.strip(), "beside.pth"), "w") as file:
            file.write(there.stdout)
    return folder, os.path.join(made, "bin")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder, cls.bin = environment()
        cls.addClassCleanup(cls.folder.cleanup)

    def run_in(self, *words, cwd=None):
        """Without what this machine has of shardc."""
        return subprocess.run(
            [os.path.join(self.bin, words[0]), *words[1:]],
            cwd=cwd or self.folder.name,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )

    def test_its_commands(self):
        for name in ("shardc", "shardc-check", "shardc-ckpt", "shardc-data"):
            done = self.run_in(name, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(self.run_in("shardc", "--version").stdout, r"^shardc \d")
        done = self.run_in("shardc", "missing.onnx")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^shardc: error: .*missing.onnx")

    def test_exporting_says_what_it_needs(self):
        done = self.run_in("shardc", "export", "somewhere")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^shardc: error: exporting needs torch: .*\n$")
        self.assertEqual(self.run_in("shardc", "export", "--help").returncode, 0)

    def test_from_python_it_is_the_command_line(self):
        ids = os.path.join(LLAMA, "data", "input_ids.npy")
        model = os.path.join(LLAMA, "model.onnx")
        done = self.run_in("python", "-c", COMPILE_AND_RUN, model, ids, LOSS)
        self.assertEqual(done.returncode, 0, done.stderr)
        losses, evaluated, steps, errors = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual(steps, 3)
        trainer = os.path.join(self.folder.name, "other.trainer")
        words = [SHARDC, model, "--mesh", "2", "--dim", "batch=2", "--dim", "sequence=64", "-q"]
        subprocess.run([*words, "--loss", LOSS, "-o", trainer], check=True)
        metrics = os.path.join(self.folder.name, "m.jsonl")
        words = [trainer, "--data", f"input_ids={ids}", "--data", f"labels={ids}", "--steps", "3"]
        words += ["--eval-data", f"input_ids={ids}", "--eval-data", f"labels={ids}"]
        words += ["--lr", "1e-3", "--no-decay", "norm,bias", "--betas", "0.9,0.98"]
        words += ["--group", "match=embed,lr-scale=0.5", "--metrics", metrics]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(metrics) as file:
            wanted = [json.loads(line) for line in file]
        self.assertEqual(losses, [line["loss"] for line in wanted if "event" not in line])
        ends = [line["loss"] for line in wanted if line.get("event") == "eval"]
        self.assertEqual((evaluated, len(ends)), (ends, 1))
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "trained.safetensors")))
        for said, wanted in zip(
            errors, ("missing.onnx", "bf17", "input labels has no values", "missing.trainer")
        ):
            self.assertIn(wanted, said)
        self.assertEqual(len(errors), 4)
        self.assertNotIn("error: ", done.stdout + done.stderr)  # but in exceptions


@unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "exports from PyTorch: ./dev test --torch"
)
class FromPyTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = os.environ.get("PYTHON", sys.executable)
        needs = "import torch, transformers, onnxscript, safetensors"
        if subprocess.run([python, "-c", needs], capture_output=True).returncode:
            raise unittest.SkipTest(f"{python} has not all of: {needs}")
        cls.made, cls.bin = environment(python)
        cls.addClassCleanup(cls.made.cleanup)
        cls.folder = cls.made.name
        subprocess.run(
            [os.path.join(cls.bin, "python"), "-c", HF_FOLDERS, cls.folder],
            check=True,
            capture_output=True,
        )
        with open(os.path.join(cls.folder, "modules.py"), "w") as file:
            file.write(MODULES)

    def run_in(self, *words):
        return subprocess.run(
            [os.path.join(self.bin, words[0]), *words[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )

    def shell(self, line):
        done = subprocess.run(
            line,
            shell=True,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{self.bin}:/usr/bin:/bin"},
        )
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def commands(self, *words):
        """What `shardc export` prints to be run."""
        done = self.run_in("shardc", "export", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.strip() for line in done.stdout.splitlines()[1:]], done

    def save(self, name, values):
        np.save(os.path.join(self.folder, name), values)

    def check(self, name, auto, data, batch, shift=False, flags=()):
        """Trains as the printed commands say, and as PyTorch does, for three steps."""
        for key, values in data.items():
            self.save(f"{key}.npy", values)
        (compiling, running), _ = self.commands(name, "-o", f"{name}.onnx", *flags)
        self.shell(compiling)
        running = running.replace("--steps 1000 --lr 1e-4", "--steps 3 --lr 1e-3")
        self.shell(f"{running} --weight-decay 0.01 --metrics m.jsonl")
        with open(os.path.join(self.folder, "m.jsonl")) as file:
            losses = [json.loads(line) for line in file]
        losses = [line["loss"] for line in losses if "event" not in line]
        words = [name, auto, str(batch), str(int(shift)), *data]
        done = self.run_in("python", "-c", TORCH_RUN, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted, difference = json.loads(done.stdout.strip().splitlines()[-1])
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
        self.assertLess(difference, 1e-3 * 3 * 0.1)  # of three steps of at most 1e-3 each

    def ids(self, samples, length, seed=0):
        return np.random.default_rng(seed).integers(3, 97, (samples, length))

    def test_causal(self):
        ids = self.ids(12, 16)
        dims = ("--dim", "batch=2", "--dim", "sequence=16")
        for name in ("llama", "gpt2"):
            with self.subTest(name):
                data = {"input_ids": ids, "labels": ids}
                self.check(name, "AutoModelForCausalLM", data, 4, True, dims)

    def test_with_a_mask(self):
        ids, mask = self.ids(12, 16), np.ones((12, 16), np.int64)
        mask[:, 12:] = 0
        dims = ("--dim", "batch=2", "--dim", "sequence=16")
        data = {"input_ids": ids, "attention_mask": mask, "labels": np.arange(12) % 5}
        self.check("bert", "AutoModelForSequenceClassification", data, 4, flags=dims)
        data["labels"] = self.ids(12, 16, 1)
        self.check("roberta", "AutoModelForMaskedLM", data, 4, flags=dims)

    def test_two_sequences(self):
        data = {
            "input_ids": self.ids(12, 16),
            "attention_mask": np.ones((12, 16), np.int64),
            "decoder_input_ids": self.ids(12, 10, 2),
            "labels": self.ids(12, 10, 3),
        }
        dims = ("--dim", "batch=2", "--dim", "sequence=16", "--dim", "target=10")
        self.check("t5", "AutoModelForSeq2SeqLM", data, 4, flags=dims)

    def test_images(self):
        draw = np.random.default_rng(5)
        data = {
            "pixel_values": draw.standard_normal((12, 3, 32, 32)).astype(np.float32),
            "labels": np.arange(12) % 5,
        }
        self.check("vit", "AutoModelForImageClassification", data, 4, flags=("--dim", "batch=2"))

    def test_from_python(self):
        done = self.run_in("python", "-c", FROM_PYTHON)
        self.assertEqual(done.returncode, 0, done.stderr)
        losses, wanted, off, untrained, other = json.loads(done.stdout.strip().splitlines()[-1])
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
        self.assertLess(off, 1e-5)
        self.assertIn("nothing is trained yet", untrained)
        self.assertRegex(other, "trained.safetensors has '.*', and the module has not")

    def test_modules_of_ones_own(self):
        (compiling, running), done = self.commands("modules.py:net", "-o", "net.onnx")
        self.assertIn("nothing trains unused.weight, unused.bias", done.stderr)
        self.assertIn(r"--freeze '^body\.0\.'", compiling)
        self.shell(compiling)
        self.save("ids.npy", np.random.default_rng(1).integers(50, size=(8, 12)))
        self.save("labels.npy", np.random.default_rng(2).integers(50, size=(8, 12)))
        self.shell(running.replace("--steps 1000", "--steps 2"))

    def test_padding_is_told_by_both_exporters(self):
        gradients = []
        for exporter in ("dynamo", "tracing"):
            flags = ("-o", f"{exporter}.onnx", "--exporter", exporter)
            (compiling, running), _ = self.commands("modules.py:padded", *flags)
            self.assertNotIn("warning", self.shell(f"{compiling} 2>&1"))
            inputs = re.findall(r"--data (\w+)=", running)
            self.save(f"{inputs[0]}.npy", np.tile(np.arange(11), (4, 1)))
            self.save("labels.npy", np.arange(4))
            running = running.replace("--steps 1000", "--steps 1")
            self.shell(f"{running} --export-gradients g.safetensors")
            script = (
                "import safetensors.numpy as s; "
                "print(s.load_file('g.safetensors')['embed.weight'].tolist())"
            )
            gradients.append(np.array(json.loads(self.run_in("python", "-c", script).stdout)))
            self.assertEqual(np.abs(gradients[-1][3]).max(), 0)
            self.assertGreater(np.abs(gradients[-1][4]).max(), 0)
        np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-7)

    def test_what_cannot_be_exported(self):
        path = os.path.join(self.folder, "kept.onnx")
        with open(path, "w") as file:
            file.write("as it was")
        for source, said in (
            ("modules.py:branch", "torch.onnx.export ends with "),
            ("modules.py:number", "modules.py:number gives int, expected (module, inputs)"),
            ("modules.py:none", "modules.py has no function 'none'"),
            ("modules.py:options", "modules.py:options gives the option 'output', expected dims,"),
        ):
            done = self.run_in("shardc", "export", source, "-o", "kept.onnx")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"shardc: error: {said}", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            with open(path) as file:
                self.assertEqual(file.read(), "as it was")
        self.assertEqual(glob.glob(os.path.join(self.folder, "tmp*")), [])

    def test_the_readme_s_five_commands(self):
        with open(os.path.join(ROOT, "README.md")) as file:
            block = file.read().partition("## From Hugging Face in five commands\n")[2]
        block = re.sub(r"\\\n\s*", "", block.partition("\n## ")[0])
        lines = [line.strip() for line in block.splitlines() if line.startswith("    ")]
        self.assertEqual(len(lines), 5, lines)
        self.assertRegex(lines[0], r"pip install '.*\[export\]'")  # done in setUpClass
        self.save("ids.npy", self.ids(16, 64))
        for line in lines[1:]:
            self.assertNotIn("../", line)
            line = line.replace("--steps 1000", "--steps 4").replace("sequence=128", "sequence=64")
            self.shell(line)
        script = "import transformers as t; t.AutoModelForCausalLM.from_pretrained('trained')"
        done = self.run_in("python", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
