"""archive.py FILE NAME SECONDS PATH...: packs files and directories below the directory NAME, as a
zip or a gzipped tar by the end of FILE. The same content makes the same bytes: each file has the time
SECONDS, and no owner."""

import gzip
import os
import sys
import tarfile
import time
import zipfile

to, name, seconds, paths = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
files: list[tuple[str, str]] = []
for path in paths:
    base = os.path.dirname(os.path.abspath(path))
    walked = [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, names in os.walk(path) for f in names]
    files += [(f"{name}/{os.path.relpath(os.path.abspath(file), base)}", file) for file in walked]
files.sort()


def mode(file: str) -> int:
    return 0o755 if os.access(file, os.X_OK) else 0o644


if to.endswith(".zip"):
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for inside, file in files:
            entry = zipfile.ZipInfo(inside.replace(os.sep, "/"), time.gmtime(seconds)[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, mode(file) << 16
            with open(file, "rb") as content:
                packed.writestr(entry, content.read())
else:
    with open(to, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, seconds) as zipped, tarfile.open(fileobj=zipped, mode="w") as packed:
        for inside, file in files:
            info = tarfile.TarInfo(inside)
            info.size, info.mtime, info.mode = os.path.getsize(file), seconds, mode(file)
            with open(file, "rb") as content:
                packed.addfile(info, content)
