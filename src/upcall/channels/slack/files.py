"""Fetches files that people send in Slack, with the bot's token, which goes to Slack alone."""

from urllib.parse import urlsplit

import aiohttp

from upcall.channels.fetching import first_bytes
from upcall.channels.slack.app import FILES_SCOPE
from upcall.ports.channel import Refused, Unavailable

HOSTS = ("slack.com", "slack-files.com")


async def fetched(address: str, most: int, *, token: str, api_url: str, seconds: float) -> bytes:
    """The content of a file; of a larger one, just more than `most` bytes.

    Raises:
        Refused: if Slack does not let the app read it.
        Unavailable: if it cannot be fetched now.
    """
    if not _is_slack(address, api_url):
        raise Refused("the file is not at Slack")
    headers = {"Authorization": f"Bearer {token}"}
    timeout = aiohttp.ClientTimeout(total=seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(address, headers=headers, allow_redirects=False) as reply,
        ):
            # Without the scope, Slack leads to its page for signing in, or shows it.
            if reply.status in {302, 401, 403} or (reply.status == 200 and reply.content_type == "text/html"):
                raise Refused(
                    f"Slack does not let the app read files: the scope {FILES_SCOPE} may be missing"
                )
            if reply.status == 404:
                raise Refused("the file is gone")
            if reply.status != 200:
                raise Unavailable(f"Slack says {reply.status}")
            return await first_bytes(reply.content.iter_chunked(64 * 1024), most)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unavailable(f"Slack cannot be reached: {type(error).__name__}") from error


def _is_slack(address: str, api_url: str) -> bool:
    """Whether an address is one of Slack's, or of the server that stands for it in the settings."""
    try:
        asked, ours = urlsplit(address), urlsplit(api_url)
        host = asked.hostname or ""
    except ValueError:
        return False
    if api_url and (asked.scheme, asked.netloc) == (ours.scheme, ours.netloc):
        return True
    return asked.scheme == "https" and any(host == name or host.endswith(f".{name}") for name in HOSTS)
