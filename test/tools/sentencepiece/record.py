"""Trains the small models beside it with Python's sentencepiece (`pip install sentencepiece`), and
writes what it makes of some texts: what test_shardc_data.py compares with."""
import io
import json
import os

import sentencepiece

FOLDER = os.path.dirname(os.path.abspath(__file__))
TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "  Two  spaces,\ta tab,\nand a new line.\n",
    "Größe, naïve, 東京, emoji \U0001f600, and an unknown \u2603.",
    "aaaa bbbb " * 40,
    "1, 2, 3: 12345 67.89",
]
words = (
    "the a quick lazy brown fox dog jumps over runs under tree house of and in to new old".split()
)
corpus = [" ".join(words[(i * k + k) % len(words)] for k in range(1, 12)) for i in range(200)]
found = {"texts": TEXTS}
kinds = {
    "unigram": {"model_type": "unigram", "vocab_size": 120},
    "bpe": {
        "model_type": "bpe",
        "vocab_size": 400,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
}
for name, options in kinds.items():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus + TEXTS),
        model_writer=model,
        hard_vocab_limit=False,
        **options,
    )
    with open(os.path.join(FOLDER, name + ".model"), "wb") as file:
        file.write(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    found[name] = {
        "end": processor.eos_id(),
        "ids": [processor.encode(text) for text in TEXTS],
    }
with open(os.path.join(FOLDER, "expected.json"), "w", encoding="utf-8") as file:
    json.dump(found, file)
    file.write("\n")
