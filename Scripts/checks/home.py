"""A separate home directory for the command under test, and the means of the checks to use it."""

import json
import os
import pathlib
import shutil
import struct
import subprocess

# Exit codes of keyfob.
DONE, NOT_FOUND, DUPLICATE, USABLE_WITH_WARNINGS = 0, 3, 4, 11


class Result:
    """The result of a run: exit code (negative for a signal) and both outputs."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        """The end of the output, on one line."""
        printed = (self.out + b" " + self.err).decode("utf-8", "replace")
        return f"exit {self.code}: " + " ".join(printed.split())[-300:]


class Home:
    """Runs the command in `base`/home, which is replaced by a template before each point.

    The path stays the same, because SoftHSM's configuration file contains it.
    """

    def __init__(self, base, binary, library, is_quick):
        self.base = pathlib.Path(base)
        self.path = self.base / "home"
        self.binary, self.library, self.is_quick = binary, library, is_quick
        # The fingerprints of the template's keys, by keychain.
        self.keys = {}
        self.counter = self.base / "counter"
        self.log = self.base / "log"
        (self.base / "value").write_bytes(b"new value \xff\n")
        (self.base / "passphrase").write_bytes(b"x")
        for name in ("value", "passphrase"):
            (self.base / name).chmod(0o600)

    def environment(self, **more):
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "XDG_RUNTIME_DIR": str(self.path / "run"),
            "KEYFOB_NO_INPUT": "1", **more,
        }

    def clear(self):
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(0o700)
        (self.path / "run").mkdir(0o700)

    def save(self, name):
        shutil.rmtree(self.base / name, ignore_errors=True)
        subprocess.run(["cp", "-a", self.path, self.base / name], check=True)

    def load(self, name):
        shutil.rmtree(self.path, ignore_errors=True)
        subprocess.run(["cp", "-a", self.base / name, self.path], check=True)

    def run(self, *words, stdin=b"", limit=60, **more):
        """Runs the command to its end. A run that takes longer than `limit` seconds ends with code -1000."""
        try:
            done = subprocess.run(
                [self.binary, *words], input=stdin, capture_output=True, timeout=limit, cwd=self.base,
                env=self.environment(**more), start_new_session=True)
        except subprocess.TimeoutExpired:
            return Result(-1000, b"", f"no end after {limit} s".encode())
        return Result(done.returncode, done.stdout, done.stderr)

    def must(self, *words, **more):
        result = self.run(*words, **more)
        if result.code != DONE:
            raise SystemExit(f"check: cannot prepare: keyfob {' '.join(map(str, words))}: {result.text}")
        return result

    def run_counted(self, words, kill_at=0, record=False):
        """Runs the command under the library. Returns the result and the number of calls.

        - kill_at: the number of the call before which its process group is killed; 0 for none.
        """
        self.counter.write_bytes(bytes(8))
        more = {"LD_PRELOAD": self.library, "CHECK_COUNTER": str(self.counter)}
        if kill_at:
            more["CHECK_KILL"] = str(kill_at)
        if record:
            self.log.write_bytes(b"")
            more["CHECK_LOG"] = str(self.log)
        result = self.run(*words, **more)
        return result, struct.unpack("=q", self.counter.read_bytes())[0]

    def document(self, *words):
        """The JSON document that a command prints, or None if it fails."""
        result = self.run(*words, "--json")
        try:
            return json.loads(result.out) if result.code == DONE else None
        except ValueError:
            return None


def make_p12(directory, name):
    """Makes `directory`/`name`.p12, a P-256 key and its certificate, with the passphrase "x"."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.pem"
    commands = (
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
         certificate, "-subj", f"/CN={name}", "-days", "90"],
        ["pkcs12", "-export", "-inkey", key, "-in", certificate, "-passout", "pass:x", "-out",
         directory / f"{name}.p12"],
    )
    for words in commands:
        subprocess.run(["openssl", *words], check=True, capture_output=True)
