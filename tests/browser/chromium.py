"""The system's Chromium, driven by Playwright: no browser is downloaded, and none talks to any host but the daemon."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SHELL = "chromium-headless-shell"
"""The same engine without all that needs a window: it takes half the processor time."""

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
    return _found(*NAMES)


def _found(*names: str) -> str | None:
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in names if (found := shutil.which(name))), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_found(SHELL, *NAMES), args=_flags())
        try:
            yield browser
        finally:
            browser.close()


class Shared:
    """One browser for all the files that a process tests one after another: to start it takes two seconds."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        """That browser, started for the first that needs it."""
        self._browser = self._browser or self._open.enter_context(launched())
        return self._browser

    def close(self) -> None:
        """End it: while it is there, this thread runs no other event loop than Playwright's."""
        self._browser = None
        self._open.close()


@contextmanager
def whole(browser: Browser) -> Iterator[Browser]:
    """Another one, which shows notifications: the headless shell does not."""
    complete = browser.browser_type.launch(executable_path=path(), args=_flags())
    try:
        yield complete
    finally:
        complete.close()


@contextmanager
def at_home(browser: Browser, folder: Path, **variables: str) -> Iterator[BrowserContext]:
    """Another one, with a profile on disk, as a person's own: only such a profile is told when a notification is pressed."""
    context = browser.browser_type.launch_persistent_context(
        folder, executable_path=path(), args=_flags(), locale="en-GB", env={**os.environ, **variables}
    )
    try:
        yield context
    finally:
        context.close()


def _flags() -> list[str]:
    # As root, Chromium runs without its sandbox or not at all.
    return [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else [*FLAGS]
