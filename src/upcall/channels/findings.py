"""What a check of a channel reports."""

from upcall.domain.channel.showing import Finding


def refused(setting: str, problem: Exception) -> Finding:
    """That the vendor refuses what a setting holds. Behind a colon, the problem says what to do about it."""
    said, _, hint = str(problem).partition(": ")
    return Finding(ok=False, text=f"{setting}: {said}", hint=hint)
