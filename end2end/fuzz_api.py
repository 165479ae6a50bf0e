"""Fuzz the API from its own OpenAPI document, with schemathesis.

What is called is what the document lists, all but the event stream, which never
ends. The seed is fixed: two runs send the same. Afterwards the handover log,
with all that the fuzzing left in it, must pass the independent chain check.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from verify_chain import verify

HERE = Path(__file__).parent
PROGRAM = os.environ.get("BATON_BIN", str(HERE.parent / "target/debug/baton"))
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")

SEED = "20261129"
EXAMPLES_PER_CALL = "100"
SECONDS_MAX = 600
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
]


def fuzz(url, token, folder):
    """Schemathesis's exit code: 0 when it found nothing."""
    return subprocess.run(
        [
            SCHEMATHESIS, "run", f"{url}/api/v1/openapi.json",
            "--header", f"Authorization: Bearer {token}",
            "--exclude-path-regex", "/events$",
            "--phases", "examples,coverage,fuzzing",
            "--checks", ",".join(CHECKS),
            "--seed", SEED,
            "--max-examples", EXAMPLES_PER_CALL,
            "--generation-database", "none",
            "--request-timeout", "10",
            "--continue-on-failure",
        ],
        env={**os.environ, "SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": str(HERE)},
        cwd=folder,
        timeout=SECONDS_MAX,
    ).returncode  # fmt: skip


def handovers(url, token):
    """The whole log, oldest first, as JSON Lines."""
    cursor = ""
    while cursor is not None:
        address = f"{url}/api/v1/handovers?order=asc&limit=1000" + (f"&cursor={cursor}" if cursor else "")
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
        page = json.load(urllib.request.urlopen(request, timeout=10))
        yield from map(json.dumps, page["items"])
        cursor = page["next"]


def wait_until_ready(url, server):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=1)
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{PROGRAM} did not start")


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    url = f"http://{address}"
    with tempfile.TemporaryDirectory(prefix="baton-fuzz-") as folder:
        database = f"sqlite://{folder}/baton.db"
        said = Path(folder, "server.log")
        settings = {
            **os.environ,
            "BATON_ADMIN_PASSWORD": secrets.token_hex(),
            "BATON_HOLDER_TOKEN": f"baton_{secrets.token_urlsafe(32)}",
        }
        with said.open("wb") as log:
            server = subprocess.Popen(
                [PROGRAM, "serve", "--listen", address, "--database", database],
                cwd=folder, env=settings, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            wait_until_ready(url, server)
            create = [PROGRAM, "token", "create", "--name", "fuzz", "--role", "admin", "--database", database]
            token = subprocess.check_output(create, cwd=folder, text=True).strip()
            failed = fuzz(url, token, folder)
            count, _, _ = verify(handovers(url, token))
            print(f"the handover log of {count} entries holds")
            server.terminate()
            server.wait(timeout=5)
        except BaseException:
            print("the server said last:", said.read_text(errors="replace")[-4000:], sep="\n", file=sys.stderr)
            raise
        finally:
            server.kill()
    if failed:
        sys.exit(f"schemathesis found something; it exited with {failed}")


if __name__ == "__main__":
    main()
