"""Verify a pack with dulwich: run as a script, on its own.

``python -P dulwich_check.py sha1|sha256 PACK`` compares the checksum, rebuilds every object, hashes
it and has dulwich check its grammar. It prints how many there were and how many dulwich calls odd.
"""

import sys

from dulwich.errors import ChecksumMismatch, ObjectFormatException
from dulwich.object_format import SHA1, SHA256
from dulwich.pack import PackData, PackInflater


def check(object_format: str, pack: str) -> tuple[int, int]:
    """The number of objects, and of those that are odd."""
    objects = odd = 0
    with PackData(pack, SHA256 if object_format == "sha256" else SHA1) as data:
        data.check()
        for item in PackInflater.for_pack_data(data):
            objects += 1
            try:
                item.check()
            except (ChecksumMismatch, ObjectFormatException):
                odd += 1
    return objects, odd


if __name__ == "__main__":
    print("{} objects, {} of them odd".format(*check(sys.argv[1], sys.argv[2])))
