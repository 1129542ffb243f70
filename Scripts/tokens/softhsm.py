"""SoftHSM, whose token is files."""

import os

from support import Token, library

CONFIGURATION = """\
directories.tokendir = {}
objectstore.backend = file
log.level = ERROR
slots.removable = false
"""


def make_configuration(token):
    """Writes a configuration with a directory of its own, and returns the environment that names it."""
    os.makedirs(token.path("tokens"), mode=0o700, exist_ok=True)
    with open(token.path("softhsm2.conf"), "w", encoding="utf8") as file:
        file.write(CONFIGURATION.format(token.path("tokens")))
    return {"SOFTHSM2_CONF": token.path("softhsm2.conf")}


def module():
    return library("softhsm/libsofthsm2.so", "*/softhsm/libsofthsm2.so")


class Kind(Token):
    def start(self):
        return self.exports(module(), "test-softhsm", environment=make_configuration(self))
