"""A person with a browser that runs no scripts: follows links, fills in forms, keeps cookies."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

import httpx2

from tests.plain_http import plain_client
from tests.web.house import House

HTML = {"Accept": "text/html,*/*;q=0.8", "Accept-Language": "en-GB,en;q=0.9"}


@dataclass
class Form:
    """A form of a page, as it is sent without a change."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    offered: list[tuple[str, str]] = field(default_factory=list)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # type: ignore[explicit-override]  # 3.11 has none
        told = {name: value or "" for name, value in attrs}
        if tag == "form" and told.get("method") == "post":
            self.found.append(Form(told["action"]))
        if not self.found or "name" not in told:
            return
        form, pair = self.found[-1], (told["name"], told.get("value", ""))
        if tag == "button":
            form.buttons.append(pair)
        elif tag == "input" and told["type"] in {"radio", "checkbox"}:
            form.offered.append(pair)
        elif tag == "input":
            form.fields.append(pair)


class Visitor:
    """A person who looks at pages."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.client = plain_client(
            base_url=house.url,
            headers=HTML,
            transport=None if house.over_socket else httpx2.ASGITransport(house.app),
            timeout=30,
            trust_env=False,
        )

    async def signs_in(self, name: str = "ana") -> httpx2.Response:
        """Open a link of one's own and go through the door."""
        link = (await self._house.as_(name).post("/v1/sign-in-links")).json()["url"]
        (form,) = forms((await self.client.get(link)).text)
        entered = await self.sends(form)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        return entered

    async def looks(self, path: str = "/") -> str:
        """What a page says, once one may see it."""
        response = await self.client.get(path)
        assert response.status_code == 200, response.text
        return response.text

    async def sends(
        self, form: Form, *chosen: tuple[str, str], headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Send a form with what was filled in."""
        return await self.client.post(
            form.action,
            content=urlencode([*form.fields, *chosen]),
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                **({"Origin": str(self.client.base_url).rstrip("/")} if headers is None else headers),
            },
        )

    async def form(self, path: str, ending: str) -> Form:
        """The form on a page that does something."""
        return next(form for form in forms(await self.looks(path)) if form.action.endswith(ending))


def forms(html: str) -> list[Form]:
    """The forms of a page."""
    parser = _Forms()
    parser.feed(html)
    return parser.found


def words(html: str) -> str:
    """What a page says, without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
