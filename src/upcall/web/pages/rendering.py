"""Pages and cards as HTML. The only module that knows the template engine; it is imported with the first page."""

import json
from collections.abc import Iterable
from types import CodeType
from typing import Any, Unpack

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup
from typing_extensions import override

from upcall.domain.answer.files import ACCEPTED
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.roles import Caller
from upcall.web.pages.cards import Additions, card
from upcall.web.pages.forms import OTHER, SPANS
from upcall.web.pages.locales import LANGUAGES, Words
from upcall.web.pages.markdown import preformatted, rendered
from upcall.web.pages.outcomes import held_line, resolution
from upcall.web.pages.rows import LEFT_MATTERS, row


class CompiledTemplates(BytecodeCache):
    """What the templates are compiled to, once for a process: it takes longer than all else about a page."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType] = {}

    @override
    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(bucket.key)

    @override
    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._codes[bucket.key] = bucket.code


_COMPILED = CompiledTemplates()


def environment() -> Environment:
    """The templates, with no values that differ between installations."""
    templates = Environment(
        loader=PackageLoader("upcall.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=_COMPILED,
    )
    templates.filters |= {"iso": _iso, "size": _size, "markdown": rendered, "preformatted": preformatted}
    return templates


class Rendering:
    """Fills the templates. Every value is escaped unless it is `Markup`."""

    def __init__(self, *, card_label: str = "", program: str = "upcall") -> None:
        self._templates = environment()
        self._templates.globals |= {
            "spans": tuple(SPANS),
            "other": OTHER,
            "taken": ACCEPTED,
            "languages": LANGUAGES,
            "card_label": card_label,
            "upcall": program,
            "left_matters": LEFT_MATTERS,
        }

    def page(self, name: str, words: Words, caller: Caller | None, **values: object) -> str:
        """A whole page."""
        return self._templates.get_template(name).render(
            **_common(words), caller=caller, browser_words=words.for_the_browser(), **values
        )

    def part(self, name: str, words: Words, **values: object) -> str:
        """A part of a page."""
        return self._templates.get_template(name).render(**_common(words), **values)

    def card(
        self,
        inquiry: Inquiry,
        words: Words,
        *,
        now: float,
        token: str,
        view: str = "inbox",
        link: str = "",
        **additions: Unpack[Additions],
    ) -> Markup:
        """One inquiry. `view` is where it stands: in the inbox, alone on its page, in the history, or behind a link."""
        shown = card(inquiry, words, now, **additions)
        text = self._templates.get_template("card.html").render(
            **_common(words), card=shown, now=now, token=token, view=view, link=link
        )
        # Made by a template of ours, which escapes.
        return Markup(text)  # noqa: S704

    def outcome(self, inquiry: Inquiry, words: Words) -> str:
        """How an inquiry was decided, in a line."""
        end = resolution(inquiry, words)
        return held_line(inquiry, words) if end is None else end.sentence

    def row(self, inquiry: Inquiry, words: Words, now: float) -> Markup:
        """One inquiry in the list of the inbox."""
        text = self._templates.get_template("row.html").render(
            **_common(words), row=row(inquiry, words, now), now=now
        )
        # As above.
        return Markup(text)  # noqa: S704


def _common(words: Words) -> dict[str, Any]:
    return {"t": words.say, "age": words.age, "moment": words.moment, "language": words.language}


def _iso(at: float) -> str:
    return json.dumps(round(at, 3))


def _size(count: int) -> str:
    units: Iterable[tuple[int, str]] = ((1024 * 1024, "MB"), (1024, "kB"))
    for unit, name in units:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"
