"""NSS softokn, the token of Firefox, on a database of its own.

Softokn takes its configuration from C_Initialize only, and returns CKR_ARGUMENTS_BAD without one. It lists two tokens:
the first keeps nothing and needs no login; the second is the database.
"""

import os

from support import Token, library


class Kind(Token):
    def start(self):
        os.makedirs(self.path("database"), mode=0o700, exist_ok=True)
        parameters = (
            f"configdir='sql:{self.path('database')}' certPrefix='' keyPrefix='' secmod='secmod.db' flags= "
            "dbTokenDescription='test-nss' dbSlotDescription='Database'"
        )
        # Its security officer has no PIN, and sets the user's before the first login.
        return self.exports(
            library("*/libsoftokn3.so", "*/nss/libsoftokn3.so"), "test-nss", so_pin="", parameters=parameters)
