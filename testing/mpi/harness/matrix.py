"""What is run: each program under each library, on each number of hosts that its processes can be divided among."""

import fnmatch
import itertools
import os
from dataclasses import dataclass, field, replace

HOSTS = (1, 2, 4)

# A provider that nobody has. A library that starts all the same would use another than the one that is to be tested.
NO_PROVIDER = "nonesuch"


@dataclass
class Program:
    """One of programs/: how many processes it takes in all, and after how many seconds it counts as hanging."""

    name: str
    ranks: int
    seconds: int = 40
    # What it is called with, each a case of its own.
    arguments: tuple = ("",)
    # It has to fail, and this is how.
    told: str = ""
    # The launcher lets the others go on, and MPI itself has to tell them so.
    told_by_mpi: str = ""
    # Which rank has not BCL's collectives, or `all` have them; without a word, none has. Each is a case of its own.
    collectives: tuple = ("",)


# A rank is killed in each phase of a job. Either MPI tells another, or the launcher has ended all before.
KILLED = ("first-message", "posted", "short", "long", "long-back", "collectives", "window")
TOLD = r"was told: |Fatal error in |signal 9|BAD TERMINATION|BTL OFI will now abort"
# Where the others outlive it: an error of MPI in the call that waits, which names the rank if the call does, and the provider's
# sentence, which names host, process and cause.
TOLD_BY_MPI = r"(?s)(?=.*(was told: |Fatal error in ))(?=.*(the peer is gone|nobody has this port open))"
TOLD_BY_US = r"(?s)(?=.*(was told: |Fatal error in ))(?=.*member [23] (of the team )?has ended)"
# Whose launcher can: on one host it ends all together even then.
OUTLIVES = ("mpich", "impi")

# What those who have BCL's collectives say at their end: they did all barriers, or none.
TAKEN = r"barriers [1-9]\d*, by the library \d+; broadcasts [1-9]"
LEFT = r"barriers 0, by the library [1-9]\d*; broadcasts 0"

PROGRAMS = (
    Program("pingpong", 2),
    Program("headtohead", 2),
    Program("ssend", 2),
    Program("unexpected", 2, seconds=90),
    Program("late", 2),
    Program("truncate", 2),
    Program("noroom", 2, seconds=10),
    Program("datatypes", 2),
    Program("cancel", 2),
    Program("probe", 2),
    Program("threads", 2, seconds=90),
    Program("forked", 2),
    Program("storm", 4, seconds=90),
    Program("collectives", 4, seconds=90),
    Program("rma", 4, seconds=90),
    Program("atomics", 4, seconds=90),
    Program("large", 2, seconds=90),
    Program("killed", 4, arguments=KILLED, told=TOLD, told_by_mpi=TOLD_BY_MPI),
    Program("alike", 4, seconds=90, collectives=("all", "0", "2")),
    Program("meanwhile", 4, collectives=("", "all")),
    Program("crowd", 4, seconds=90, collectives=("", "all")),
    Program("collectives", 4, seconds=90, collectives=("all",)),
    Program("killed", 4, arguments=("collectives",), told=TOLD, told_by_mpi=TOLD_BY_US, collectives=("all",)),
)


@dataclass
class Case:
    """One run of `with`, and whether it has to succeed."""

    mpi: str
    name: str
    hosts: int
    each: int
    seconds: int
    command: list
    provider: str = None
    has_to_fail: bool = False
    environment: dict = field(default_factory=dict)
    outlives: bool = False
    # What the program has to have written for its exit status to be believed, a regular expression.
    proof: str = ""
    watched: str = ""
    collectives: str = ""


@dataclass
class Choice:
    """What MPI, HOSTS and PROGRAM of the environment leave."""

    mpi: list
    hosts: list
    program: list

    @staticmethod
    def of_environment():
        return Choice(*(os.environ.get(name, "").split(",") for name in ("MPI", "HOSTS", "PROGRAM")))

    def names(self, names):
        return [name for name in names if fits(name, self.mpi)]

    def programs(self):
        return [program for program in PROGRAMS if fits(program.name, self.program)]

    def host_counts(self, ranks):
        return [hosts for hosts in HOSTS if hosts <= ranks and fits(str(hosts), self.hosts)]


def fits(name, patterns):
    return patterns == [""] or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def cases(built, names, choice):
    """`built` has the path of each program for each library."""
    found = []
    for name in names:
        for hosts in choice.host_counts(1) if fits(NO_PROVIDER, choice.program) else []:
            path = built[name, PROGRAMS[0].name]
            found.append(Case(name, NO_PROVIDER, hosts, 2, 60, [path], provider=NO_PROVIDER, has_to_fail=True))
        for program in choice.programs():
            variants = itertools.product(choice.host_counts(program.ranks), program.arguments, program.collectives)
            for hosts, argument, without in variants:
                words = argument.split()
                command = [built[name, program.name], *words]
                named = "-".join([program.name, *words, *collectives_of(without)])
                case = Case(name, named, hosts, program.ranks // hosts, program.seconds, command, collectives=without)
                found.append(replace(case, has_to_fail=bool(program.told), proof=program.told or proof_of(without)))
                if program.told_by_mpi and hosts > 1 and name.startswith(OUTLIVES):
                    told = replace(case, name=f"{case.name}-told", outlives=True)
                    found.append(replace(told, has_to_fail=True, proof=program.told_by_mpi))
    return found


def collectives_of(without):
    """How a case is called by who has BCL's collectives."""
    return ["coll"] if without == "all" else ["coll-but", without] if without else []


def proof_of(without):
    return TAKEN if without == "all" else LEFT if without else ""
