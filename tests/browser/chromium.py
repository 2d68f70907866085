"""The system's Chromium, driven by Playwright: no browser is downloaded, and none talks to anybody but us."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def path() -> str | None:
    """Where Chromium is; None when it is not installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    # As root, Chromium runs without its sandbox or not at all.
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else [*FLAGS]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path(), args=flags)
        try:
            yield browser
        finally:
            browser.close()
