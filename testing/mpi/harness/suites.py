"""Programs of others as cases: Intel's benchmarks, mpi4py's tests, NetPIPE, the HPC Challenge with Linpack."""

import os
import shutil
import sys

from harness import matrix

HPCC = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "hpcc")
RANKS = 4
SECONDS = 300

# Each benchmark with lengths up to 256 KiB, a fifth of a second for each length. They check nothing of what they move.
IMB = "-npmin 4 -time 0.2 -iter 100 -msglog 0:18".split()
# It is linked with the interface that MPICH and Intel's library have in common.
IMB_LIBRARIES = ("impi-2021.18.1", "mpich-4.3.2", "mpich-5.0.2")
DEBIAN = "debian-openmpi-4.1.4"


def cases(folder, names, choice, wanted):
    makers = {"imb": imb, "mpi4py": mpi4py, "netpipe": netpipe, "hpcc": hpcc}
    if unknown := set(wanted) - set(makers):
        sys.exit(f"run: SUITE has {', '.join(sorted(unknown))}, and there are {', '.join(makers)}")
    found = []
    for suite in wanted:
        for name in names:
            for hosts in choice.host_counts(RANKS):
                found += makers[suite](folder, name, hosts)
    return [case for case in found if matrix.fits(case.name, choice.program)]


def imb(folder, name, hosts):
    if name not in IMB_LIBRARIES:
        return []
    # Their own search path would lead to Intel's library.
    found = {"LD_LIBRARY_PATH": f"{folder}/{name}/lib"}
    return [
        matrix.Case(name, program, hosts, RANKS // hosts, SECONDS, [f"{folder}/impi-2021.18.1/bin/{program}", *IMB],
                    environment=found, proof="All processes entering MPI_Finalize")
        for program in ("IMB-MPI1", "IMB-RMA", "IMB-NBC")
    ]


# Starting processes and connecting to strangers; MPI-IO, for hosts here have no file system in common; Fortran.
NOT_OF_MPI4PY = ("test_spawn", "test_dynproc", "test_io", "test_mpiabi")

# What fails for reasons of others, now and then or always: whose, on so many hosts and more, and which module. On tcp as well, but the last.
NOT_UNDER = (
    # MPI_Dist_graph_create probes for any message and then receives any, which it takes for the same one. If another rank's is there
    # before a rank sends its own to itself, MPICH probes that first and receives its own first. On tcp that is rarer.
    ("mpich", 1, "test_comm_topo"),
    # mpi4py's locks count on it that what a rank accumulates into its own window comes before what another does later, without a flush
    # between. MPICH does not keep to that where the window is not in memory that ranks share, nor has it to. So it does
    # on tcp, where these locks have not been seen to hang.
    ("mpich", 1, "test_util_sync"),
    # It revokes communicators only on its own layer for messages (ob1), which uses no libfabric.
    ("openmpi-5", 1, "test_ulfm"),
    # A send that is canceled and met by no receive never ends: on tcp as well. Of four ranks, some cannot cancel theirs.
    ("openmpi-4", 1, "test_p2p_obj"),
    ("openmpi-4", 1, "test_p2p_buf"),
    # It aborts if a product is accumulated: its btl/ofi is handed an operation that it does not know. On tcp windows do not use that.
    ("openmpi-4", 1, "test_rma"),
    # It acknowledges no synchronous send that is received after a matched probe.
    ("openmpi-4", 1, "test_util_pkl5"),
    # TestCCOBufInplaceWorld.testReduceScatter: a wrong sum, after which the other ranks wait for the one that has failed.
    ("impi", 2, "test_cco_buf"),
    # A dynamic window has a length of -1 where the provider has one-sided operations, as in MPICH before 4.0: on tcp they are not used.
    ("impi", 1, "test_win"),
)
# What of the last module has no dynamic window.
WINDOWS = "-i test_win -k TestWinNull -k TestWinCreateSelf -k TestWinCreateWorld -k TestWinAllocate".split()


def cases(folder, names, choice, wanted):
    makers = {"imb": imb, "mpi4py": mpi4py, "netpipe": netpipe, "hpcc": hpcc}
    if unknown := set(wanted) - set(makers):
        sys.exit(f"run: SUITE has {', '.join(sorted(unknown))}, and there are {', '.join(makers)}")
    found = []
    for suite in wanted:
        for name in names:
            for hosts in choice.host_counts(RANKS):
                found += makers[suite](folder, name, hosts)
    return [case for case in found if matrix.fits(case.name, choice.program)]


def imb(folder, name, hosts):
    if name not in IMB_LIBRARIES:
        return []
    # Their own search path would lead to Intel's library.
    found = {"LD_LIBRARY_PATH": f"{folder}/{name}/lib"}
    return [
        matrix.Case(name, program, hosts, RANKS // hosts, SECONDS, [f"{folder}/impi-2021.18.1/bin/{program}", *IMB],
                    environment=found, proof="All processes entering MPI_Finalize")
        for program in ("IMB-MPI1", "IMB-RMA", "IMB-NBC")
    ]


# Starting processes and connecting to strangers; MPI-IO, for hosts here have no file system in common; Fortran.
NOT_OF_MPI4PY = ("test_spawn", "test_dynproc", "test_io", "test_mpiabi")
# MPICH's MPI_Dist_graph_create probes for any message and then receives any, which it takes for the same one. If another rank's is
# there before it sends its own to itself, MPICH probes that first and receives its own first: on tcp as well, where that is rarer.
NOT_OF_MPICH = ("test_comm_topo",)


def mpi4py(folder, name, hosts):
    if hosts > 2:
        return []
    left_out = NOT_OF_MPI4PY + tuple(module for whose, least, module in NOT_UNDER if name.startswith(whose) and hosts >= least)
    parts = {"mpi4py": [word for module in left_out for word in ("-x", module)]}
    if "test_win" in left_out:
        parts["mpi4py-windows"] = WINDOWS
    tests = f"{folder}/mpi4py-4.1.2/test/main.py"
    command = [f"{folder}/{name}/bin/python", tests]
    return [
        matrix.Case(name, f"{part}-{ranks}", hosts, ranks // hosts, 2 * SECONDS, [*command, *words], proof=r"(?m)^OK", watched=tests)
        for part, words in parts.items() for ranks in (2, 4)
    ]


def netpipe(_folder, name, hosts):
    if name != DEBIAN or hosts > 2:
        return []
    checks = [installed("NPopenmpi"), "-i", "-u", "1048576", "-o", "/run/np.out"]
    return [matrix.Case(name, "netpipe", hosts, 2 // hosts, SECONDS, checks, proof="(?i)integrity check passed")]


def hpcc(_folder, name, hosts):
    if name != DEBIAN:
        return []
    program = installed("hpcc")
    return [matrix.Case(name, "hpcc", hosts, RANKS // hosts, SECONDS, [HPCC, program], proof="(?m)^Success=1", watched=program)]


def installed(program):
    return shutil.which(program) or sys.exit(f"run: there is no {program}: scripts/bootstrap.sh mpi installs it")
