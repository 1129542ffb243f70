"""The parts that the kinds of tokens share."""

import contextlib
import fcntl
import glob
import json
import os
import signal
import subprocess
import sys
import time

# Valid for every kind: a PIV card takes 6 to 8 digits, and openCryptoki refuses 12345678 and 87654321.
PIN = "123456"
SO_PIN = "76543210"

# The longest that a daemon or a token may take until it answers.
LIMIT = 30


class Failure(Exception):
    """Says what is not possible and why."""


def library(*patterns):
    """Returns the first path that matches a pattern below /usr/lib."""
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join("/usr/lib", pattern))):
            return path
    raise Failure(f"the library {patterns[0]} is not below /usr/lib, although its package is installed.")


@contextlib.contextmanager
def locked(path):
    """Holds a lock on a file or directory, which no daemon inherits. Yields whether it still exists under its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield os.path.samestat(os.fstat(descriptor), os.stat(path))
        except FileNotFoundError:
            yield False
    finally:
        os.close(descriptor)


class Daemon:
    """A program that serves one token, in a process group of its own."""

    def __init__(self, directory, name):
        self.name = name
        self.log = os.path.join(directory, name + ".log")
        # The process' number and the time of its start: together they do not match a later process.
        self.record = os.path.join(directory, name + ".pid")

    @staticmethod
    def start_time(process):
        """Returns when a process started, or nothing if it has ended. Its parent may not have collected it yet."""
        try:
            with open(f"/proc/{process}/stat", encoding="utf8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]

    def process(self):
        """Returns the number of the running process, or nothing."""
        try:
            with open(self.record, encoding="utf8") as file:
                process, start_time = file.read().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(process) if self.start_time(process) == start_time else None

    def start(self, command, ready=None, environment=None):
        """Starts the program and waits until the file `ready` exists, or continues the one that runs."""
        if self.signal(signal.SIGCONT):
            return
        if ready and os.path.lexists(ready):
            os.remove(ready)
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
                env={**os.environ, **(environment or {})})
        with open(self.record, "w", encoding="utf8") as file:
            file.write(f"{process.pid} {self.start_time(process.pid)}")
        deadline = time.monotonic() + LIMIT
        while ready and not os.path.exists(ready):
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                with open(self.log, encoding="utf8", errors="replace") as log:
                    raise Failure(f"{self.name} does not start: {log.read()[-2000:].strip()}")
            time.sleep(0.01)

    def signal(self, number):
        """Sends a signal to the program and its children."""
        process = self.process()
        if process:
            os.killpg(process, number)
        return process

    def stop(self):
        """Ends the program, by force if it does not end within 5 seconds."""
        if self.signal(signal.SIGTERM):
            self.signal(signal.SIGCONT)
            self._wait(5)
        self.kill()

    def kill(self):
        if self.signal(signal.SIGKILL):
            self._wait(LIMIT)
        if os.path.exists(self.record):
            os.remove(self.record)

    def _wait(self, seconds):
        deadline = time.monotonic() + seconds
        while self.process() and time.monotonic() < deadline:
            time.sleep(0.01)


class Token:
    """A token in a directory of its own. A kind of token overrides what differs."""

    # The names of the daemons, in the order of their starts.
    daemons = ()
    # The daemons that `drop`, `pause` and `resume` mean without a name.
    dropped = ()

    def __init__(self, directory):
        self.directory = directory

    @classmethod
    def actions(cls):
        return ("start", "stop") + (("drop", "pause", "resume") if cls.daemons else ())

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def daemon(self, name):
        return Daemon(self.directory, name)

    def check_socket_length(self, path):
        if len(os.fsencode(path)) > 107:
            raise Failure(f"{path} is too long for a socket. Choose a shorter directory.")

    def start(self):
        """Makes the token or starts what is missing of it, and returns the exports."""
        raise NotImplementedError

    def stop(self):
        for name in reversed(self.daemons):
            self.daemon(name).stop()

    def drop(self, *names):
        for name in names or reversed(self.dropped):
            self.daemon(name).kill()

    def pause(self, *names):
        for name in names or reversed(self.dropped):
            if not self.daemon(name).signal(signal.SIGSTOP):
                raise Failure(f"{name} does not run.")

    def resume(self, *names):
        for name in names or self.dropped:
            self.daemon(name).signal(signal.SIGCONT)

    def exports(self, module, label="", so_pin=SO_PIN, parameters="", environment=None, **initialization):
        """Waits until the token can be used, and returns what its users need.

        With an empty label, the token decides about its label. `initialization`: see `pkcs11.py`.
        """
        exports = {
            "module": module, "label": label, "pin": PIN, "soPIN": so_pin, "parameters": parameters,
            "environment": environment or {},
        }
        # A later start does not log in: a test may have changed the PIN, and a wrong one costs a try.
        ready = self.path(".ready")
        request = {**exports, **initialization, "login": not os.path.exists(ready)}
        # The library reads its environment when it is loaded, and may wait for ever: it is used in another process.
        try:
            made = subprocess.run(
                [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "pkcs11.py"), str(LIMIT)],
                input=json.dumps(request), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, **exports["environment"]}, timeout=LIMIT + 10)
        except subprocess.TimeoutExpired:
            raise Failure(f"{module} does not answer.") from None
        if made.returncode != 0:
            raise Failure(f"the token cannot be used: {made.stderr.strip()}")
        open(ready, "a", encoding="utf8").close()
        return {**exports, "label": made.stdout}
