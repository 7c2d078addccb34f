"""Tests that are left out: a line of exclude/PROVIDER is `PATTERN  reason`, with two spaces between, and `#` begins a comment.

The pattern is a regular expression that the test's whole command line has to match.
"""

import os
import re
from dataclasses import dataclass, field


@dataclass
class Reasons:
    all: list
    # Patterns that some test has matched.
    used: set = field(default_factory=set)

    @staticmethod
    def of_file(path):
        if not os.path.exists(path):
            return Reasons([])
        with open(path) as lines:
            stated = [line.strip().split("  ", 1) for line in lines if line.strip() and not line.startswith("#")]
        for words in stated:
            if len(words) < 2:
                raise SystemExit(f"run: {path}: '{words[0]}' is not 'PATTERN  reason', with two spaces between")
        return Reasons([(pattern, reason.strip()) for pattern, reason in stated])

    def of(self, name):
        """Why it is left out, or None."""
        for pattern, reason in self.all:
            if re.fullmatch(pattern, name):
                self.used.add(pattern)
                return reason
        return None
