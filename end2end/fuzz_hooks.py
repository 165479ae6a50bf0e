"""How schemathesis's requests are bent before they are sent (see fuzz_api.py)."""

import json
import re
import zlib

import schemathesis

LEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


@schemathesis.hook
def before_call(context, case, **_):
    # Waiting in line is right and slow: a minute per call would be the whole test.
    body = case.body
    if isinstance(body, dict) and type(body.get("wait_ms")) is int and 100 < body["wait_ms"] <= 60_000:
        body["wait_ms"] = 100

    # What is no valid name stays as it is.
    lease = (case.path_parameters or {}).get("lease")
    if isinstance(lease, str) and LEASE.fullmatch(lease):
        case.path_parameters["lease"] = f"fuzz-{number(lease) % 5}"

    if case.meta and case.meta.generation.mode.is_positive:
        fulfil_what_no_schema_says(case)
        if isinstance(case.body, dict) and number(case.body) % 2:
            bring_together(case.body)


def number(value):
    """Random, but the same in every run."""
    return zlib.crc32(json.dumps(value, sort_keys=True).encode())


def bring_together(body):
    """Random values never meet. Few of them let requests hit upon held, lapsed
    and barred leases, with the right holder and generation now and then."""
    for field in ("holder", "successor"):
        if isinstance(body.get(field), str):
            body[field] = f"holder-{number(body[field]) % 2}"
    for field in ("generation", "expected_generation", "above"):
        if isinstance(body.get(field), int):
            body[field] %= 8
    if isinstance(body.get("ttl_ms"), int):
        body["ttl_ms"] = 1_000 + body["ttl_ms"] % 4_000


def fulfil_what_no_schema_says(case):
    """A request that is right by the document is to be right by its words as well."""
    # Cursors are opaque: only the server makes one.
    query = case.query or {}
    query.pop("cursor", None)
    # A time to report on begins before it ends.
    if case.path.endswith("/report") and {"from", "to"} <= query.keys():
        query["from"], query["to"] = "2000-01-01T00:00:00Z", "2001-01-01T00:00:00Z"
    # JSON Schema takes 7.0 for a whole number, the API wants it written as one.
    case.body = walk(case.body, lambda leaf: int(leaf) if isinstance(leaf, float) and leaf.is_integer() else leaf)
    if not isinstance(case.body, dict):
        return
    # In one call each lease comes once.
    renewals = case.body.get("renewals", [])
    for index, renewal in enumerate(renewals):
        renewal["lease"] = f"fuzz-{index}"
    # Any JSON, but within bounds and without U+0000.
    for body in [case.body, *renewals]:
        for field, bytes_max in (("status", 1_000), ("payload", 60_000)):
            if field in body:
                given = walk(body[field], lambda leaf: leaf.replace("\0", "") if isinstance(leaf, str) else leaf)
                body[field] = given if len(json.dumps(given)) < bytes_max else None


def walk(value, change):
    if isinstance(value, list):
        return [walk(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): walk(item, change) for key, item in value.items()}
    return change(value)
