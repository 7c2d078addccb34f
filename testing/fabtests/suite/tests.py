"""Which tests there are: the lists in runfabtests.sh of the version that is run, and configurations of ours for fi_ubertest."""

import glob
import os
import re
import shlex
import subprocess
from dataclasses import dataclass

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# Each list, and how its tests are started. That of short tests is left out: the standard ones do the same and more of it.
LISTS = {
    "unit_tests": "alone",
    "neg_unit_tests": "alone",
    "regression_tests": "alone",
    "functional_tests": "pair",
    "standard_tests": "pair",
    "threaded_tests": "pair",
    "multinode_tests": "several",
}
# Three, as there.
RANKS = 3
ENODATA = 61


@dataclass
class Test:
    name: str
    # alone: one process; pair: server and client; several: RANKS equal processes; configured: fi_ubertest.
    kind: str
    words: list
    # The exit status that is right.
    status: int = 0


def version(source):
    """Of libfabric."""
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{source}/lib"}
    said = subprocess.run([f"{source}/bin/fi_info", "--version"], env=environment, capture_output=True, text=True, check=True)
    return re.search(r"libfabric: (\S+)", said.stdout)[1]


def of(source, provider):
    with open(f"{source}/bin/runfabtests.sh") as file:
        script = file.read()
    found = []
    for name, kind in LISTS.items():
        # Older versions have not all of them.
        listed = re.search(rf"^{name}=\(\s*\n(.*?)^\)", script, re.MULTILINE | re.DOTALL)
        lines = re.findall(r'^\s*"([^"]+)"', listed[1], re.MULTILINE) if listed else []
        found += [Test(line, kind, words_of(line, provider, kind), ENODATA if name.startswith("neg_") else 0) for line in lines]
    for path in sorted(glob.glob(f"{HERE}/ubertest/*")):
        found.append(Test(f"fi_ubertest {os.path.basename(path)}", "configured", ["fi_ubertest", path]))
    return found


def words_of(line, provider, kind):
    ranks = ["-n", str(RANKS)] if kind == "several" else []
    return [*shlex.split(line), *ranks, "-p", provider]
