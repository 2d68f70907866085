"""Files of this machine as the API takes them: a name, a type by the name, and the bytes in base 64."""

from pathlib import Path

from upcall.cli.failures import CommandFailed

USAGE = 2


def uploaded(path: Path) -> dict[str, str]:
    """A file as the API takes it."""
    return upload(path.name, content_of(path))


def upload(name: str, content: bytes) -> dict[str, str]:
    """Bytes under a name, as the API takes them."""
    import base64
    import mimetypes

    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return {"name": name, "media_type": guessed, "data": base64.b64encode(content).decode()}


def content_of(path: Path) -> bytes:
    """What is in a file.

    Raises:
        CommandFailed: if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as problem:
        raise CommandFailed(
            f"cannot read {str(path)!r}: {problem.strerror}", hint="name a file that exists", exit_code=USAGE
        ) from None
