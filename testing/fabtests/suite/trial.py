"""Runs one test, on one host or two, and tells what came of it."""

import os
import re
import subprocess
import time
from dataclasses import dataclass

from harness import hosts
from suite import tests

SECONDS = 120
# For the others, once one has failed.
PATIENCE_SECONDS = 5
# Of servers, whose clients of old versions call it although they are told names. That of fabtests, 9228, is none that bcl reaches
# from other hosts.
PORT = "4228"
LISTENING = "0A"
NOT_RUN = {38: "ENOSYS", 61: "ENODATA", 95: "EOPNOTSUPP"}
TOLD_LINES = 30


@dataclass
class Field:
    """Where tests run."""

    source: str
    # Of libfabric.
    version: str
    provider: str
    # A process of each host.
    holders: list
    log: str
    # What tests find in their environment, besides where they are.
    settings: dict


@dataclass
class Outcome:
    test: tests.Test
    hosts: int
    # passed, FAILED, HUNG, excluded
    verdict: str
    seconds: float
    reason: str = ""


def of(field, test, count, reason):
    if reason:
        return Outcome(test, count, "excluded", 0.0, reason)
    if count > 1 and test.kind == "alone":
        return Outcome(test, count, "excluded", 0.0, "a test of one process")
    log = f"{field.log}/{re.sub('[^A-Za-z0-9_.-]+', '-', test.name)}-{count}"
    os.makedirs(field.log, exist_ok=True)
    begin = time.monotonic()
    with open(log, "w") as file:
        statuses = run(field, test, count, file)
    seconds = time.monotonic() - begin
    with open(log, errors="replace") as file:
        said = file.read()
    verdict, why = judge(test, statuses, said)
    print(f"{verdict:8} {test.name:60} {count} host{'s'[:count > 1]} {seconds:6.1f} s", flush=True)
    if verdict != "passed":
        told = "".join(f"    {line}\n" for line in said.splitlines()[-TOLD_LINES:])
        print(f"{told}    ({why}; all of it: {log})", flush=True)
    return Outcome(test, count, verdict, seconds, why)


def run(field, test, count, log):
    """The exit status of each process, None for one that had to be ended."""
    server, client = field.holders[0], field.holders[count - 1]
    begun = []
    until = time.monotonic() + SECONDS
    try:
        for number, words in enumerate(command_lines(field, test, count)):
            if number == 1:
                await_server(server, until)
            begun.append(start(field, client if number else server, words, log))
            if number > 1:
                time.sleep(0.05)
        # The clients first: a server whose client has failed may wait for ever.
        statuses = []
        for process in reversed(begun):
            statuses.append(end(process, until))
            if statuses[-1] != test.status:
                until = min(until, time.monotonic() + PATIENCE_SECONDS)
    finally:
        for process in begun:
            process.kill()
    return statuses


def command_lines(field, test, count):
    own, client = f"{hosts.NETWORK}.1", f"{hosts.NETWORK}.{count}"
    match test.kind:
        case "alone":
            return [[{"SERVER_ADDR": own, "GOOD_ADDR": own}.get(word, word) for word in test.words]]
        case "pair":
            return [[*test.words, "-E", "-B", PORT], [*test.words, "-E", "-s", client, "-P", PORT, own]]
        case "several":
            # Later ones have no such option, and no client that would call a port by its number.
            port = ["-B", PORT] if field.version.startswith("1.") else []
            return [[*test.words, *port, "-s", own]] * tests.RANKS
        case "configured":
            program, path = test.words
            return [[program, "-x", "-E"], [program, "-u", path, "-E", own]]


def await_server(holder, until):
    """Until something listens; who starts without listening has a second."""
    until = min(until, time.monotonic() + 1)
    while time.monotonic() < until:
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{holder}/net/{table}") as sockets:
                if any(line.split()[3] == LISTENING for line in list(sockets)[1:]):
                    return
        time.sleep(0.01)


def start(field, holder, words, log):
    program, *arguments = words
    inside = ["nsenter", "--target", str(holder), "--net", "--uts", "--ipc", "--mount", "--pid", "--wd=/", "--"]
    # nsenter is its parent: what is killed with it would else stay, and keep its port.
    inside += ["setpriv", "--pdeathsig", "KILL", "--"]
    environment = {**os.environ, **field.settings, "LD_LIBRARY_PATH": f"{field.source}/lib", "BCL_DIR": "/run/ports", "TMPDIR": "/run"}
    command = [*inside, f"{field.source}/bin/{program}", *arguments]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, preexec_fn=hosts.die_with_parent)


def end(process, until):
    try:
        return process.wait(timeout=max(until - time.monotonic(), 2))
    except subprocess.TimeoutExpired:
        return None


def judge(test, statuses, said):
    wrong = [status for status in statuses if status != test.status]
    if wrong:
        if all(status is None for status in wrong):
            return "HUNG", f"it still ran after {SECONDS} s"
        status = next(status for status in wrong if status is not None)
        return "FAILED", f"exit status {status}{' ' + NOT_RUN[status] if status in NOT_RUN else ''}"
    # Some exit with the low eight bits of an error, which may be zero.
    told = re.search(r"ret=-\d+ .*", said)
    if test.status == 0 and told:
        return "FAILED", f"all processes exited with 0, but one said {told[0]}"
    if test.kind == "configured":
        return judge_configured(said)
    return "passed", ""


def judge_configured(said):
    """fi_ubertest counts its cases itself."""
    count = {name: int(number) for name, number in re.findall(r"^(Success|ENODATA|ENOSYS|ERROR): *(\d+)", said, re.MULTILINE)}
    if count.get("Success", 0) == 0 or count.get("ERROR", 0) + count.get("ENOSYS", 0) > 0:
        return "FAILED", f"of its cases: {count}"
    return "passed", f"{count['Success']} cases" + (f", {count['ENODATA']} do not apply" if count.get("ENODATA") else "")
