"""A power cut, simulated from the record of a command's system calls.

The simulated file system is one with a journal, such as ext4 or XFS: changes of names, directories and modes reach the
disk in their order, and each sync of any file or directory commits those before it. Contents and lengths reach the disk
only with a sync of that file. With `strict`, names reach the disk only with a sync of their directory.

A cut leaves one of two trees:
- dropped: only synced changes are on the disk.
- names: all names are on the disk, but only synced contents. The journal was written, the data was not.

Not simulated: half a write, blocks in another order, shared mappings, and mode changes that are lost.
"""

import os
import pathlib

# KEPT is the tree that a program sees at that moment, without a power cut.
DROPPED, NAMES, KEPT = "dropped", "names", "kept"


class Node:
    def __init__(self, mode, content=None, link=None):
        self.mode, self.link = mode, link
        self.names = {} if content is None and link is None else None
        self.content = bytearray(content or b"")
        self.saved_names, self.saved_content = {}, b""

    def save_content(self):
        self.saved_content = bytes(self.content)

    def save_names(self):
        if self.names is not None:
            self.saved_names = dict(self.names)


class Disk:
    """The directory `root` as the running command sees it, and as the disk has it."""

    def __init__(self, root, strict=False):
        self.prefix, self.strict, self.nodes = str(root), strict, {}
        self.root = self._load(pathlib.Path(root))
        for node in self.all():
            node.save_content()
            node.save_names()

    def _load(self, path):
        status = path.lstat()
        if path.is_symlink():
            node = Node(status.st_mode, link=os.readlink(path))
        elif path.is_dir():
            node = Node(status.st_mode)
            node.names = {child.name: self._load(child) for child in path.iterdir()}
        else:
            node = Node(status.st_mode, path.read_bytes() if path.is_file() else b"")
        self.nodes[status.st_ino] = node
        return node

    def all(self):
        found, left = [], [self.root]
        while left:
            node = left.pop()
            found.append(node)
            left += (node.names or {}).values()
        return found

    def _place(self, path):
        """The directory and the name of a path; None outside the root."""
        path = os.path.normpath(path)
        if not path.startswith(self.prefix + "/"):
            return None, None
        *folders, name = path[len(self.prefix) + 1:].split("/")
        node = self.root
        for folder in folders:
            node = node.names[folder] if node and node.names and folder in node.names else None
        return node, name

    def apply(self, operation, inode, number, first, second, data):
        """Applies a record of trace.c."""
        parent, name = self._place(first) if first else (None, None)
        node = self.nodes.get(inode)
        if operation in ("create", "truncate", "mkdir"):
            if parent is None:
                self.nodes.pop(inode, None)
                return
            if name not in parent.names:
                parent.names[name] = Node(number, None if operation == "mkdir" else b"")
            self.nodes[inode] = parent.names[name]
            if operation == "truncate":
                parent.names[name].content.clear()
        elif operation == "write" and node:
            node.content.extend(bytes(max(0, number - len(node.content))))
            node.content[number:number + len(data)] = data
        elif operation == "length" and node:
            del node.content[number:]
            node.content.extend(bytes(number - len(node.content)))
        elif operation == "mode" and node:
            node.mode = number
        elif operation == "remove" and parent:
            parent.names.pop(name, None)
        elif operation == "symlink":
            place, name = self._place(second)
            if place:
                place.names[name] = Node(0o120777, link=first)
        elif operation in ("rename", "link", "exchange"):
            self._move(operation, parent, name, *self._place(second))
        elif operation == "sync" and node:
            node.save_content()
            for changed in [node] if self.strict else self.all():
                changed.save_names()
        elif operation == "syncall":
            for changed in self.all():
                changed.save_content()
                changed.save_names()

    @staticmethod
    def _move(operation, source, name, target, new_name):
        node = source.names.get(name) if source else None
        if target is None or node is None:
            if node and operation == "rename":
                del source.names[name]
            return
        if operation == "exchange":
            source.names[name] = target.names[new_name]
        elif operation == "rename":
            del source.names[name]
        target.names[new_name] = node

    def after_cut(self, kind):
        """The content of the disk: a dictionary of relative paths to (mode, content or link)."""
        tree, left = {}, [("", self.root)]
        while left:
            path, node = left.pop()
            if node.link is not None:
                tree[path] = (node.mode, node.link)
            elif node.names is None:
                tree[path] = (node.mode, bytes(node.content) if kind == KEPT else node.saved_content)
            else:
                tree[path] = (node.mode, None)
                names = node.saved_names if kind == DROPPED else node.names
                left += [(f"{path}/{name}" if path else name, child) for name, child in names.items()]
        return tree


def read_log(path):
    """The records of trace.c."""
    data, at = pathlib.Path(path).read_bytes(), 0
    while at < len(data):
        end = data.index(b"\n", at)
        operation, inode, number, length, first, second = os.fsdecode(data[at:end]).split("\t")
        at = end + 1 + int(length)
        yield operation, int(inode), int(number), first, second, data[end + 1:at]


def described(record, root):
    """A record in words, with paths relative to `root`."""
    paths = [path.removeprefix(f"{root}/") for path in record[3:5] if path]
    return " ".join([record[0], *paths])


def write_tree(tree, root):
    """Writes a tree of after_cut to the new directory `root`."""
    for path, (mode, content) in sorted(tree.items()):
        target = pathlib.Path(root) / path
        if content is None:
            target.mkdir(mode & 0o7777)
        elif isinstance(content, str):
            target.symlink_to(content)
            continue
        else:
            target.write_bytes(content)
        target.chmod(mode & 0o7777)
