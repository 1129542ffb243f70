"""The commands that are interrupted, and the conditions that must hold afterwards.

The checks only run the command in new processes. They know nothing about files and journals.
"""

import json
import os
import subprocess

from .home import DONE, DUPLICATE, NOT_FOUND, USABLE_WITH_WARNINGS, make_p12

ABSENT, WHOLE = "absent", "whole"


class Scenario:
    """A command, the words to repeat it with, and `effect(home)`: ABSENT, WHOLE or a description of the problem.

    - absent_when_done: the command removes; once it is done, its effect is ABSENT.
    - spared: the items of the template that the command may remove: "old", "site".
    - refuses_again: once it is done, the same command refuses to do it again.
    """

    def __init__(self, name, words, effect, again=(), template="full", absent_when_done=False, spared=(),
                 refuses_again=False):
        self.name, self.words, self.effect, self.template = name, words, effect, template
        self.again = [*words, *again]
        self.done_effect = ABSENT if absent_when_done else WHOLE
        self.spared, self.refuses_again = spared, refuses_again


def prepare(home):
    """Makes the templates: "empty", and "full" with a keychain that has each kind of item, and a second keychain."""
    for name in ("imported", "coming", "later"):
        make_p12(home.base, name)
    home.clear()
    home.save("empty")
    home.must("init", "--unattended")
    home.must("set", "keep", "--stdin", "--keep-newline", stdin=b"kept \xc3\xa9\n")
    home.must("set", "old", "--stdin", stdin=b"old value")
    home.must("key", "generate", "loose", "--type", "ec")
    home.must(*import_words(home, "imported"))
    home.must("identity", "create", "mine", "--self-signed", "--cn", "mine")
    home.must("keychain", "create", "site", "--unattended")
    home.must("set", "s", "--stdin", "-k", "site", stdin=b"site value")
    home.must("identity", "create", "shop", "--self-signed", "--cn", "shop", "-k", "site")
    home.keys = {k: fingerprints(home, k) for k in ("login", "site")}
    home.save("full")
    home.must("keychain", "backup", str(home.path / "site.tar"), "-k", "site")
    home.must("keychain", "rm", "site", "--yes")
    home.save("without-site")


def import_words(home, name):
    source = f"file:{home.base}/passphrase"
    return ["identity", "import", str(home.base / f"{name}.p12"), "--name", name, "--pass-source", source]


def scenarios(home):
    value = ["--from-file", str(home.base / "value"), "--keep-newline"]
    backup = str(home.path / "new.tar")
    return [
        Scenario("set", ["set", "new", *value], secret("new", home.base / "value"), again=["--if-missing"]),
        Scenario("rm", ["rm", "old", "--yes"], secret("old", b"old value"), again=["--if-exists"],
                 absent_when_done=True, spared=("old",)),
        Scenario("import", import_words(home, "coming"), identity("coming")),
        Scenario("create", ["identity", "create", "new", "--self-signed", "--cn", "new"], identity("new"),
                 again=["--if-missing"]),
        Scenario("renew", ["identity", "renew", "mine", "--force", "--new-key"], identity("mine")),
        Scenario("init", ["init", "--unattended"], keychain("login"), template="empty"),
        Scenario("keychain-create", ["keychain", "create", "other", "--unattended"], keychain("other"),
                 again=["--if-missing"]),
        Scenario("keychain-rm", ["keychain", "rm", "site", "--yes"], site, again=["--if-exists"],
                 absent_when_done=True, spared=("site",)),
        Scenario("keychain-backup", ["keychain", "backup", backup, "-k", "site"], backup_file(backup),
                 again=["--force"]),
        Scenario("keychain-restore", ["keychain", "restore", str(home.path / "site.tar")], site,
                 template="without-site", spared=("site",), refuses_again=True),
    ]


# Effects


def secret(name, expected):
    def effect(home):
        value = expected if isinstance(expected, bytes) else expected.read_bytes()
        got = home.run("get", name, "--raw")
        if got.code == NOT_FOUND:
            return ABSENT
        return WHOLE if got.code == DONE and got.out == value else f"secret {name} does not read back: {got.text}"
    return effect


def identity(name):
    def effect(home):
        got = home.run("identity", "check", name)
        if got.code in (DONE, USABLE_WITH_WARNINGS):
            return WHOLE
        if got.code != NOT_FOUND:
            return f"identity {name} is listed, but not usable: {got.text}"
        names = [key["name"] for key in (home.document("key", "ls") or {}).get("keys", [])]
        return f"key {name} has no certificate" if name in names else ABSENT
    return effect


def keychain(name):
    def effect(home):
        names = listed(home)
        if not isinstance(names, list):
            return names
        if name not in names:
            return ABSENT
        stored = home.run("set", "probe", "--replace", "--stdin", "-k", name, stdin=b"probe")
        got = home.run("get", "probe", "--raw", "-k", name)
        ok = stored.code == DONE and got.out == b"probe"
        return WHOLE if ok else f"keychain {name} is listed, but not usable: {stored.text}; {got.text}"
    return effect


def site(home):
    names = listed(home)
    if not isinstance(names, list):
        return names
    if "site" not in names:
        return ABSENT
    problems = check_site(home)
    return problems[0] if problems else WHOLE


def backup_file(path):
    """Whether the backup restores keychain "site" after its removal. The home is restored afterwards."""
    def effect(home):
        if not os.path.lexists(path):
            return ABSENT
        home.save("aside")
        home.run("keychain", "rm", "site", "--yes")
        restored = home.run("keychain", "restore", path)
        problems = check_site(home) if restored.code == DONE else [restored.text]
        home.load("aside")
        return f"the backup exists, but cannot be restored: {problems[0]}" if problems else WHOLE
    return effect


# Conditions that must always hold


def listed(home):
    """The names of the keychains, or the reason why they are not listed."""
    got = home.run("keychain", "ls", "--json")
    if got.code != DONE:
        return f"keychain ls fails: {got.text}"
    return [entry["name"] for entry in json.loads(got.out)["keychains"]]


def fingerprints(home, name):
    document = home.document("key", "ls", "-k", name)
    return {key["fingerprint"] for key in (document or {}).get("keys", [])}


def signs(home, name, chain="login"):
    got = home.run("identity", "check", name, "-k", chain)
    return [] if got.code in (DONE, USABLE_WITH_WARNINGS) else [f"identity {name} does not sign: {got.text}"]


def check_loose(home):
    """A key without a certificate signs a request, which openssl verifies."""
    request = home.run("key", "csr", "loose", "--cn", "loose")
    verified = subprocess.run(
        ["openssl", "req", "-verify", "-noout"], input=request.out, capture_output=True, check=False)
    return [] if request.code == DONE and verified.returncode == 0 else [f"key loose does not sign: {request.text}"]


def check_site(home):
    problems = signs(home, "shop", "site")
    got = home.run("get", "s", "--raw", "-k", "site")
    if got.out != b"site value":
        problems.append(f"secret s of keychain site is lost: {got.text}")
    return problems + lost_keys(home, "site")


def lost_keys(home, name):
    lost = home.keys[name] - fingerprints(home, name)
    return [f"{len(lost)} keys of keychain {name} are lost"] if lost else []


# Findings of `keychain check` about objects that an interrupted command was making. SoftHSM creates the file of an
# object before it has the content, and nothing tells such a file from a damaged one.
HALF_WRITTEN, UNLISTED = "object.unreadable", "object.unlisted"


def audit(home, *accepted, words=(), name="login"):
    """Runs `keychain check`. Returns its findings whose code is not in `accepted`."""
    got = home.run("keychain", "check", name, "--secrets", "--json", *words)
    try:
        document = json.loads(got.out)
        findings = document["findings"]
    except (ValueError, KeyError):
        return [f"keychain check {name}: {got.text}"]
    problems = [f"keychain check {name}: {entry['code']}: {entry['text']}" for entry in findings
                if entry["code"] not in accepted]
    if not findings and got.code != DONE:
        problems.append(f"keychain check {name}: {got.text}")
    return problems


def everything(home, scenario):
    """Checks everything in the template that the command was not asked to destroy; a quick check, only a part."""
    if scenario.template == "empty":
        return []
    problems = audit(home, HALF_WRITTEN, UNLISTED)
    for name, value in (("keep", b"kept \xc3\xa9\n"), ("old", b"old value")):
        if name in scenario.spared or (name == "old" and home.is_quick):
            continue
        got = home.run("get", name, "--raw")
        if got.out != value:
            problems.append(f"secret {name} is lost: {got.text}")
    problems += lost_keys(home, "login")
    for name in ("imported", "mine"):
        problems += signs(home, name)
    if home.is_quick:
        return problems
    entries = (home.document("identity", "ls") or {}).get("identities")
    if entries is None:
        problems.append("identity ls fails")
    for name in {entry["name"] for entry in entries or []} - {"imported", "mine"}:
        problems += signs(home, name)
    problems += check_loose(home)
    if "site" not in scenario.spared:
        problems += check_site(home)
    return problems


def verify(home, scenario, reported):
    """Checks a home after the command was interrupted.

    - reported: whether the command reported success.
    - Returns: descriptions of the problems.
    """
    effect = scenario.effect(home)
    problems = [] if effect in (ABSENT, WHOLE) else [f"incomplete: {effect}"]
    if reported and effect != scenario.done_effect:
        problems.append(f"reported as done, but {effect}")
    problems += everything(home, scenario)
    again = home.run(*scenario.again)
    is_refusal = scenario.refuses_again and effect == scenario.done_effect and again.code == DUPLICATE
    if again.code != DONE and not is_refusal:
        return problems + [f"the same command again fails: {again.text}"]
    effect = scenario.effect(home)
    if effect != scenario.done_effect:
        problems.append(f"after the same command again: {effect}")
    # One half of a key pair cannot be used again. It stays unlisted until a repair.
    problems += [f"after the same command again: {problem}" for problem in audit(home, HALF_WRITTEN, UNLISTED)]
    # A repair removes what is left, and nothing else.
    problems += [f"after a repair: {problem}" for problem in audit(home, HALF_WRITTEN, words=["--repair", "--yes"])]
    effect = scenario.effect(home)
    if effect != scenario.done_effect:
        problems.append(f"after a repair: {effect}")
    return problems


# Backups of a vault


def vault_changes(home):
    """The commands during which vaults are copied."""
    nothing = secret("keep", b"")
    return [
        Scenario("import", import_words(home, "coming"), nothing),
        Scenario("identity-rm", ["identity", "rm", "mine", "--yes"], nothing, absent_when_done=True),
    ]


def all_keys_sign(home, keys, scenario):
    """Every key of `keys`, fingerprints by keychain, still signs after the keychains were used.

    A vault of the middle of an import hides the key, as after an interruption, until the import is repeated.
    """
    problems = []
    for name, expected in keys.items():
        # Commands that write also repair incomplete changes. Their results do not matter here.
        home.run("set", "probe", "--replace", "--stdin", "-k", name, stdin=b"probe")
        home.run("key", "generate", "probe", "--type", "ec", "-k", name)
        found = fingerprints(home, name)
        if expected - found and scenario.done_effect == WHOLE:
            home.run(*scenario.words)
            found = fingerprints(home, name)
        problems += [f"key {lost} of keychain {name} is lost" for lost in sorted(expected - found)]
        for fingerprint in sorted(expected & found):
            request = home.run("key", "csr", fingerprint, "--cn", "x", "-k", name)
            verified = subprocess.run(
                ["openssl", "req", "-verify", "-noout"], input=request.out, capture_output=True, check=False)
            if request.code != DONE or verified.returncode != 0:
                problems.append(f"key {fingerprint} of keychain {name} does not sign: {request.text}")
    return problems
