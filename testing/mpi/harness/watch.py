"""Bounds the time of a launched program, and tells what each of its processes was doing when it hung."""

import os
import shutil
import signal
import subprocess
import time

TOLD_WITHIN_S = 2


def bounded(command, environment, seconds, program):
    """Runs a launcher, and returns its exit status, or None if it had to be ended; then it has been said who hung where."""
    launcher = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
    try:
        return launcher.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        ranks = processes_of(program)
        print(f"with: after {seconds} s it still runs: {len(ranks)} processes of {program}", flush=True)
        for pid in ranks:
            describe(pid)
        return None


def processes_of(program):
    """By their command line: who reads a program by way of an interpreter has it as an argument."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = read(f"/proc/{pid}/cmdline").split("\0")
        executed = os.path.basename(words[0])
        if words[0] == program or (program in words[:2] and executed.startswith("python")):
            found.append(int(pid))
    return sorted(found)


def describe(pid):
    """What the kernel knows, what the program says of itself (programs/check.h), and the stacks, where there is a debugger."""
    print(f"-- process {pid} on {host_of(pid)}", flush=True)
    for thread in threads_of(pid):
        task = f"/proc/{pid}/task/{thread}"
        state = read(f"{task}/stat").rpartition(")")[2].split()
        if state:
            where = read(f"{task}/wchan").replace("0", "") or "no call"
            print(f"   thread {thread} {read(f'{task}/comm').strip()}: state {state[0]}, waits in {where}", flush=True)
    if debugger := shutil.which("gdb"):
        ask = [debugger, "-batch", "-p", str(pid), "-ex", "thread apply all backtrace 16"]
        said = subprocess.run(ask, capture_output=True, text=True, timeout=60).stdout
        print("\n".join(f"   {line}" for line in said.splitlines() if line.startswith(("Thread", "#"))), flush=True)
    if catches(pid, signal.SIGUSR1):
        os.kill(pid, signal.SIGUSR1)
        time.sleep(TOLD_WITHIN_S)


def threads_of(pid):
    """None, if it has ended meanwhile."""
    try:
        return sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except FileNotFoundError:
        return []


def catches(pid, number):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def host_of(pid):
    """Its name lies in its namespace, which a short visit asks for."""
    asked = subprocess.run(["nsenter", "--target", str(pid), "--uts", "hostname"], capture_output=True, text=True)
    return asked.stdout.strip() or "a host that is gone"


def read(path):
    """What a process has left behind meanwhile is empty."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""
