#!/usr/bin/env python3
"""Recheck a handover log with nothing but Python's standard library.

Reads JSON Lines, one entry a line, oldest first, from a file or from standard
input. Says that it holds and exits 0, or names the first entry at fault and
exits 1. It shares no code with Baton: that is its point.

    verify_chain.py [FILE [HEAD]]

A chain can't tell that its newest entries were cut off: for that, give HEAD,
the hash of the newest entry as it was noted elsewhere. What `baton export`
writes ends with a trailer, which must fit what came before it. What `baton
archive` wrote, and what is left in the database, are checked one after the
other: `cat archive.jsonl rest.jsonl | verify_chain.py`; or each by itself.
"""

import hashlib
import json
import sys


def canonical(entry):
    """RFC 8785; this much will do, for the keys are ASCII and all numbers whole."""
    return json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def verify(lines):
    """Return the count of entries and the head's hash; ValueError at the first fault."""
    seq, prev_hash, trailer, count, parts = 0, "0" * 64, None, 0, 0
    cut = None  # where the log was cut when its older part was archived
    for line in lines:
        try:
            entry = json.loads(line)
            if "trailer" in entry:
                trailer = entry["trailer"]
                if (trailer["count"], trailer["last_hash"] or prev_hash) != (count - parts, prev_hash):
                    raise ValueError("is not what the trailer says is the last")
                parts = count
                continue
            if trailer and entry["seq"] != seq + 1:
                raise ValueError("something follows the trailer")
            if seq == 0 and entry["seq"] != 1:
                seq, prev_hash = cut = entry["seq"] - 1, entry["prev_hash"]
            seq, count, trailer = seq + 1, count + 1, None
            claimed = entry.pop("hash")
            if entry["seq"] != seq:
                raise ValueError(f"missing, {entry['seq']} is in its place")
            if entry["prev_hash"] != prev_hash:
                raise ValueError("prev_hash is not the hash of the entry before")
            if claimed != hashlib.sha256(canonical(entry)).hexdigest():
                raise ValueError("hash is not that of its fields")
            if entry["event"] == "archived":
                said = entry["details"]["archived_seq"], entry["details"]["archived_hash"]
                cut = None if cut == said else cut
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"seq {seq}: {error}") from error
        prev_hash = claimed
    if cut:
        raise ValueError(f"seq {cut[0]}: missing, and so is all before it, but nothing says that it was archived")
    return count, prev_hash, trailer


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
