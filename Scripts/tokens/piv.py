"""A simulated PIV card behind OpenSC, with pcscd and the virtual reader vpcd.

pcscd expects its socket in /run. It runs in a mount namespace of its own, so that several can run at once and the
system's stays as it is; its clients find it by PCSCLITE_CSOCK_NAME.
"""

import os
import random
import socket

from support import SO_PIN, Failure, Token, library

DRIVER = "/usr/lib/pcsc/drivers/serial/libifdvpcd.so"
READER = """\
FRIENDLYNAME "{name}"
DEVICENAME /dev/null:0x{port:X}
LIBPATH {driver}
CHANNELID 0x{port:X}
"""
OPENSC = """\
app default {
  card_drivers = PIV-II;
  framework pkcs15 { use_file_caching = no; }
}
"""
# Moves /run/pcscd to a directory for this process only.
PCSCD = 'mount -t tmpfs tmpfs /run && mkdir /run/pcscd && mount --bind "$1" /run/pcscd && exec pcscd -f -c "$2"'


def free_port():
    """A port that is free together with the next: vpcd has two readers."""
    for _ in range(100):
        port = random.randrange(20000, 32000, 2)
        try:
            for number in (port, port + 1):
                with socket.socket() as probe:
                    probe.bind(("", number))
            return port
        except OSError:
            continue
    raise Failure("no port between 20000 and 32000 is free for the reader.")


class Kind(Token):
    daemons = ("pcscd", "card")
    dropped = ("pcscd",)
    card, reader = "piv", "Virtual PIV"

    @classmethod
    def actions(cls):
        return super().actions() + ("pull",)

    def pull(self):
        self.daemon("card").kill()

    def port(self):
        try:
            with open(self.path("port"), encoding="utf8") as file:
                return int(file.read())
        except FileNotFoundError:
            port = free_port()
        with open(self.path("port"), "w", encoding="utf8") as file:
            file.write(str(port))
        return port

    def start_card(self):
        """Starts reader and card, and returns the environment that leads to them."""
        if self.directory.startswith("/run/"):
            raise Failure("the directory of a card must not be below /run.")
        run = self.path("run")
        self.check_socket_length(os.path.join(run, "pcscd.comm"))
        os.makedirs(run, mode=0o700, exist_ok=True)
        port = self.port()
        with open(self.path("reader.conf"), "w", encoding="utf8") as file:
            file.write(READER.format(name=self.reader, port=port, driver=DRIVER))
        self.daemon("card").start(
            ["/usr/bin/python3", "-B", os.path.join(os.path.dirname(__file__), "card.py"), self.path("card"), str(port),
             self.card])
        self.daemon("pcscd").start(
            ["unshare", *(["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]),
             "sh", "-c", PCSCD, "sh", run, self.path("reader.conf")],
            ready=os.path.join(run, "pcscd.comm"), environment={"PATH": os.environ["PATH"] + ":/usr/sbin"})
        return {"PCSCLITE_CSOCK_NAME": os.path.join(run, "pcscd.comm")}

    def start(self):
        environment = self.start_card()
        with open(self.path("opensc.conf"), "w", encoding="utf8") as file:
            file.write(OPENSC)
        return self.exports(
            library("*/opensc-pkcs11.so", "opensc-pkcs11.so"), so_pin=SO_PIN,
            environment={**environment, "OPENSC_CONF": self.path("opensc.conf")})
