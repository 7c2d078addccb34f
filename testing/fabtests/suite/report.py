"""What came of all tests: a table to read, one to keep, and the line at the end."""


def rows(outcomes):
    """Each test once, with its outcome by number of hosts."""
    found = {}
    for outcome in outcomes:
        found.setdefault(outcome.test.name, {})[outcome.hosts] = outcome
    return found


def cell(outcome):
    if outcome is None or (outcome.verdict == "excluded" and outcome.test.kind == "alone" and outcome.hosts > 1):
        return "-"
    return f"passed, {outcome.reason}" if outcome.verdict == "passed" and outcome.reason else outcome.verdict


def table(outcomes):
    counts = sorted({outcome.hosts for outcome in outcomes})
    head = f"\n{'test':62}" + "".join(f"{f'{count} host' + 's'[:count > 1]:>12}" for count in counts)
    body = [
        f"{name:62}" + "".join(f"{cell(of_test.get(count)).split(',')[0]:>12}" for count in counts)
        for name, of_test in rows(outcomes).items()
    ]
    return "\n".join([head, *body])


def markdown(version, provider, outcomes):
    counts = sorted({outcome.hosts for outcome in outcomes})
    names = " | ".join(f"{count} host{'s'[:count > 1]}" for count in counts)
    lines = [f"# fabtests of libfabric {version} on {provider}", "", f"| test | {names} | why not |", "|---|" + "---|" * (len(counts) + 1)]
    for name, of_test in rows(outcomes).items():
        reason = next((one.reason for one in of_test.values() if one.verdict != "passed" and cell(one) != "-"), "")
        cells = " | ".join(cell(of_test.get(count)) for count in counts)
        lines.append(f"| `{name}` | {cells} | {reason} |")
    passed, failed, left_out = totals(outcomes)
    return "\n".join([*lines, "", f"{passed} passed, {failed} failed, {left_out} left out.", ""])


def totals(outcomes):
    passed = sum(outcome.verdict == "passed" for outcome in outcomes)
    left_out = sum(outcome.verdict == "excluded" and cell(outcome) != "-" for outcome in outcomes)
    failed = sum(outcome.verdict in ("FAILED", "HUNG") for outcome in outcomes)
    return passed, failed, left_out


def summary(outcomes, reasons):
    passed, failed, left_out = totals(outcomes)
    print(f"\n{left_out} left out, for the reasons in exclude/ ({len(reasons.used)} of its {len(reasons.all)} lines)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
