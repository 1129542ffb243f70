"""The simulated PIV card as a YubiKey, behind Yubico's library. Its security officer's PIN is the management key."""

import piv
from support import library


class Kind(piv.Kind):
    # The library uses readers of this name only.
    card, reader = "yubikey", "Yubico YubiKey"

    def start(self):
        return self.exports(
            library("*/libykcs11.so.2"), so_pin="010203040506070801020304050607080102030405060708",
            environment=self.start_card())
