"""Builds programs/ with the compiler wrapper of each library."""

import glob
import os
import subprocess
import sys

from harness import matrix

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "programs")
FLAGS = "-std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread".split()


def programs(folder, names, choice):
    """The path of each program that is chosen, and of the first one, by (library, name)."""
    wanted = {program.name for program in [matrix.PROGRAMS[0], *choice.programs()]}
    return {(name, program): one(folder, name, program) for name in names for program in sorted(wanted)}


def one(folder, name, program):
    source, path = f"{SOURCES}/{program}.c", f"{folder}/programs/{name}/{program}"
    marker = f"{folder}/{name}/installed"
    if not os.path.exists(marker):
        sys.exit(f"run: there is no {name} in {folder}: testing/mpi/install {folder}")
    newest = max(map(os.path.getmtime, [source, marker, *glob.glob(f"{SOURCES}/*.h")]))
    if os.path.exists(path) and os.path.getmtime(path) > newest:
        return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # Intel's wrapper knows where it is only by this.
    environment = {**os.environ, "I_MPI_ROOT": f"{folder}/{name}"}
    if subprocess.run([f"{folder}/{name}/bin/mpicc", *FLAGS, source, "-o", path], env=environment).returncode != 0:
        sys.exit(f"run: {source} does not build under {name}")
    return path
