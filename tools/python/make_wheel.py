#!/usr/bin/env python3
"""Packs the Python package and what `cmake --install` puts into a folder into one wheel.

    make_wheel.py BUILD -o FOLDER

The programs bring their shared libraries, as the .tar.zst of `./dev package` does, and need glibc
2.36 alone. Equal contents are an equal file: entries are in order and have no times.
"""
import argparse
import base64
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
# The glibc of Debian 12 (PEP 600).
TAG = f"py3-none-manylinux_2_36_{platform.machine()}"
PACKAGE, INSTALLED = "shardc", "shardc/installed"
# What users of the Python package run; shardc-opt and the language server are for developers.
LEFT_OUT = ("shardc-opt", "shardc-lsp-server")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that zip has


def install(build, folder):
    for component in ("Unspecified", "libraries"):
        words = ["cmake", "--install", build, "--prefix", folder, "--strip"]
        subprocess.run(words + ["--component", component], check=True, stdout=subprocess.DEVNULL)
    for name in LEFT_OUT:
        os.remove(os.path.join(folder, "bin", name))
    shutil.rmtree(os.path.join(folder, "share", "doc", "shardc", "docs"), ignore_errors=True)


def metadata(project, requirements):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"License: {project['license']['text']}"]
    lines += [f"Requires-Dist: {each}" for each in project["dependencies"]]
    for extra, needed in requirements.items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {each}; extra == "{extra}"' for each in needed]
    with open(os.path.join(ROOT, project["readme"])) as file:
        text = file.read()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", text])


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.record = []

    def add(self, name, content, is_executable=False):
        entry = zipfile.ZipInfo(name, EPOCH)
        mode = stat.S_IFREG | (0o755 if is_executable else 0o644)
        entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def add_folder(self, folder, prefix):
        for at, folders, names in os.walk(folder):
            folders[:] = sorted(each for each in folders if each != "__pycache__")
            for name in sorted(names):
                path = os.path.join(at, name)
                with open(path, "rb") as file:
                    content = file.read()
                where = os.path.join(prefix, os.path.relpath(path, folder))
                self.add(where, content, os.access(path, os.X_OK))

    def close(self, info):
        self.record.append(f"{info}/RECORD,,")
        entry = zipfile.ZipInfo(f"{info}/RECORD", EPOCH)
        entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, "\n".join(self.record) + "\n")
        self.zip.close()


def main():
    parser = argparse.ArgumentParser(
        prog="./dev wheel",
        description=__doc__.splitlines()[0],
        epilog=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("build", help="the folder that CMake built into")
    parser.add_argument("-o", "--output", required=True, help="the folder of the wheel")
    args = parser.parse_args()
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    os.makedirs(args.output, exist_ok=True)
    name = f"{PACKAGE}-{project['version']}-{TAG}.whl"
    path, info = os.path.join(args.output, name), f"{PACKAGE}-{project['version']}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        install(args.build, folder)
        wheel = Wheel(path + ".new")
        wheel.add_folder(os.path.join(HERE, PACKAGE), PACKAGE)
        wheel.add_folder(folder, INSTALLED)
    scripts = "".join(f"{n} = {f}\n" for n, f in sorted(project["scripts"].items()))
    texts = {
        "METADATA": metadata(project, project["optional-dependencies"]),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: shardc\nRoot-Is-Purelib: false\nTag: {TAG}\n",
        "entry_points.txt": "[console_scripts]\n" + scripts,
    }
    for each, text in texts.items():
        wheel.add(f"{info}/{each}", text.encode())
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        wheel.add(f"{info}/LICENSE", file.read())
    wheel.close(info)
    os.replace(path + ".new", path)
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
