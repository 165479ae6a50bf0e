#!/usr/bin/env python3
"""Recheck a handover log with nothing but Python's standard library.

Reads JSON Lines, one entry a line, oldest first, from a file or from standard
input. Says that it holds and exits 0, or names the first entry at fault and
exits 1. It shares no code with Baton: that is its point.

    verify_chain.py [FILE [HEAD]]

A chain can't tell that its newest entries were cut off: for that, give HEAD,
the hash of the newest entry as it was noted elsewhere. What `baton export`
writes ends with a trailer, which must fit what came before it.
"""

import hashlib
import json
import sys


def canonical(entry):
    """RFC 8785; this much will do, for the keys are ASCII and all numbers whole."""
    return json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def verify(lines):
    """Return the count of entries and the head's hash; ValueError at the first fault."""
    seq, prev_hash, trailer = 0, "0" * 64, None
    for line in lines:
        try:
            if trailer:
                raise ValueError("something follows the trailer")
            entry = json.loads(line)
            if "trailer" in entry:
                trailer = entry["trailer"]
                if (trailer["count"], trailer["last_hash"] or prev_hash) != (seq, prev_hash):
                    raise ValueError("is not what the trailer says is the last")
                continue
            seq += 1
            claimed = entry.pop("hash")
            if entry["seq"] != seq:
                raise ValueError(f"missing, {entry['seq']} is in its place")
            if entry["prev_hash"] != prev_hash:
                raise ValueError("prev_hash is not the hash of the entry before")
            if claimed != hashlib.sha256(canonical(entry)).hexdigest():
                raise ValueError("hash is not that of its fields")
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"seq {seq}: {error}") from error
        prev_hash = claimed
    return seq, prev_hash, trailer


def main(file="/dev/stdin", head=None):
    try:
        with open(file, encoding="utf-8") as lines:
            count, newest, trailer = verify(lines)
        if head not in (None, newest):
            raise ValueError(f"seq {count}: is not the head that was noted")
    except ValueError as error:
        sys.exit(f"does not hold: {error}")
    end = "" if trailer else "; there is no trailer, so it may have been cut"
    print(f"holds: {count} entries, head {newest}{end}")


if __name__ == "__main__":
    main(*sys.argv[1:])
