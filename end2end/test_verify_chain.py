"""What the chain checker must find, on a log made here."""

import hashlib
import json
import subprocess
import sys
import unittest
from pathlib import Path

CHECKER = Path(__file__).with_name("verify_chain.py")


def entry(seq, prev_hash, holder):
    """An entry as DESIGN §4 has it, its canonical form written out by hand."""
    body = (
        '{"actor":"token:CI","actor_address":"127.0.0.1","at":"2026-11-29T02:14:%02d.000001Z",'
        '"details":{"attempt":0},"event":"granted","generation":%d,"held_from":null,"held_until":null,'
        '"holder":%s,"incident":null,"lease":"deploy.production","prev_hash":"%s","previous_generation":%d,'
        '"previous_holder":null,"reason":"first","request_id":"r%d","seq":%d}'
    ) % (seq, seq, json.dumps(holder, ensure_ascii=False), prev_hash, seq - 1, seq, seq)
    return {**json.loads(body), "hash": hashlib.sha256(body.encode()).hexdigest()}


def log():
    entries = []
    # Text that canonical JSON leaves as it is, and text that it escapes.
    for seq, holder in enumerate(["ci-1", "Zoë / 北京 🚀", 'quo"te\\', "tab\there", "</script>"], 1):
        entries.append(entry(seq, entries[-1]["hash"] if entries else "0" * 64, holder))
    return entries


def check(entries, *args):
    # As some export may write it: keys in another order, non-ASCII escaped.
    text = "".join(json.dumps(e) + "\n" for e in entries)
    done = subprocess.run([sys.executable, CHECKER, *args], input=text, text=True, capture_output=True)
    return done.returncode, done.stdout + done.stderr


class Chain(unittest.TestCase):
    def assert_fault(self, entries, seq, *args):
        code, said = check(entries, *args)
        self.assertEqual(code, 1, said)
        self.assertIn(f"seq {seq}:", said)

    def test_a_whole_log_holds(self):
        code, said = check(log(), "/dev/stdin", log()[-1]["hash"])
        self.assertEqual(code, 0, said)
        self.assertIn("holds: 5 entries", said)

    def test_an_empty_log_holds(self):
        self.assertEqual(check([])[0], 0)

    def test_a_change_of_any_field_is_found(self):
        for field in log()[2]:
            with self.subTest(field=field):
                entries = log()
                entries[2][field] = "forged"
                self.assert_fault(entries, 3)

    def test_a_field_added_or_dropped_is_found(self):
        entries = log()
        entries[1]["note"] = "added"
        self.assert_fault(entries, 2)
        entries = log()
        del entries[1]["incident"]
        self.assert_fault(entries, 2)

    def test_a_change_hashed_anew_is_found_at_the_next_entry(self):
        entries = log()
        entries[2] = entry(3, entries[1]["hash"], "intruder")
        self.assert_fault(entries, 4)

    def test_a_removed_entry_is_found(self):
        for index in range(4):
            with self.subTest(index=index):
                entries = log()
                del entries[index]
                self.assert_fault(entries, index + 1)

    def test_swapped_entries_are_found(self):
        entries = log()
        entries[1], entries[2] = entries[2], entries[1]
        self.assert_fault(entries, 2)

    def test_a_repeated_entry_is_found(self):
        entries = log()
        entries.insert(2, entries[1])
        self.assert_fault(entries, 3)

    def test_a_cut_off_end_is_found_by_the_head_noted_before(self):
        self.assertEqual(check(log()[:-1])[0], 0, "which the chain alone can't tell")
        self.assert_fault(log()[:-1], 4, "/dev/stdin", log()[-1]["hash"])

    def test_a_trailer_must_fit(self):
        def trailer(count, last_hash):
            return {"trailer": {"count": count, "last_hash": last_hash}}

        newest = log()[-1]["hash"]
        code, said = check([*log(), trailer(5, newest)])
        self.assertEqual(code, 0, said)
        self.assertNotIn("cut", said)
        self.assertIn("may have been cut", check(log())[1])
        self.assertEqual(check([trailer(0, None)])[0], 0, "an empty log has one too")
        self.assert_fault([*log(), trailer(6, newest)], 5)
        self.assert_fault([*log()[:-1], trailer(5, newest)], 4)
        self.assert_fault([*log(), trailer(5, newest), log()[0]], 5)

    def test_an_archived_part_and_the_rest_hold_each_and_as_one(self):
        def trailer(entries):
            return {"trailer": {"count": len(entries), "last_hash": entries[-1]["hash"]}}

        old, rest = log()[:2], log()[2:]
        cut = {"archived_seq": 2, "archived_hash": old[-1]["hash"]}
        anchor = entry(6, rest[-1]["hash"], "ci-6")
        anchor.update(event="archived", details=cut)
        del anchor["hash"]
        form = json.dumps(anchor, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        anchor["hash"] = hashlib.sha256(form.encode()).hexdigest()
        rest.append(anchor)
        for part in (old, rest):
            code, said = check([*part, trailer(part)])
            self.assertEqual(code, 0, said)
        code, said = check([*old, trailer(old), *rest, trailer(rest)])
        self.assertEqual(code, 0, said)
        self.assertIn("holds: 6 entries", said)
        self.assert_fault(rest[:-1], 2)
        self.assert_fault(rest[1:], 3)
        self.assert_fault([*rest, trailer(rest), *old], 6)


if __name__ == "__main__":
    unittest.main()
