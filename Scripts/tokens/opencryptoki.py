"""The software token of openCryptoki.

Its paths are compiled in, so a machine has one such token. The first directory that starts it holds it until its stop.

The daemon dies when it answers a client that has ended, for example one that was killed during `pause`.
"""

import glob
import grp
import os

from support import Daemon, Failure, Token, library, locked

STATE = "/var/lib/opencryptoki"
TOKEN = f"{STATE}/swtok"
LOCKS = "/var/lock/opencryptoki"
SOCKET = "/run/pkcsslotd.socket"
# Names the directory that holds the machine's token.
OWNER = f"{STATE}/.keyfob-token"
SLOTS = ("swtok", "tpm", "icsf", "ccatok", "ep11tok", "lite")


class Kind(Token):
    daemons = dropped = ("pkcsslotd",)

    def owner(self):
        try:
            with open(OWNER, encoding="utf8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def hold(self):
        """Takes the machine's token for this directory."""
        owner = self.owner()
        if owner == self.directory:
            return
        if owner and os.path.exists(os.path.join(owner, ".token")):
            raise Failure(
                f"a machine can have one openCryptoki token at a time, and {owner} has it.\n"
                f"    To end that one: Scripts/token opencryptoki stop {owner}")
        self.check_other_daemon()
        if not owner and os.path.exists(f"{TOKEN}/NVTOK.DAT"):
            raise Failure(f"this machine has an openCryptoki token that this script did not make, in {TOKEN}.")
        self.wipe()
        with open(OWNER, "w", encoding="utf8") as file:
            file.write(self.directory)

    def wipe(self):
        for path in glob.glob(f"{TOKEN}/TOK_OBJ/*") + glob.glob(f"{TOKEN}/MK_*") + [f"{TOKEN}/NVTOK.DAT"]:
            if os.path.exists(path):
                os.remove(path)
        for path in glob.glob("/dev/shm/var.lib.opencryptoki.*"):
            os.remove(path)

    def check_other_daemon(self):
        for path in glob.glob("/proc/[0-9]*/comm"):
            try:
                with open(path, encoding="utf8") as file:
                    is_running = file.read().strip() == "pkcsslotd"
            except (FileNotFoundError, ProcessLookupError):
                continue
            process = int(path.split("/")[2])
            if is_running and Daemon.start_time(process):
                raise Failure(f"openCryptoki's daemon runs already, as process {process}.")

    def start(self):
        if os.geteuid() != 0:
            raise Failure("openCryptoki's token can be started by root only.")
        # Made at boot by systemd, which a container may not have.
        group = grp.getgrnam("pkcs11").gr_gid
        for path in [base + slot for base in (STATE, LOCKS) for slot in ("", *("/" + slot for slot in SLOTS))]:
            os.makedirs(path, exist_ok=True)
            os.chown(path, 0, group)
            os.chmod(path, 0o770)
        os.makedirs(f"{TOKEN}/TOK_OBJ", mode=0o770, exist_ok=True)
        with locked(STATE):
            self.hold()
        if os.path.exists(f"{TOKEN}/NVTOK.DAT") and os.path.getsize(f"{TOKEN}/NVTOK.DAT") == 0:
            # A process was killed during its login, which loses the token.
            self.wipe()
        self.daemon("pkcsslotd").start(["/usr/sbin/pkcsslotd", "-f"], ready=SOCKET)
        return self.exports(
            library("*/pkcs11/libopencryptoki.so", "*/opencryptoki/libopencryptoki.so.0"), "test-ock",
            model="IBM SoftTok", factorySOPIN="87654321")

    def stop(self):
        super().stop()
        if os.geteuid() != 0 or not os.path.isdir(STATE):
            # The start failed before it made anything.
            return
        with locked(STATE):
            if self.owner() != self.directory:
                return
            self.wipe()
            for path in (SOCKET, "/run/pkcsslotd.pid", OWNER):
                if os.path.exists(path):
                    os.remove(path)
