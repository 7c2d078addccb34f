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


def mpi4py(folder, name, hosts):
    if hosts > 2:
        return []
    tests = f"{folder}/mpi4py-4.1.2/test/main.py"
    command = [f"{folder}/{name}/bin/python", tests, *(word for left_out in NOT_OF_MPI4PY for word in ("-x", left_out))]
    return [matrix.Case(name, "mpi4py", hosts, 2 // hosts, 2 * SECONDS, command, proof=r"(?m)^OK", watched=tests)]


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
