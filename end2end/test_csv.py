"""What a spreadsheet makes of an exported CSV: LibreOffice and Python's csv see the
same rows and columns, and no cell is a formula."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

BATON = Path(__file__).resolve().parents[1] / "target/debug/baton"
TOKEN = "baton_the-first-holders-token-of-these-tests"
# Comma, UTF-8, all of it text: for reading, and for writing again.
READ = "CSV:44,34,76,1,,0,true"
WRITE = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true,false"

REASONS = [
    "plain",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.com", "click")',
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "＝1+1",
    "\t=1",
    "a, \"quoted\", 'word'",
    "two\nlines",
    "and\r\ntwo\r\nmore",
    ";semicolons;and|pipes",
    "🦊 emoji 👩‍👩‍👧",
    "שלום، مرحبا \u202ewrong way\u202c",
    "'leading apostrophe",
    "00012",
    "1/2",
    "TRUE",
    "trailing space ",
]


def disarmed(text):
    """As the documentation says: what looks like a formula gets an apostrophe."""
    return "'" + text if text.startswith(tuple("=+-@\t\r\n＝＋－＠'")) else text


class Spreadsheet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = Path(cls.folder.name)
        cls.server = subprocess.Popen(
            [BATON, "serve", "--listen", "127.0.0.1:0", "--database", f"sqlite://{cls.path}/baton.db"],
            env={**os.environ, "BATON_HOLDER_TOKEN": TOKEN, "BATON_ADMIN_PASSWORD": "a password for tests"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        cls.addClassCleanup(cls.server.stdout.close)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)
        cls.url = cls.server.stdout.readline().split()[-1]
        for number, reason in enumerate(REASONS):
            holder = {"holder": f"=h{number} 🦊", "ttl_ms": 60_000}
            granted = cls.call("acquire", holder)
            release = {"holder": holder["holder"], "generation": granted["generation"], "reason": reason}
            cls.call("release", release)
        cls.file = cls.path / "history.csv"
        environment = {**os.environ, "BATON_URL": cls.url, "BATON_TOKEN": TOKEN}
        subprocess.run(
            [BATON, "export", "--format", "csv", "--output", cls.file], env=environment, check=True, capture_output=True
        )
        with cls.file.open(newline="", encoding="utf-8") as file:
            cls.rows = list(csv.reader(file))

    @classmethod
    def call(cls, what, body):
        request = urllib.request.Request(
            f"{cls.url}/api/v1/leases/deploy/{what}",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def convert(self, to, *more):
        """What LibreOffice makes of the file."""
        profile = f"-env:UserInstallation=file://{self.path}/profile"
        out = self.path / "out"
        subprocess.run(
            ["soffice", "--headless", profile, *more, "--convert-to", to, "--outdir", out, self.file],
            check=True,
            capture_output=True,
            timeout=300,
        )
        return out / f"history.{to.split(':')[0]}"

    def test_python_sees_every_entry_and_every_field(self):
        header, *entries = self.rows
        self.assertEqual(len(header), 18)
        self.assertEqual(len(entries), 2 * len(REASONS))
        self.assertEqual([row[0] for row in entries], [str(seq) for seq in range(1, len(entries) + 1)])
        self.assertTrue(all(len(row) == 18 for row in entries))
        reason, event = header.index("reason"), header.index("event")
        released = [row[reason] for row in entries if row[event] == "released"]
        self.assertEqual(released, [disarmed(text) for text in REASONS])

    def test_libreoffice_sees_the_same_rows_and_columns(self):
        written = self.convert(WRITE, f"--infilter={READ}")
        with written.open(newline="", encoding="utf-8") as file:
            seen = list(csv.reader(file))
        # Inside of a cell, LibreOffice knows one kind of line break.
        expected = [[cell.replace("\r\n", "\n") for cell in row] for row in self.rows]
        self.assertEqual(seen, expected)

    def test_no_cell_is_a_formula_however_it_is_opened(self):
        for more in ([], [f"--infilter={READ}"], ["--infilter=CSV:44,34,76,1,,0,false,true"]):
            with self.subTest(more=more):
                text = self.convert("fods", *more).read_text(encoding="utf-8")
                self.assertIn("calc", text, "the reasons are there")
                self.assertNotIn("table:formula", text)
                self.assertNotIn("xlink:href", text)


if __name__ == "__main__":
    unittest.main()
