"""Runs cases, one after the other, and tells what came of them."""

import os
import re
import subprocess
import time
from dataclasses import dataclass

from harness import hosts, matrix

WITH = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "with")
HUNG = 124
TOLD_LINES = 40


@dataclass
class Outcome:
    case: matrix.Case
    # passed, FAILED, HUNG; known, of a failure with a reason; passes, where a failure is known.
    verdict: str
    seconds: float


def of(case, folder, provider, expected):
    """Runs a case and says in a line what came of it, and more if it is news."""
    log = f"{folder}/log/{provider}-{case.mpi}-{case.name}-{case.hosts}"
    os.makedirs(os.path.dirname(log), exist_ok=True)
    begin = time.monotonic()
    open(log, "w").close()
    # Its processes write to it too (programs/check.h).
    with open(log, "a") as file:
        status = run(case, folder, provider, file)
    seconds = time.monotonic() - begin
    with open(log, errors="replace") as file:
        said = file.read().replace("\0", "")
    verdict, reason = judge(case, status, said), expected.reason(case)
    if reason:
        verdict = "passes" if verdict == "passed" else "known"
    print(f"{verdict:8} {case.mpi:22} {case.name:16} {case.hosts} host{'s'[:case.hosts > 1]} {seconds:6.1f} s", flush=True)
    if verdict in ("FAILED", "HUNG"):
        told = "".join(f"    {line}\n" for line in said.splitlines()[-TOLD_LINES:])
        print(f"{told}    (exit status {status}; all of it: {log})", flush=True)
    elif reason:
        print(f"    {'known to fail, but did not' if verdict == 'passes' else 'known'}: {reason}", flush=True)
    return Outcome(case, verdict, seconds)


def run(case, folder, provider, log):
    command = [
        WITH, "--folder", folder, "--mpi", case.mpi, "--provider", case.provider or provider,
        "--loss", os.environ.get("LOSS") or "0", "--hosts", str(case.hosts), "--each", str(case.each), "--seconds", str(case.seconds),
        *(["--outlive"] if case.outlives else []), *(["--collectives", case.collectives] if case.collectives else []), *(["--watched", case.watched] if case.watched else []), *case.command,
    ]
    environment = {**os.environ, "MPI_TEST_LOG": log.name, **case.environment}
    return subprocess.run(
        command, stdout=log, stderr=subprocess.STDOUT, env=environment, preexec_fn=hosts.die_with_parent
    ).returncode


def judge(case, status, said):
    if status == HUNG:
        return "HUNG"
    has_ended_so = (status != 0) == case.has_to_fail and "WRONG" not in said
    return "passed" if has_ended_so and re.search(case.proof, said) else "FAILED"


def table(outcomes):
    """A line for each program and number of hosts, a column for each library; how long each took if it passed."""
    names = list(dict.fromkeys(outcome.case.mpi for outcome in outcomes))
    lines = list(dict.fromkeys((outcome.case.name, outcome.case.hosts) for outcome in outcomes))
    cells = {(one.case.name, one.case.hosts, one.case.mpi): cell(one) for one in outcomes}
    head = f"\n{'program':16} hosts" + "".join(f"{name:>22}" for name in names)
    body = [
        f"{name:16} {hosts:5}" + "".join(f"{cells.get((name, hosts, mpi), '-'):>22}" for mpi in names)
        for name, hosts in lines
    ]
    totals = (sum(one.seconds for one in outcomes if one.case.mpi == mpi) for mpi in names)
    return "\n".join([head, *body, f"{'in all':22}" + "".join(f"{f'{total:.0f} s':>22}" for total in totals)])


def cell(outcome):
    return f"{outcome.seconds:.1f} s" if outcome.verdict == "passed" else outcome.verdict


def summary(outcomes):
    """The last lines, and the exit status."""
    count = lambda *verdicts: sum(one.verdict in verdicts for one in outcomes)  # noqa: E731
    for verdict, meaning in (("known", "failed as they are known to"), ("passes", "passed though they are known to fail")):
        if count(verdict):
            print(f"{count(verdict)} {meaning}")
    failed = count("FAILED", "HUNG")
    print(f"{count('passed', 'passes')} passed, {failed} failed")
    return 1 if failed else 0
