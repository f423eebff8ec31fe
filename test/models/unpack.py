"""Unpacks a graph that is stored packed (large models, without their weights).

    unpack.py PACKED.onnx.xz MODEL.onnx
"""
import lzma
import os
import sys

os.makedirs(os.path.dirname(os.path.abspath(sys.argv[2])), exist_ok=True)
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], "wb") as model:
    model.write(packed.read())
