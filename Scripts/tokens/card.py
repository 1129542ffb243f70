"""A PIV card (NIST SP 800-73-4), simulated. It connects to the reader of vpcd on PORT, and keeps its state in DIR.

usage: card.py DIR PORT piv|yubikey

Keys, each with a self-signed certificate:
  9A  EC P-256   after the PIN
  9C  RSA 2048   after the PIN, which must precede each use
  9D  RSA 2048   after the PIN, for decryption
  9E  EC P-256   without a PIN
  82  EC P-256   after the PIN, for key agreement
After three wrong PINs the PUK unblocks the card. Nothing can be created, changed or deleted. As a YubiKey the card also
answers the commands that Yubico's library needs.
"""

import datetime
import hashlib
import json
import os
import socket
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import TripleDES
from cryptography.x509.oid import NameOID

from support import PIN, SO_PIN

RSA_2048, EC_P256, TRIPLE_DES = 0x07, 0x11, 0x03
SIGNATURE_KEY, PINLESS_KEY, MANAGEMENT_KEY = 0x9C, 0x9E, 0x9B
# The algorithm of each key, its certificate's object and the usage that the certificate states.
KEYS = {
    0x9A: (EC_P256, "5fc105", "digital_signature"),
    SIGNATURE_KEY: (RSA_2048, "5fc10a", "content_commitment"),
    0x9D: (RSA_2048, "5fc10b", "key_encipherment"),
    PINLESS_KEY: (EC_P256, "5fc101", "digital_signature"),
    0x82: (EC_P256, "5fc10d", "key_agreement"),
}
USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)
PIV_APPLICATION = bytes.fromhex("a000000308000010000100")
# The applications that Yubico's library selects besides PIV, to read a serial number, are absent.
YUBIKEY_VERSION = bytes([5, 4, 3])
DEFAULT_MANAGEMENT_KEY = bytes.fromhex("010203040506070801020304050607080102030405060708")
TRIES = 3

OK, VERIFICATION_NEEDED, BLOCKED = 0x9000, 0x6982, 0x6983
WRONG_DATA, NOT_FOUND, KEY_NOT_FOUND, UNKNOWN_COMMAND, WRONG_LENGTH = 0x6A80, 0x6A82, 0x6A88, 0x6D00, 0x6700


class Status(Exception):
    """The status word of a command that failed."""


def encode(tag, value):
    """A BER-TLV whose tag is in hexadecimal digits."""
    size = len(value)
    if size < 0x80:
        length = bytes([size])
    elif size < 0x100:
        length = bytes([0x81, size])
    else:
        length = b"\x82" + size.to_bytes(2, "big")
    return bytes.fromhex(tag) + length + value


def decode(data):
    """The values of a sequence of BER-TLVs with tags of one byte."""
    values = {}
    while data:
        tag, size, start = data[0], data[1], 2
        if size > 0x80:
            start += size - 0x80
            size = int.from_bytes(data[2:start], "big")
        values[tag] = data[start:start + size]
        data = data[start + size:]
    return values


def write(path, content):
    """Writes a file that is never seen in part."""
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.replace(path + ".new", path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Store:
    """What the card keeps when it is pulled: keys, certificates, PIN and PUK."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self.keys, self.objects = {}, {}
        for reference, (algorithm, name, usage) in KEYS.items():
            key, certificate = self._load(reference, algorithm, usage)
            self.keys[reference] = key
            self.objects[name] = encode("70", certificate) + encode("71", b"\0") + encode("fe", b"")
        self._add_card_objects()
        try:
            self.codes = json.loads(read(self._path("codes")))
        except FileNotFoundError:
            self.codes = {"pin": PIN, "puk": SO_PIN, "pin-tries": TRIES, "puk-tries": TRIES}
            self.save_codes()

    def _path(self, name):
        return os.path.join(self.directory, name)

    def save_codes(self):
        write(self._path("codes"), json.dumps(self.codes).encode())

    def _load(self, reference, algorithm, usage):
        path, certificate_path = self._path(f"{reference:02x}.key"), self._path(f"{reference:02x}.certificate")
        if not os.path.exists(certificate_path):
            key = (ec.generate_private_key(ec.SECP256R1()) if algorithm == EC_P256
                   else rsa.generate_private_key(65537, 2048))
            write(path, key.private_bytes(
                serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            write(certificate_path, self._certify(key, reference, usage))
        return serialization.load_der_private_key(read(path), None), read(certificate_path)

    @staticmethod
    def _certify(key, reference, usage):
        # OpenSC names the token after this certificate.
        label = "test-piv" if reference == 0x9A else f"test-piv {reference:02X}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, label)])
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=3650))
            .add_extension(x509.KeyUsage(**{each: each == usage for each in USAGES}), critical=True)
            .sign(key, hashes.SHA256()))
        return certificate.public_bytes(serialization.Encoding.DER)

    def _add_card_objects(self):
        """Adds the objects that describe the card: its unique identifier, capabilities and key history."""
        self.identifier = hashlib.sha256(self.objects["5fc105"]).digest()[:16]
        agency = bytes.fromhex("d4e739da739ced39ce739d836858210842108421c84210c3eb")
        empty = encode("fe", b"")
        self.objects["5fc102"] = (
            encode("30", agency) + encode("34", self.identifier) + encode("35", b"20400101") + encode("3e", b"")
            + empty)
        self.objects["5fc107"] = (
            encode("f0", bytes.fromhex("a000000116ff02") + self.identifier[:14]) + encode("f1", b"\x21")
            + encode("f2", b"\x21") + encode("f3", b"") + encode("f4", b"\0") + encode("f5", b"\x10")
            + b"".join(encode(tag, b"") for tag in ("f6", "f7", "fa", "fb", "fc", "fd")) + empty)
        self.objects["5fc10c"] = encode("c1", b"\x01") + encode("c2", b"\0") + empty


class Card:
    """Answers commands. Power and reset clear what it remembers of a session."""

    # Answers to reset, without the checksum at the end. A YubiKey 5's tells its model to Yubico's library.
    ANSWER_TO_RESET = bytes.fromhex("3b888001") + b"\x50VIRTUAL"
    ANSWER_OF_YUBIKEY = bytes.fromhex("3bfd1300008131fe158073c021c057597562694b6579")

    def __init__(self, store, is_yubikey):
        self.store = store
        self.is_yubikey = is_yubikey
        answer, checksum = self.ANSWER_OF_YUBIKEY if is_yubikey else self.ANSWER_TO_RESET, 0
        for byte in answer[1:]:
            checksum ^= byte
        self.answer_to_reset = answer + bytes([checksum])
        self.reset()

    def reset(self):
        self.is_selected = self.is_verified = self.is_fresh = False
        self.command_part = self.rest = b""
        self.witness = None

    def answer(self, message):
        """The answer to a command of the reader: data and a status word."""
        if len(message) < 4:
            return WRONG_LENGTH.to_bytes(2, "big")
        class_byte, instruction, p1, p2 = message[:4]
        data, expected = self._split(message[4:])
        if instruction == 0xC0:
            return self._next_part(expected)
        # A command may arrive in parts.
        self.command_part += data
        if class_byte & 0x10:
            return OK.to_bytes(2, "big")
        data, self.command_part = self.command_part, b""
        try:
            self.rest = self._run(instruction, p1, p2, data)
        except Status as status:
            self.rest = b""
            return status.args[0].to_bytes(2, "big")
        return self._next_part(expected)

    @staticmethod
    def _split(body):
        """The data of a command and the length of its expected answer, for short and extended lengths."""
        width = 1
        if len(body) >= 3 and body[0] == 0:
            body, width = body[1:], 2
        data = b""
        if len(body) > width:
            size = int.from_bytes(body[:width], "big")
            data, body = body[width:width + size], body[width + size:]
        return data, int.from_bytes(body, "big") or 256 ** width

    def _next_part(self, size):
        part, self.rest = self.rest[:size], self.rest[size:]
        status = 0x6100 | min(len(self.rest), 0xFF) if self.rest else OK
        return part + status.to_bytes(2, "big")

    def _run(self, instruction, p1, p2, data):
        if instruction == 0xA4 and p1 == 0x04:
            return self._select(data)
        if not self.is_selected:
            raise Status(UNKNOWN_COMMAND)
        if instruction == 0xCB and (p1, p2) == (0x3F, 0xFF):
            return self._read_object(decode(data).get(0x5C, b"").hex())
        if instruction == 0x20 and p2 == 0x80:
            return self._verify(p1, data)
        if instruction in (0x24, 0x2C) and p2 in (0x80, 0x81):
            return self._change(instruction == 0x2C, p2 == 0x81, data)
        if instruction == 0x87 and self.is_yubikey and p2 == MANAGEMENT_KEY:
            return self._authenticate_manager(decode(decode(data).get(0x7C, b"")))
        if instruction == 0x87:
            return encode("7c", encode("82", self._use_key(p1, p2, decode(decode(data).get(0x7C, b"")))))
        if self.is_yubikey and instruction == 0xFD:
            return YUBIKEY_VERSION
        if self.is_yubikey and instruction == 0xF8:
            return b"\0" + self.store.identifier[:3]
        if self.is_yubikey and instruction == 0xF7:
            return self._metadata(p2)
        raise Status(UNKNOWN_COMMAND)

    def _select(self, name):
        if len(name) < 5 or not PIV_APPLICATION.startswith(name):
            raise Status(NOT_FOUND)
        self.is_selected = True
        return encode("61", encode("4f", PIV_APPLICATION[5:]) + encode("79", encode("4f", PIV_APPLICATION[:5])))

    def _read_object(self, tag):
        if tag == "7e":
            return encode("7e", encode("4f", PIV_APPLICATION) + encode("5f2f", b"\x40\0"))
        if tag not in self.store.objects:
            raise Status(NOT_FOUND)
        return encode("53", self.store.objects[tag])

    def _check(self, which, code):
        """Compares a PIN or PUK. A wrong one costs a try."""
        codes, tries = self.store.codes, which + "-tries"
        if codes[tries] == 0:
            raise Status(BLOCKED)
        is_right = code == codes[which].encode("latin1").ljust(8, b"\xff")
        codes[tries] = TRIES if is_right else codes[tries] - 1
        self.store.save_codes()
        if not is_right:
            raise Status(0x63C0 | codes[tries] if codes[tries] else BLOCKED)

    def _verify(self, p1, code):
        if p1 == 0xFF:
            self.is_verified = False
        elif code:
            self.is_verified = self.is_fresh = False
            self._check("pin", code)
            self.is_verified = self.is_fresh = True
        elif not self.is_verified:
            tries = self.store.codes["pin-tries"]
            raise Status(0x63C0 | tries if tries else BLOCKED)
        return b""

    def _change(self, unblocks, is_puk, data):
        if len(data) != 16:
            raise Status(WRONG_LENGTH)
        self._check("puk" if unblocks or is_puk else "pin", data[:8])
        self.store.codes["puk" if is_puk else "pin"] = data[8:].rstrip(b"\xff").decode("latin1")
        if unblocks:
            self.store.codes["pin-tries"] = TRIES
        self.store.save_codes()
        return b""

    def _use_key(self, algorithm, reference, template):
        """Signs or decrypts the value 81, or agrees on a key with the point 85."""
        if reference not in KEYS:
            raise Status(KEY_NOT_FOUND)
        if reference != PINLESS_KEY and not self.is_verified or reference == SIGNATURE_KEY and not self.is_fresh:
            raise Status(VERIFICATION_NEEDED)
        self.is_fresh = False
        key, value = self.store.keys[reference], template.get(0x81, b"")
        if algorithm != KEYS[reference][0]:
            raise Status(WRONG_DATA)
        if algorithm == RSA_2048:
            if len(value) != 256:
                raise Status(WRONG_DATA)
            numbers, value = key.private_numbers(), int.from_bytes(value, "big")
            # By the Chinese remainder theorem, which is three times as fast.
            first = pow(value % numbers.p, numbers.dmp1, numbers.p)
            second = pow(value % numbers.q, numbers.dmq1, numbers.q)
            factor = (first - second) * numbers.iqmp % numbers.p
            return (second + numbers.q * factor).to_bytes(256, "big")
        if 0x85 in template:
            try:
                peer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), template[0x85])
            except ValueError:
                raise Status(WRONG_DATA) from None
            return key.exchange(ec.ECDH(), peer)
        if not 0 < len(value) <= 32:
            raise Status(WRONG_DATA)
        return key.sign(value.rjust(32, b"\0"), ec.ECDSA(Prehashed(hashes.SHA256())))

    def _authenticate_manager(self, template):
        """Proves the management key in both directions: witness, then challenge."""
        cipher = Cipher(TripleDES(DEFAULT_MANAGEMENT_KEY), modes.ECB())
        if template.get(0x80) == b"":
            self.witness = os.urandom(8)
            return encode("7c", encode("80", cipher.encryptor().update(self.witness)))
        witness, self.witness = self.witness, None
        if witness is None or template.get(0x80) != witness or len(template.get(0x81, b"")) != 8:
            raise Status(VERIFICATION_NEEDED)
        return encode("7c", encode("82", cipher.encryptor().update(template[0x81])))

    def _metadata(self, reference):
        """YubiKey: algorithm, policies of PIN and touch, origin and public key of a slot, or the tries of a PIN."""
        if reference in (0x80, 0x81):
            left = self.store.codes["pin-tries" if reference == 0x80 else "puk-tries"]
            return encode("01", b"\xff") + encode("05", b"\0") + encode("06", bytes([TRIES, left]))
        if reference == MANAGEMENT_KEY:
            return encode("01", bytes([TRIPLE_DES])) + encode("02", b"\0\x01") + encode("05", b"\x01")
        if reference not in KEYS:
            raise Status(KEY_NOT_FOUND)
        algorithm = KEYS[reference][0]
        public = self.store.keys[reference].public_key()
        if algorithm == RSA_2048:
            numbers = public.public_numbers()
            point = encode("81", numbers.n.to_bytes(256, "big")) + encode("82", numbers.e.to_bytes(3, "big"))
        else:
            point = encode("86", public.public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint))
        # Policies of the PIN: 1 never, 2 once, 3 always. Touch: 1 never. Origin: 1 generated.
        policy = {PINLESS_KEY: 1, SIGNATURE_KEY: 3}.get(reference, 2)
        return (encode("01", bytes([algorithm])) + encode("02", bytes([policy, 1])) + encode("03", b"\x01")
                + encode("04", point))


def receive(connection, count):
    data = b""
    while len(data) < count:
        # vpcd sends a message in two parts and waits between them for a receipt, which is else 40 ms late.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def serve(card, port):
    """Answers the reader until it ends. Each message has a length of two bytes before it."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        card.reset()
        while True:
            message = receive(connection, int.from_bytes(receive(connection, 2), "big"))
            if len(message) == 1 and message[0] in (0, 1, 2):
                # Power off, power on, reset: no answer.
                card.reset()
                continue
            answer = card.answer_to_reset if message == b"\x04" else card.answer(message)
            connection.sendall(len(answer).to_bytes(2, "big") + answer)


def main():
    directory, port, kind = sys.argv[1:]
    card = Card(Store(directory), is_yubikey=kind == "yubikey")
    while True:
        try:
            serve(card, int(port))
        except (EOFError, OSError):
            # The reader is not there yet, or its daemon was killed and will come back.
            time.sleep(0.05)


main()
