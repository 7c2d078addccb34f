"""Hosts on one machine for MPI: each has a network, a name, processes, shared memory and temporary files of its own.

`isolated` moves a command into a world that ends with it, whatever it started or mounted there, and in that world `Hosts`
makes the hosts. Nothing is ever removed by hand, so nothing is left when it is killed.
"""

import ctypes
import os
import signal
import subprocess

# Free in a network that has nothing yet; the block from which all hosts in this repository have their addresses.
NETWORK = "10.77.0"
LOGIN = 254

PR_SET_PDEATHSIG = 1


def isolated(command):
    """Runs a command in namespaces of its own, and returns its exit status. It ends with this process, however that ends."""
    apart = ["unshare", "--net", "--mount", "--ipc", "--uts", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--"]
    child = subprocess.Popen(apart + command, preexec_fn=die_with_parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What unshare waits for is the first process of its kind: with it all others go.
        signal.signal(number, lambda number, _: child.kill())
    status = child.wait()
    return 130 if status == -signal.SIGKILL else status


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Hosts:
    """host1, host2, ... around a bridge, and the calling process at its own port of it, as on a login node. With `cable`, two of
    them have nothing but a cable between them, as the hosts of benches/ have, and launchers run in the network of the first."""

    def __init__(self, count, mtu=1500, cable=False, loss_percent=0):
        self.names = [f"host{number}" for number in range(1, count + 1)]
        run("mount -t tmpfs none /run")
        with open("/run/hosts", "w") as names:
            names.write(f"127.0.0.1 localhost\n{NETWORK}.{1 if cable else LOGIN} login\n")
            names.writelines(f"{NETWORK}.{number} {name}\n" for number, name in enumerate(self.names, 1))
        run("mount --bind /run/hosts /etc/hosts")
        run("hostname login")
        run("ip link set lo up")
        self.holders = [make_host(name) for name in self.names]
        if cable:
            first, second = self.holders
            run(f"ip link add eth0 mtu {mtu} netns {first} type veth peer name eth0 mtu {mtu} netns {second}")
        else:
            switch(self.names, self.holders, mtu)
        for number, holder in enumerate(self.holders, 1):
            # Programs ask the default route which of their interfaces is the one that others reach.
            configure(holder, number, "dev eth0" if cable else f"via {NETWORK}.{LOGIN}")
            if loss_percent > 0:
                lose(holder, loss_percent)
        self.launcher = on_network_of(self.holders[0]) if cable else []

    def environment(self):
        """What `rsh` has to know, and where programs put files: each host has its own there."""
        pairs = (f"{name}={pid}" for name, pid in zip(self.names, self.holders))
        return {"MPI_TEST_HOSTS": " ".join(pairs), "TMPDIR": "/run"}


def make_host(name):
    """The process that holds the namespaces of a host, as seen from here."""
    own = f"mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && hostname {name} && ip link set lo up"
    ready = f"{own} && echo && exec sleep infinity"
    apart = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    parent = subprocess.Popen(apart + ["--", "sh", "-c", ready], stdout=subprocess.PIPE)
    if not parent.stdout.readline():
        raise SystemExit(f"with: {name} could not be made; what was missing stands above")
    with open(f"/proc/{parent.pid}/task/{parent.pid}/children") as children:
        return int(children.read())


def switch(names, holders, mtu):
    """A bridge with a cable to each host, and the calling process at it."""
    run("ip link add bridge type bridge")
    run(f"ip address add {NETWORK}.{LOGIN}/24 dev bridge")
    run("ip link set bridge up")
    for name, holder in zip(names, holders):
        run(f"ip link add to-{name} mtu {mtu} master bridge type veth peer name eth0 mtu {mtu} netns {holder}")
        run(f"ip link set to-{name} up")


def lose(holder, percent):
    """So many of the packets that come to a host are lost; each by itself, for what would come as one is cut before."""
    inside = " ".join(on_network_of(holder))
    run(f"{inside} ip link set eth0 gso_max_segs 1")
    run(f"{inside} nft add table ip faults")
    run(f"{inside} nft add chain ip faults in {{ type filter hook input priority 0 ; }}")
    run(f"{inside} nft add rule ip faults in iifname eth0 numgen random mod 10000 < {round(percent * 100)} counter drop")


def configure(holder, number, way_out):
    inside = " ".join(on_network_of(holder)) + " ip"
    run(f"{inside} address add {NETWORK}.{number}/24 dev eth0")
    run(f"{inside} link set eth0 up")
    run(f"{inside} route add default {way_out}")


def on_network_of(holder):
    """The words that run a command there."""
    return ["nsenter", "--target", str(holder), "--net"]


def run(line):
    subprocess.run(line.split(), check=True)
