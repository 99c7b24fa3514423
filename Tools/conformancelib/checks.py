"""What is expected of an answer, and of the requests that the origin saw."""

import time

from . import wire


class Failure(Exception):
    """The first check of a case that does not hold: (kind, text), as the suite reports it."""


def require(holds, is_setup, text):
    """Fails unless a check holds."""
    if not holds:
        raise Failure("Setup" if is_setup else "Assertion", text)


def is_setup(config, check):
    """Tells whether the failure of a check says nothing about the cache."""
    return config.get("setup") is True or check in (config.get("setup_tests") or [])


def check_answer(config, number, token, answer, may_retry):
    """Holds an answer against its expectations, in the order of the suite."""
    numbers = (answer.get("Request-Numbers") or "").split()
    if not may_retry and len(set(numbers)) != len(numbers):
        raise Failure("Setup", "retry")
    check_source(config, number, answer)
    check_status(config, number, answer)
    now = (answer.number("Server-Now") or time.time() * 1000) / 1000
    place = f"answer {number}"
    for check in config.get("expected_response_headers") or []:
        check_field(check, answer.get, now, is_setup(config, "expected_response_headers"), place)
    for name in config.get("expected_response_headers_missing") or []:
        # A pair of name and value means nothing here; the public data has some.
        if isinstance(name, str):
            require(
                answer.get(name) is None, is_setup(config, "expected_response_headers_missing"),
                f"{place} has the field {name}, which it must not have")
    for name, value in config.get("expected_response_values_missing") or []:
        require(answer.get(name) != value, False, f"{place} has {name}: {value}")
    check_interim(config, answer, now)
    check_body(config, number, token, answer)


def check_source(config, number, answer):
    """Checks where an answer comes from by the count that the origin has put into it."""
    setup = is_setup(config, "expected_type")
    count = answer.number("Server-Request-Count")
    if config.get("expected_type") == "cached":
        if answer.status == 304 and count is None:
            return
        require(
            count is not None and count < number, setup,
            f"answer {number} does not come from the cache (status {answer.status})")
    if config.get("expected_type") == "not_cached":
        require(count == number, setup, f"answer {number} comes from the cache")


def check_status(config, number, answer):
    text = f"answer {number} has status {answer.status}"
    if "expected_status" in config:
        wanted = config["expected_status"]
        if wanted is not None:
            require(answer.status == wanted, is_setup(config, "expected_status"), text)
    elif "response_status" in config:
        require(answer.status == config["response_status"][0], True, text)
    elif answer.status == 999:
        require(
            False, is_setup(config, "expected_type"),
            f"request {number} should have been conditional with the stored validator")
    else:
        require(answer.status == 200, True, text)


def check_field(check, get, now, setup, place):
    """Checks that a field is there, has a value, or is more than a number."""
    if isinstance(check, str):
        require(get(check) is not None, setup, f"{place} lacks {check}")
    elif len(check) == 3:
        name, _, bound = check
        text = get(name) or ""
        require(text.isdigit() and int(text) > bound, setup, f"{place} has {name}: {text}")
    else:
        wanted = wire.value_text(check[0], check[1], now)
        require(
            get(check[0]) == wanted, setup,
            f"{place} has {check[0]}: {get(check[0])}, not {wanted}")


def check_interim(config, answer, now):
    """Checks the interim answers, which must be exactly those that are listed."""
    wanted = config.get("expected_interim_responses")
    if wanted is None:
        return
    setup = is_setup(config, "expected_interim_responses")
    statuses = [status for status, _ in answer.interim]
    require(statuses == [item[0] for item in wanted], setup, f"interim answers {statuses}")
    for (_, fields), item in zip(answer.interim, wanted):
        for name, value in item[1] if len(item) > 1 else []:
            require(
                wire.joined(fields, name) == wire.value_text(name, value, now), setup,
                f"the interim answer {item[0]} lacks {name}")


def check_body(config, number, token, answer):
    if config.get("check_body") is False:
        return
    setup = True
    if config.get("expected_response_text") is not None:
        wanted = config["expected_response_text"]
        setup = is_setup(config, "expected_response_text")
    elif config.get("response_body") is not None:
        wanted = config["response_body"]
    elif answer.status in (204, 304) or config.get("request_method") == "HEAD":
        return
    else:
        wanted = token
    got = answer.body.decode("latin-1")
    require(got == wanted, setup, f"answer {number} has the body {got!r}, not {wanted!r}")


def check_records(test, answers, records):
    """Holds what the origin saw against the expectations, in the order of the suite."""
    remaining = relevant(test, records)
    for index, config in enumerate(test["requests"]):
        if config.get("expected_type") in ("cached", "failed"):
            continue
        record = remaining.pop(0) if remaining else None
        check_request(config, index + 1, record)
        if record is not None and answers[index] is not None:
            check_arrival(record, answers[index], index + 1)
    if test.get("origin_requests") is not None:
        require(
            len(records) == test["origin_requests"], False,
            f"the origin saw {len(records)} requests, not {test['origin_requests']}")


def relevant(test, records):
    """Leaves out what was tried for a request that had to fail, and all but the last try of one
    that may be sent again."""
    if test.get("may_retry"):
        records = {record["number"]: record for record in records}.values()
    return [
        record for record in records
        if test["requests"][record["number"] - 1].get("expected_type") != "failed"]


def check_request(config, number, record):
    """Checks a request as the origin saw it."""
    setup = is_setup(config, "expected_type")
    kind = config.get("expected_type")
    place = f"request {number} at the origin"
    fields = record["fields"] if record else []
    if kind == "not_cached":
        require(
            record is not None and record["number"] == number, setup,
            f"request {number} was not sent")
    condition = {"etag_validated": "If-None-Match", "lm_validated": "If-Modified-Since"}.get(kind)
    if condition:
        require(wire.joined(fields, condition) is not None, setup, f"{place} lacks {condition}")
    for check in config.get("expected_request_headers") or []:
        check_field(
            check, lambda name: wire.joined(fields, name), 0,
            is_setup(config, "expected_request_headers"), place)
    for name in config.get("expected_request_headers_missing") or []:
        if isinstance(name, str):
            require(
                wire.joined(fields, name) is None,
                is_setup(config, "expected_request_headers_missing"), f"{place} has {name}")
    if "expected_method" in config:
        method = record["method"] if record else "none"
        require(
            method == config["expected_method"], is_setup(config, "expected_method"),
            f"{place} has the method {method}")


def check_arrival(record, answer, number):
    """Checks that the origin's fields reached the client unchanged; Date may be the cache's own."""
    for name, _ in record["recorded"]:
        if name.lower() == "date":
            continue
        wanted = wire.joined(record["recorded"], name)
        require(
            answer.get(name) == wanted, True,
            f"answer {number} has {name}: {answer.get(name)}, not {wanted}")
