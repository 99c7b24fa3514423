"""What the outcomes of cases are worth, by the rules of the public suite."""

KINDS = ("required", "optimal", "check")


class Scores:
    """Outcomes by id: True, or the kind and text of the failure."""

    def __init__(self, tests, outcomes):
        self.tests = tests
        self.outcomes = outcomes
        self.by_id = {test["id"]: test for test in tests}

    def reason(self, name):
        """Returns why a case does not pass; empty where it does."""
        if name not in self.outcomes:
            return "was not played"
        for dependency in self.by_id[name].get("depends_on") or []:
            if self.reason(dependency):
                return f"depends on {dependency}, which does not pass"
        outcome = self.outcomes[name]
        if outcome is True:
            return ""
        kind, text = outcome
        return f"cannot be set up: {text}" if kind == "Setup" else text

    def count(self, kind, suite=None):
        """Counts the cases of a kind: those that pass and all."""
        counted = [
            test["id"] for test in self.tests
            if test["kind"] == kind and suite in (None, test["suite"])]
        return sum(not self.reason(name) for name in counted), len(counted)

    def count_alone(self, kind):
        """Counts the cases whose own checks all hold, whatever they depend on."""
        return sum(
            test["kind"] == kind and self.outcomes.get(test["id"]) is True for test in self.tests)

    def failures(self, kind):
        """Returns the ids of a kind that do not pass, with their reasons."""
        return {
            test["id"]: self.reason(test["id"]) for test in self.tests
            if test["kind"] == kind and self.reason(test["id"])}

    def suites(self):
        return list(dict.fromkeys(test["suite"] for test in self.tests))


def table(scores_by_role):
    """Returns a table in Markdown: a line for each suite, three columns for each role."""
    roles = list(scores_by_role)
    head = ["suite"] + [f"{role} {kind}" for role in roles for kind in KINDS]
    suites = list(dict.fromkeys(
        name for scores in scores_by_role.values() for name in scores.suites()))
    rows = [[suite] + cells(scores_by_role, suite) for suite in suites]
    rows.append(["all"] + cells(scores_by_role, None))
    widths = [max(len(row[column]) for row in [head] + rows) for column in range(len(head))]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return "\n".join(line(row, widths) for row in [head, rule] + rows)


def line(row, widths):
    """Returns a line of the table: names to the left, numbers to the right."""
    padded = [row[0].ljust(widths[0])] + [
        cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
    return f"| {' | '.join(padded)} |"


def cells(scores_by_role, suite):
    """Returns the cells of a line, such as `12/13`; empty where there is no such case."""
    found = []
    for scores in scores_by_role.values():
        for kind in KINDS:
            passed, total = scores.count(kind, suite)
            found.append(f"{passed}/{total}" if total else "")
    return found
