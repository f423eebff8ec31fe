"""Writes the Arrow files beside it, with Hugging Face's datasets and pyarrow: what ArrowTest.cpp
and test/tools/test_data_formats.py read. `pip install datasets pyarrow`, then run it.

ids(n) are n token ids; 12 samples of 16, or 9 rows of 11, 18, 25, ... of them."""
import os
import shutil

import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, List, Value

FOLDER = os.path.dirname(os.path.abspath(__file__))


def ids(count):
    return np.arange(count) * 37 % 500 + 1


def path(name):
    return os.path.join(FOLDER, name)


def save(name, columns, features, **options):
    shutil.rmtree(path(name), ignore_errors=True)
    Dataset.from_dict(columns, features=Features(features)).save_to_disk(path(name), **options)


def write(name, column, options=None):
    table = pa.table({"text": ["a"] * len(column), "input_ids": column})
    with pa.OSFile(path(name), "wb") as sink, pa.ipc.new_file(
        sink, table.schema, options=options
    ) as writer:
        writer.write_table(table, max_chunksize=5)


samples = ids(12 * 16).reshape(12, 16)
text = [f"sample {i}" for i in range(12)]
save(
    "samples",
    {
        "text": text,
        "input_ids": samples.tolist(),
        "labels": samples.tolist(),
        "number": list(range(12)),
        "row": (samples / 8).tolist(),
    },
    {
        "text": Value("string"),
        "input_ids": List(Value("int32")),
        "labels": List(Value("int64"), length=16),
        "number": Value("int16"),
        "row": List(Value("float32"), length=16),
    },
    num_shards=2,
)
lengths = [11 + 7 * i for i in range(9)]
ends = np.cumsum(lengths)
rows = [r.tolist() for r in np.split(ids(ends[-1]), ends[:-1])]
save("rows", {"input_ids": rows}, {"input_ids": List(Value("uint16"))})
write("large.arrow", pa.array(samples.tolist(), pa.large_list(pa.int64())))
lists = pa.array(samples.tolist(), pa.list_(pa.int64()))
write("lz4.arrow", lists, pa.ipc.IpcWriteOptions(compression="lz4"))
write("dictionary.arrow", pa.array(list(range(12)), pa.int64()).dictionary_encode())
write("nulls.arrow", pa.array([1, None, 3] * 4, pa.int64()))
save(
    "masks",
    {
        "input_ids": samples.tolist(),
        "attention_mask": (samples % 3 > 0).tolist(),
        "seen": (samples[:, :13] % 5 > 1).tolist(),
        "is_long": (samples[:, 0] % 2 > 0).tolist(),
    },
    {
        "input_ids": List(Value("int64")),
        "attention_mask": List(Value("bool")),
        "seen": List(Value("bool"), length=13),
        "is_long": Value("bool"),
    },
    num_shards=2,
)
nested = samples.reshape(12, 4, 4).tolist()
write("nested.arrow", pa.array(nested, pa.list_(pa.list_(pa.int64()))))
