"""A fuzzer of files: bytes or lines of a file that is valid, changed a little."""

from __future__ import annotations

from random import Random

BYTES = [bytes([byte]) for byte in b"\x00\xff\r\n,\"'[]{}=#\\-e"]
WORDS = [word.encode() for word in ("", "0", "-1", "1e400", "-0.0", "1e-320", "1/0", "1_000", "0x10", "nan", "inf")]
WORDS += [
    word.encode() for word in ("null", "true", "2024-01-01", "2024-13-45T99:00", "\u00e9\u2603", '""', "[]", "a b")
]
WORDS += [b"9" * 20, b"9" * 5000]


def mutated(content: bytes, random: Random) -> bytes:
    """The content after one to three changes."""
    for _ in range(random.randint(1, 3)):
        content = random.choice((_bytes, _bytes, _lines, _words))(content, random)
    return content


def _bytes(content: bytes, random: Random) -> bytes:
    """Cut, change, insert or repeat some bytes."""
    at = random.randrange(len(content) + 1)
    to = min(len(content), at + random.choice((0, 1, 1, 2, 8, 64)))
    middle = random.choice((b"", random.choice(BYTES), random.randbytes(to - at), 2 * content[at:to]))
    return content[:at] if random.random() < 0.05 else content[:at] + middle + content[to:]


def _lines(content: bytes, random: Random) -> bytes:
    """Drop, repeat or move a line."""
    lines = content.splitlines(keepends=True) or [b""]
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randrange(3)):
        lines.insert(random.randint(0, len(lines)), line)
    return b"".join(lines)


def _words(content: bytes, random: Random) -> bytes:
    """Put an odd word in place of one."""
    words = [place for place, byte in enumerate(content) if chr(byte).isalnum()]
    if not words:
        return content
    begin = end = random.choice(words)
    while end < len(content) and (chr(content[end]).isalnum() or content[end] in b"._"):
        end += 1
    return content[:begin] + random.choice(WORDS) + content[end:]
