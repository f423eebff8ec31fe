#!/usr/bin/env python3
"""Writes what llama31-finetuning.sh takes by default, and what transformers says of its model.

questions/: a dataset as `datasets` saves it, questions with answers as bytes, padded with 0.
llama31-tiny/: the configuration of test/models/s1-llama31-tiny, as save_pretrained writes it.
llama31-tiny.json: the model's tensors, and its logits for some places of two samples that are held
out, all with the values that the model has before it is trained.

Needs datasets, torch, transformers and safetensors, and a built shardc (SHARDC_BUILD), which gives
the values.

    record_llama31.py
"""
import json
import os
import random
import shutil
import subprocess
import tempfile

import torch
from datasets import Dataset, Features, List, Value
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARDC = os.path.join(os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build")), "bin", "shardc")
MODEL = os.path.join(ROOT, "test", "models", "s1-llama31-tiny", "model.onnx")
LENGTH, SAMPLES, HELD_OUT = 64, 256, 16
RECORDED = [0, 1], [3, 17, 42]  # samples, positions


def path(*names):
    return os.path.join(HERE, *names)


def tokenize(row):
    text = f"### Question: {row['question']} ### Answer: {row['answer']}".encode()
    assert len(text) <= LENGTH
    return {"input_ids": list(text) + [0] * (LENGTH - len(text))}


def write_dataset():
    draw = random.Random(3)
    pairs = [(draw.randrange(100), draw.randrange(100)) for _ in range(SAMPLES + HELD_OUT)]
    rows = Dataset.from_dict(
        {
            "question": [f"What is {a} plus {b}?" for a, b in pairs],
            "answer": [str(a + b) for a, b in pairs],
        }
    )
    samples = rows.map(
        tokenize,
        remove_columns=["question", "answer"],
        features=Features({"input_ids": List(Value("int32"))}),
    )
    shutil.rmtree(path("questions"), ignore_errors=True)
    samples.train_test_split(HELD_OUT, shuffle=False).save_to_disk(path("questions"))
    return samples.select(range(SAMPLES, SAMPLES + HELD_OUT))


def write_configuration():
    """As the model was made that test/models has."""
    rope = {
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=160,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        max_position_embeddings=131072,
        rope_parameters=rope,
        tie_word_embeddings=False,
        architectures=["LlamaForCausalLM"],
    )
    config.save_pretrained(path("llama31-tiny"))
    GenerationConfig.from_model_config(config).save_pretrained(path("llama31-tiny"))


def initial_model():
    """transformers' model with the values that the ONNX file has."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = os.path.join(folder, "trainer")
        loss = "cross-entropy:logits=logits,labels=labels,shift=1"
        dims = ["--dim", "batch=1", "--dim", f"sequence={LENGTH}"]
        words = [SHARDC, MODEL, *dims, "--loss", loss, "--quiet", "-o", trainer]
        subprocess.run(words, check=True)
        like = os.path.join(folder, "like")
        shutil.copytree(path("llama31-tiny"), like)
        data = ["--data", f"input_ids={path('questions', 'train')}", "--data", "labels=@input_ids"]
        weights = ["--export-safetensors", os.path.join(like, "model.safetensors")]
        subprocess.run([trainer, *data, "--steps", "0", *weights], check=True)
        return AutoModelForCausalLM.from_pretrained(like, dtype=torch.float32)


def main():
    held_out = write_dataset()
    write_configuration()
    model = initial_model().eval()
    samples, positions = RECORDED
    with torch.no_grad():
        logits = model(torch.tensor([held_out[i]["input_ids"] for i in samples])).logits
    recorded = {
        "tensors": {n: list(t.shape) for n, t in model.state_dict().items()},
        "samples": samples,
        "positions": positions,
        "logits": [
            [[round(float(x), 7) for x in logits[i, p]] for p in positions]
            for i in range(len(samples))
        ],
    }
    with open(path("llama31-tiny.json"), "w") as file:
        json.dump(recorded, file)
        file.write("\n")


if __name__ == "__main__":
    main()
