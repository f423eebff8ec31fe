"""The compiler's programs, which the wheel has beside this file."""
import os
import shutil
import sys

INSTALLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "installed", "bin")


class Error(Exception):
    """What a user can mend; its text is for them."""


def find(name):
    """The path of a program: this package's, else the one that PATH leads to, as in a build."""
    path = os.path.join(INSTALLED, name)
    if os.path.exists(path):
        return path
    # The console script that has started this may be the one that PATH leads to.
    here = os.path.realpath(sys.argv[0])
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which(name, path=folder) if folder else None
        if found and os.path.realpath(found) != here:
            return found
    raise Error(f"there is no program '{name}': neither in this package nor in PATH")


def replace_process(name, arguments):
    """Goes on as the program, with its exit code."""
    path = find(name)
    os.execv(path, [name, *arguments])
