"""SoftHSM behind p11-kit's remote protocol: a server on a socket, and p11-kit's client library.

The server starts a process of its own for each client. p11-kit 0.24 passes on only some mechanisms: no AES-GCM, no key
wrapping and no ECDH.
"""

import softhsm
from support import Token, library


class Kind(Token):
    daemons = dropped = ("server",)

    def start(self):
        socket = self.path("socket")
        self.check_socket_length(socket)
        environment = softhsm.make_configuration(self)
        label = "test-remote"
        # Initialised directly: the server offers the tokens that match the URI, which an empty one does not.
        self.exports(softhsm.module(), label, environment=environment)
        self.daemon("server").start(
            ["p11-kit", "server", "-f", "-n", socket, "--provider", softhsm.module(), f"pkcs11:token={label}"],
            ready=socket, environment=environment)
        return self.exports(
            library("*/pkcs11/p11-kit-client.so"), label,
            environment={"P11_KIT_SERVER_ADDRESS": f"unix:path={socket}"})
