"""Reads cases: the public suite's data, and our own families in the same form. Additions to it:

for_each            a case for each combination of its values
expected_type       also `failed`: neither store nor origin answers
origin_requests     how many requests the origin must have seen
expected_response_values_missing    a field must not have this value
pause_after         in seconds
may_retry           the origin may see a request twice
in_process          played in process only
proxy_only          played over loopback only
"""

import copy
import itertools
import json


def load(path):
    """Returns the cases of a file, families unfolded."""
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    return [member for test in tests for member in unfolded(test)]


def unfolded(test):
    """Returns the members of a family: one for each combination of the values in `for_each`."""
    dimensions = test.get("for_each")
    if not dimensions:
        return [test]
    names = sorted(dimensions)
    plain = {name: value for name, value in test.items() if name != "for_each"}
    members = []
    for values in itertools.product(*(dimensions[name] for name in names)):
        words = {}
        for name, value in zip(names, values):
            if isinstance(value, dict):
                words.update({f"{{{name}.{part}}}": item for part, item in value.items()})
            else:
                words[f"{{{name}}}"] = value
        members.append(filled(copy.deepcopy(plain), words))
    return members


def filled(value, words):
    """Puts words in the place of their placeholders; one that stands alone keeps its type."""
    if isinstance(value, str):
        if value in words:
            return words[value]
        for placeholder, word in words.items():
            value = value.replace(placeholder, str(word))
        return value
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, words) for name, item in value.items()}
    return value


def pause(request):
    """Returns how many seconds the client waits after a request."""
    seconds = request.get("pause_after", 0)
    return 3 if seconds is True else int(seconds)


def is_playable(test):
    """Tells whether a case can be played over connections and in real time.

    Junk in the framing and exact seconds are for the replayer without connections and clock.
    """
    return not test.get("in_process") and all(pause(request) <= 6 for request in test["requests"])
