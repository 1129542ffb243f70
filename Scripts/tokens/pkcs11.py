"""Waits until a token is there, initialises a new one, and prints its label.

usage: pkcs11.py SECONDS <REQUEST

REQUEST is a JSON object: the exports of a token (`Token.exports` in support.py) and
  login          whether to log in, which proves the PIN, and to set the PIN if the token has none; always done with a
                 token that is initialised here
  model          optional: model of the slot's token that may be initialised
  factorySOPIN   optional: the security officer's PIN of a new token, which is changed to soPIN
"""

import contextlib
import ctypes
import json
import sys
import time

ULong = ctypes.c_ulong
CKF_TOKEN_INITIALIZED = 0x400
CKF_SERIAL_SESSION, CKF_RW_SESSION = 4, 2
CKU_SO, CKU_USER = 0, 1
# A user's PIN has not been set. NSS returns the second, CKR_USER_TYPE_INVALID.
NO_PIN = (0x102, 0x103)
CKF_OS_LOCKING_OK = 2
# The places of functions in CK_FUNCTION_LIST.
FUNCTIONS = {
    "C_Initialize": 0, "C_Finalize": 1, "C_GetSlotList": 4, "C_GetTokenInfo": 6, "C_InitToken": 9, "C_InitPIN": 10,
    "C_SetPIN": 11, "C_OpenSession": 12, "C_Login": 18, "C_Logout": 19,
}


class InitializeArguments(ctypes.Structure):
    # NSS has one more field than the standard: `reserved` is the standard's pReserved in both.
    _fields_ = [
        ("callbacks", ctypes.c_void_p * 4), ("flags", ULong), ("parameters", ctypes.c_char_p),
        ("reserved", ctypes.c_void_p),
    ]


class FunctionList(ctypes.Structure):
    _fields_ = [("version", ctypes.c_ubyte * 2), ("functions", ctypes.c_void_p * 20)]


class CallError(Exception):
    def __init__(self, function, value):
        super().__init__(f"{function} returned 0x{value:X}")
        self.value = value


class Module:
    def __init__(self, path):
        # NSS exports no other function.
        functions = ctypes.POINTER(FunctionList)()
        ctypes.CDLL(path).C_GetFunctionList(ctypes.byref(functions))
        self.functions = functions.contents.functions

    def call(self, function, *arguments):
        value = ctypes.CFUNCTYPE(ULong)(self.functions[FUNCTIONS[function]])(*arguments)
        if value:
            raise CallError(function, value)

    def initialize(self, parameters):
        arguments = InitializeArguments()
        arguments.flags = CKF_OS_LOCKING_OK
        arguments.parameters = parameters.encode() or None
        self.call("C_Initialize", ctypes.byref(arguments))

    def finalize(self):
        with contextlib.suppress(CallError):
            self.call("C_Finalize", None)

    def tokens(self):
        """Returns the slot, label, model and flags of each token."""
        slots, count = (ULong * 64)(), ULong(64)
        self.call("C_GetSlotList", 1, None, ctypes.byref(ULong()))
        self.call("C_GetSlotList", 1, slots, ctypes.byref(count))
        tokens = []
        for slot in slots[: count.value]:
            info = ctypes.create_string_buffer(512)
            self.call("C_GetTokenInfo", ULong(slot), info)
            label, model = (info.raw[a:b].decode("utf8", "replace").rstrip("\0 ") for a, b in ((0, 32), (64, 80)))
            tokens.append((slot, label, model, int.from_bytes(info.raw[96:104], sys.byteorder)))
        return tokens

    def login(self, session, user, pin):
        self.call("C_Login", session, ULong(user), pin.encode(), ULong(len(pin)))


def find(module, request):
    """Returns the slot and the label of the token, and whether it had to be initialised."""
    label = request["label"]
    tokens = module.tokens()
    for slot, found, _, flags in tokens:
        if found == label or not label and flags & CKF_TOKEN_INITIALIZED:
            return slot, found, False
    for slot, _, model, flags in tokens:
        if label and not flags & CKF_TOKEN_INITIALIZED and request.get("model", model) == model:
            pin = request.get("factorySOPIN", request["soPIN"])
            module.call("C_InitToken", ULong(slot), pin.encode(), ULong(len(pin)), label.encode().ljust(32))
            # The slot may have another number now.
            return next((slot, found, True) for slot, found, _, _ in module.tokens() if found == label)
    names = ", ".join(f'"{found}"' for _, found, _, _ in tokens)
    raise LookupError(f"there is no token; the library lists {names or 'none'}")


def prove(module, slot, request):
    """Logs in with the PIN, after setting it on a token that has none."""
    session, pin, so_pin = ULong(), request["pin"], request["soPIN"]
    module.call(
        "C_OpenSession", ULong(slot), ULong(CKF_SERIAL_SESSION | CKF_RW_SESSION), None, None, ctypes.byref(session))
    try:
        module.login(session, CKU_USER, pin)
    except CallError as error:
        if error.value not in NO_PIN:
            raise
        factory = request.get("factorySOPIN", so_pin)
        module.login(session, CKU_SO, factory)
        if factory != so_pin:
            module.call(
                "C_SetPIN", session, factory.encode(), ULong(len(factory)), so_pin.encode(), ULong(len(so_pin)))
        module.call("C_InitPIN", session, pin.encode(), ULong(len(pin)))
        module.call("C_Logout", session)
        module.login(session, CKU_USER, pin)
    module.call("C_Logout", session)


def main():
    request = json.load(sys.stdin)
    module = Module(request["module"])
    deadline = time.monotonic() + float(sys.argv[1])
    while True:
        try:
            module.initialize(request["parameters"])
            slot, label, is_new = find(module, request)
            break
        except (CallError, LookupError) as error:
            module.finalize()
            if time.monotonic() > deadline:
                sys.exit(str(error))
            time.sleep(0.02)
    try:
        if is_new or request["login"]:
            prove(module, slot, request)
    except CallError as error:
        sys.exit(str(error))
    finally:
        module.finalize()
    print(label, end="")


main()
