"""Trainers with another plan than the compiler gave them, their checksums right again."""
import importlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from reference import BUILD, ROOT

MEND = os.path.join(BUILD, "bin", "mend-checksums")
PLAN = 1  # kind of a section (runtime/Container.h)


def plan_classes():
    """The classes of runtime/plan.proto, which protoc makes when they are first asked for."""
    if "plan_pb2" not in sys.modules:
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(ROOT, "runtime")
            subprocess.run(
                ["protoc", f"--proto_path={source}", f"--python_out={folder}", "plan.proto"],
                check=True,
            )
            sys.path.insert(0, folder)
            try:
                importlib.import_module("plan_pb2")
            finally:
                sys.path.remove(folder)
    return sys.modules["plan_pb2"]


def edit(trainer, edited, change):
    """Copies a trainer of one target; change(plan) changes the copy's plan."""
    with open(trainer, "rb") as file:
        content = file.read()
    table, _, count, *rest = struct.unpack("<QQII8s", content[-32:])
    sections = [list(struct.unpack_from("<IIQQQ", content, table + 32 * i)) for i in range(count)]
    with open(edited, "wb") as file:
        for section in sorted(sections, key=lambda section: section[2]):
            kind, _, offset, length, _ = section
            part = content[offset : offset + length]
            if kind == PLAN:
                plan = plan_classes().Plan.FromString(part)
                change(plan)
                part = plan.SerializeToString()
            # Sections begin with a page, and nothing but zeros is between them.
            file.write(bytes(-file.tell() % 4096))
            section[2:4] = file.tell(), len(part)
            file.write(part)
        table = file.tell()
        for section in sections:
            file.write(struct.pack("<IIQQQ", *section))
        file.write(struct.pack("<QQII8s", table, 0, count, *rest))
    shutil.copymode(trainer, edited)
    subprocess.run([MEND, edited], check=True)
    return edited
