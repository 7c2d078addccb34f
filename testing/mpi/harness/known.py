"""Failures that a provider is known to have: no news when they happen, news when they do not.

A line of known/PROVIDER is `MPI PROGRAM HOSTS reason`; the first three are patterns, `#` begins a comment.
"""

import os
from dataclasses import dataclass

from harness import matrix


@dataclass
class Failure:
    mpi: str
    program: str
    hosts: str
    reason: str

    def is_of(self, case):
        pairs = ((case.mpi, self.mpi), (case.name, self.program), (str(case.hosts), self.hosts))
        return all(matrix.fits(name, [pattern]) for name, pattern in pairs)


@dataclass
class Failures:
    all: list

    @staticmethod
    def of_provider(path):
        if not os.path.exists(path):
            return Failures([])
        with open(path) as lines:
            stated = [line.split(maxsplit=3) for line in lines if line.strip() and not line.startswith("#")]
        for words in stated:
            if len(words) < 4:
                raise SystemExit(f"run: {path}: '{' '.join(words)}' is not 'MPI PROGRAM HOSTS reason'")
        return Failures([Failure(*words[:3], words[3].strip()) for words in stated])

    def reason(self, case):
        """Why this case fails, or None."""
        return next((failure.reason for failure in self.all if failure.is_of(case)), None)
