"""tpm2-pkcs11 on swtpm, a software TPM, through the resource manager tpm2-abrmd on a D-Bus of its own.

The TPM alone holds three keys at a time and loses one place with each killed client; the resource manager lifts that to
28 keys for each login.

The TPM counts each loss of its power as a wrong PIN, and after three it is locked for a long time. `drop DIR swtpm` is
such a loss.
"""

import os

from support import Token, library

BUS = """\
<busconfig>
  <type>session</type><listen>{}</listen><auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"""


class Kind(Token):
    daemons = ("swtpm", "dbus", "abrmd")
    # The loss of the TPM costs a PIN try, and a client ends itself when its D-Bus ends.
    dropped = ("abrmd",)

    def start(self):
        socket, bus = self.path("tpm"), self.path("bus")
        self.check_socket_length(socket + ".ctrl")
        for name in ("state", "store"):
            os.makedirs(self.path(name), mode=0o700, exist_ok=True)
        if not self.daemon("swtpm").process():
            # It serves one TPM only, from its start.
            self.daemon("abrmd").stop()
        self.daemon("swtpm").start(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.path('state')}",
             "--flags", "not-need-init,startup-clear",
             "--server", f"type=unixio,path={socket}", "--ctrl", f"type=unixio,path={socket}.ctrl"],
            ready=socket + ".ctrl")
        if not self.daemon("dbus").process():
            self.daemon("abrmd").stop()
        with open(self.path("bus.conf"), "w", encoding="utf8") as file:
            file.write(BUS.format(f"unix:path={bus}"))
        self.daemon("dbus").start(
            ["dbus-daemon", "--nofork", f"--config-file={self.path('bus.conf')}"], ready=bus)
        environment = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"}
        self.daemon("abrmd").start(
            ["/usr/sbin/tpm2-abrmd", "--session", "--allow-root", "--flush-all", "--tcti", f"swtpm:path={socket}"],
            environment=environment)
        # TSS2_LOG: the library would write about each failed call to standard error.
        return self.exports(
            library("*/libtpm2_pkcs11.so.1"), "test-tpm2",
            environment={
                **environment, "TPM2_PKCS11_STORE": self.path("store"), "TPM2_PKCS11_TCTI": "tabrmd:bus_type=session",
                "TSS2_LOG": "all+none",
            })
