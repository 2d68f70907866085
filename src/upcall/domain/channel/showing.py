"""The values between the core and every channel: what a channel shows, and what it hands back.

Nothing here knows a vendor. A channel says what it can do, the core decides what is shown with that, and on the wire
there is only an inquiry's id and the positions of options.
"""

from dataclasses import dataclass
from enum import StrEnum


class Control(StrEnum):
    """How one question can be answered."""

    BUTTONS = "buttons"
    RADIO = "radio"
    SELECT = "select"
    CHECKBOXES = "checkboxes"
    MULTI_SELECT = "multi_select"
    INPUT = "input"
    WORDS = "words"
    """Nothing to press: the person replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a channel can show: how many options of each sort (0 is none at all), and how much text.

    `body` counts everything that is shown, as JSON in UTF-16; labels are counted in UTF-16 as well; `form` is how many
    questions one form takes.
    """

    buttons: int = 0
    button_label: int = 20
    radio: int = 0
    select: int = 0
    checkboxes: int = 0
    multi_select: int = 0
    option_label: int = 75
    form: int = 0
    text_input: bool = False
    replies: bool = True
    """Whether an answer in words can say which message it is about: a thread, a quote."""
    edit: bool = True
    two_phase: bool = False
    """Whether `show` sends a message without controls, and the first `refresh`, once the message is on record, adds them. For
    vendors that can neither refuse a repetition nor look a message up: a message that a crash left unrecorded cannot be pressed."""
    link: bool = False
    """Whether its messages carry a link with which they can be answered elsewhere."""
    personal: bool = False
    """Whether a place is a person's own, and its address their name."""
    one_way: bool = False
    """Whether it only tells: then nothing in it can approve anything, and what is cut is whole behind the link."""
    caseless: bool = False
    """Whether addresses and ids of people are the same in capital letters: then they are kept in small ones."""
    letters: bool = False
    """Whether words come out of letters, from among quotations and signatures: then nothing but the word decides an approval."""
    body: int = 3000
    pressable: int = 0
    """How much text still leaves room for something to press, counted as `body` is; 0 if all of it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option as it is shown. `label` is on the control; a number where the label itself does not fit there."""

    label: str
    full: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was given for one question: positions of options, counted from 0, and words."""

    picks: tuple[int, ...] = ()
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question as it is shown."""

    header: str
    text: str
    control: Control
    choices: tuple[Choice, ...] = ()
    custom: bool = True
    multi: bool = False
    numbered: bool = False
    """Whether the choices are listed by number beside the text."""
    other: bool = False
    """Whether the last number on the list asks for words of one's own instead of being a choice."""
    typed: bool = False
    """Whether it is a field of a form."""
    optional: bool = False
    """Whether a field can be left out."""
    initial: Given = Given()
    """What a field has before a person gives anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a message about an inquiry shows. All of it is plain text.

    `stage` tells views of one inquiry apart: a message that shows this stage is up to date. `outcome` is how it ended,
    and then there is nothing to press. `form` means that the questions are answered together, in a form of their own. `more` names what
    cannot be shown here, files, previews and what was cut, and where it can be seen: each of its lines ends with that
    address. `link` is where it can be answered, for channels that carry one; `page` is where it can be seen whole.
    """

    inquiry: str
    ref: str
    stage: str
    heading: str
    context: str
    questions: tuple[Asked, ...]
    hint: str
    approval: bool = False
    plan: bool = False
    form: bool = False
    progress: str = ""
    more: str = ""
    link: str = ""
    page: str = ""
    outcome: str | None = None
    agent: str = ""
    asker: str = ""
    """The name of the agent for people."""
    run: int | None = None
    secret: bool = False
    """Whether neither its words nor its answer belong where others may look over a shoulder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A message: the place that it was meant for, and its own name, which only the channel understands."""

    place: str
    message: str
    is_certain: bool = True
    """False where the channel may have sent it, and cannot find out whether it arrived."""


class Odd(StrEnum):
    """What a person did that cannot be read as an answer."""

    MESSAGE = "message"
    """A voice note, a sticker, a picture without words."""
    REACTION = "reaction"
    """A reaction that stands for no choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """A file that a person sent with their words: the content where it came along, otherwise where the channel finds it.

    One without either is of a sort that the channel does not fetch.
    """

    name: str
    at: str = ""
    size: int | None = None
    content: bytes | None = None

    @property
    def is_there(self) -> bool:
        """Whether its content can be had."""
        return bool(self.at) or self.content is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """Something that a person did in a channel.

    `id` recognises the same thing delivered twice; `user` is the channel's own id of the person, which never changes, and
    `alias` another one under which they may be known.
    A press or a form names its `inquiry` and what was `given` for each question; `words` are as they were written,
    `files` came with them, and `odd` is what can be read as neither.
    `at` is when the channel itself says that it was done, in seconds since 1970; None if it does not say.
    """

    id: str
    user: str
    place: str
    alias: str = ""
    message: str | None = None
    inquiry: str | None = None
    given: tuple[Given, ...] | None = None
    words: str = ""
    rest: str = ""
    """Words that came with these, and that may be the person's or a footer: an approval is not decided beside them."""
    files: tuple[SentFile, ...] = ()
    odd: Odd | None = None
    at: float | None = None
    proven: bool = True
    """Whether it is certain that `user` did it. Where it is not, nothing but a one-time code counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The result of an act: the line to show to that person, if any, and whether the act counts.

    `again` means that it could not be stored, and the channel may deliver it once more.
    """

    line: str
    accepted: bool
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding of a check of a channel."""

    ok: bool
    text: str
    hint: str = ""
