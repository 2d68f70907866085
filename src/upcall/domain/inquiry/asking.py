"""From what an agent sent to a well-formed question, or an error that teaches it the right form.

Small well-known slips are repaired (an option given as a bare string, `title` for `label`, JSON sent as a
string); everything else that breaks a limit is refused, naming the field, the limit and a valid example.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.field import Field
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Kind, OnExpiry, Option, Question, Subject
from upcall.domain.inquiry.limits import Limits
from upcall.domain.inquiry.plans import question as plan_question
from upcall.domain.inquiry.response_schema import EXAMPLE as SCHEMA_EXAMPLE, form_in
from upcall.domain.inquiry.uploads import Upload, uploads
from upcall.domain.inquiry.wording import duration
from upcall.domain.text import forms
from upcall.domain.text.display import visible
from upcall.domain.text.forms import EXAMPLE, Fields
from upcall.domain.text.invisible import without_invisible
from upcall.domain.text.normalizing import normalized
from upcall.domain.text.redaction import Redacted, may_hold_secrets, redact, redact_action

MOST_LABELS = 10
LONGEST_LABEL = 50
APPROVAL_OPTIONS = (Option(label=APPROVE), Option(label=DENY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A question that is ready to be asked."""

    kind: Kind
    questions: tuple[Question, ...]
    context: str = ""
    uploads: tuple[Upload, ...] = ()
    ttl: float | None = None
    default: str | None = None
    on_expiry: OnExpiry | None = None
    labels: tuple[str, ...] = ()
    secret: bool = False
    redacted: int = 0
    digest: str = ""
    subject: Subject | None = None
    earlier_plan: str = ""


def draft(sent: object, limits: Limits = Limits()) -> Draft:
    """Read a question as an agent sent it.

    Raises:
        InvalidInquiry: if it cannot be asked; the error says which field, which limit and shows a valid call.
    """
    fields = forms.mapping(forms.parsed(sent), "inquiry")
    if fields.get("response_schema") is not None:
        fields, questions = _form(fields, limits)
    else:
        questions = _questions(fields, limits)
    kind = _kind(fields.get("kind"), questions)
    if kind is Kind.APPROVAL:
        questions = [_approval(questions)]
    context = forms.text(fields.get("context"), "context")
    if kind is Kind.PLAN:
        questions = [plan_question(questions, context)]
    if len(context.encode()) > limits.context_bytes:
        raise InvalidInquiry(
            "context",
            f"at most {limits.context_bytes} bytes, got {len(context.encode())}",
            hint="attach the rest",
        )
    files = uploads(fields.get("attachments"), limits)
    default = _default(fields.get("default"), kind, questions)
    digest = _digest(kind, questions, context, files, default)
    # What a person approves may be run: nothing that could act is hidden in it.
    masked, shown, redacted = _masked(questions, context, redact_action if kind is Kind.APPROVAL else redact)
    for number, question in enumerate(masked):
        # Labels that differed only in their secrets are the same by now.
        _refuse_equal(question.options, f"questions[{number}].")
    if len({(_seen(question.header), _seen(question.text)) for question in masked}) < len(masked):
        raise InvalidInquiry("questions", "two of them look the same", hint=EXAMPLE)
    if default is not None:
        default = redact(default).text
    return Draft(
        kind=kind,
        questions=masked,
        context=shown,
        uploads=files,
        ttl=None if fields.get("ttl") is None else duration(fields["ttl"]),
        default=default,
        on_expiry=_on_expiry(fields.get("on_expiry"), default),
        labels=_labels(forms.parsed(fields.get("labels"))),
        secret=forms.flag(fields.get("secret"), "secret", default=False),
        redacted=redacted,
        digest=digest,
    )


def _form(fields: Fields, limits: Limits) -> tuple[Fields, list[Question]]:
    """The questions of a form, and the rest of what was sent; what several fields are about goes before the context."""
    beside = [
        name for name in ("options", "questions", "default", "multiSelect") if fields.get(name) is not None
    ]
    if beside:
        raise InvalidInquiry(
            beside[0], "not beside response_schema, which says what is asked", hint=SCHEMA_EXAMPLE
        )
    asked = _question(fields, "", limits)
    questions = list(form_in(fields["response_schema"], asked.text, limits))
    for question in questions:
        if question.field and not all(map(_seen, (question.text, question.field.title, *question.labels))):
            path = f"response_schema.properties.{question.field.name[:100]}"
            raise InvalidInquiry(path, "a title in it has nothing that can be seen", hint=SCHEMA_EXAMPLE)
    rest = dict(fields)
    if rest.get("kind") in (None, ""):
        rest["kind"] = Kind.CHOICE.value
    if len(questions) > 1:
        context = forms.text(fields.get("context"), "context")
        rest["context"] = f"{asked.text}\n\n{context}".strip()
    elif asked.header:
        questions = [replace(questions[0], header=asked.header)]
    return rest, questions


def _questions(fields: Fields, limits: Limits) -> list[Question]:
    several = forms.parsed(fields.get("questions"))
    if several is None:
        # One question's own fields stand at the top, so their paths have no prefix.
        return [_question(fields, "", limits)]
    items = [several] if isinstance(several, Mapping) else forms.sequence(several, "questions")
    if not 1 <= len(items) <= limits.questions:
        raise InvalidInquiry("questions", f"1 to {limits.questions} of them, got {len(items)}", hint=EXAMPLE)
    return [_question(item, f"questions[{number}].", limits) for number, item in enumerate(items)]


def _kind(sent: object, questions: Sequence[Question]) -> Kind:
    if sent is None or sent == "":
        return Kind.CHOICE if len(questions) > 1 or questions[0].options else Kind.TEXT
    try:
        kind = Kind(str(sent))
    except ValueError:
        names = ", ".join(kind.value for kind in Kind)
        raise InvalidInquiry("kind", f"one of {names}, got {sent!r}", hint=EXAMPLE) from None
    if questions[0].field is not None and kind is not Kind.CHOICE:
        raise InvalidInquiry("kind", "a form is an ask_user_question", hint="leave `kind` out")
    if kind is Kind.TEXT and (len(questions) > 1 or questions[0].options):
        raise InvalidInquiry(
            "kind", "a text inquiry has one question and no options", hint="leave `kind` out"
        )
    return kind


def _approval(questions: Sequence[Question]) -> Question:
    if len(questions) > 1:
        raise InvalidInquiry("questions", "an approval asks one thing", hint="ask for one approval each")
    question = questions[0]
    labels = {label.casefold() for label in question.labels}
    if labels and labels != {APPROVE.casefold(), DENY.casefold()}:
        raise InvalidInquiry("options", "an approval has no options of its own", hint="leave `options` out")
    return Question(text=question.text, header=question.header, options=APPROVAL_OPTIONS, custom=False)


def _question(sent: object, path: str, limits: Limits) -> Question:
    if isinstance(sent, str) and not sent.lstrip().startswith("{"):
        sent = {"question": sent}
    fields = forms.mapping(forms.parsed(sent), path.rstrip(".") or "inquiry")
    text = forms.text(forms.first(fields, "question", "text", "prompt"), f"{path}question").strip()
    if not 1 <= len(text) <= limits.question:
        raise InvalidInquiry(
            f"{path}question", f"1 to {limits.question} characters, got {len(text)}", hint=EXAMPLE
        )
    if not _seen(text):
        raise InvalidInquiry(f"{path}question", "nothing in it can be seen", hint=EXAMPLE)
    options = _options(forms.parsed(fields.get("options")), path, limits)
    header = forms.bounded(fields.get("header"), f"{path}header", limits.header)
    multi = forms.first(fields, "multiSelect", "multiple", "multi_select", "multi")
    return Question(
        text=text,
        header=header,
        options=options,
        multi=forms.flag(multi, f"{path}multiSelect", default=False),
        custom=forms.flag(fields.get("custom"), f"{path}custom", default=True),
    )


def _options(sent: object, path: str, limits: Limits) -> tuple[Option, ...]:
    if sent is None:
        return ()
    items = forms.sequence(sent, f"{path}options")
    if len(items) > limits.options:
        raise InvalidInquiry(
            f"{path}options",
            f"at most {limits.options}, got {len(items)}",
            hint="offer the best few; free text is always possible",
        )
    options = tuple([_option(item, f"{path}options[{number}]", limits) for number, item in enumerate(items)])
    _refuse_equal(options, path)
    return options


def _seen(text: str) -> str:
    """What a person can see of a text, to compare it by."""
    return normalized("NFC", without_invisible(visible(text)))


def _refuse_equal(options: Sequence[Option], path: str) -> None:
    """Make sure that a person can tell the options apart.

    Raises:
        InvalidInquiry: if two labels look the same.
    """
    if len({_seen(option.label) for option in options}) < len(options):
        raise InvalidInquiry(f"{path}options", "two options have the same label", hint=EXAMPLE)


def _option(sent: object, path: str, limits: Limits) -> Option:
    if isinstance(sent, str):
        return Option(label=_label(sent, path, limits))
    fields = forms.mapping(sent, path)
    preview = fields.get("preview")
    return Option(
        label=_label(forms.first(fields, "label", "text", "title", "name", "value"), path, limits),
        description=forms.bounded(fields.get("description"), f"{path}.description", limits.description),
        recommended=forms.flag(fields.get("recommended"), f"{path}.recommended", default=False),
        preview=None if preview is None else forms.bounded(preview, f"{path}.preview", limits.preview),
    )


def _label(sent: object, path: str, limits: Limits) -> str:
    label = forms.text(sent, f"{path}.label").strip()
    if not 1 <= len(label) <= limits.label:
        raise InvalidInquiry(
            f"{path}.label", f"1 to {limits.label} characters, got {len(label)}", hint=EXAMPLE
        )
    if not _seen(label):
        raise InvalidInquiry(f"{path}.label", "nothing in it can be seen", hint=EXAMPLE)
    return label


def _labels(sent: object) -> tuple[str, ...]:
    """Words by which routes tell inquiries apart; they are not shown as part of the question."""
    if sent is None:
        return ()
    items = [sent] if isinstance(sent, str) else forms.sequence(sent, "labels")
    if len(items) > MOST_LABELS:
        raise InvalidInquiry("labels", f"at most {MOST_LABELS}, got {len(items)}", hint='for example ["db"]')
    labels = [forms.bounded(item, f"labels[{number}]", LONGEST_LABEL) for number, item in enumerate(items)]
    return tuple(dict.fromkeys(label for label in labels if label))


def _default(sent: object, kind: Kind, questions: Sequence[Question]) -> str | None:
    if sent is None:
        return None
    wanted = forms.text(sent, "default").strip()
    if kind is Kind.PLAN:
        raise InvalidInquiry("default", "a plan has none", hint="silence is never consent")
    if kind is Kind.APPROVAL and wanted.casefold() != DENY.casefold():
        raise InvalidInquiry(
            "default", "the only default an approval can have is Deny", hint="silence is never consent"
        )
    if len(questions) > 1:
        raise InvalidInquiry(
            "default", "only a single question can have a default", hint="ask them one by one"
        )
    question = questions[0]
    for label in question.labels:
        if label.casefold() == wanted.casefold():
            return label
    if question.options:
        raise InvalidInquiry("default", f"one of {', '.join(question.labels)}, got {wanted!r}", hint=EXAMPLE)
    if not wanted:
        raise InvalidInquiry("default", "some text", hint=EXAMPLE)
    return wanted


def _on_expiry(sent: object, default: str | None) -> OnExpiry | None:
    if sent is None:
        return None if default is None else OnExpiry.DEFAULT
    try:
        chosen = OnExpiry(str(sent))
    except ValueError:
        names = ", ".join(choice.value for choice in OnExpiry)
        raise InvalidInquiry("on_expiry", f"one of {names}, got {sent!r}") from None
    if chosen is OnExpiry.DEFAULT and default is None:
        raise InvalidInquiry(
            "on_expiry", "`default` needs the default itself", hint='for example {"default": "Redis"}'
        )
    return chosen


def _masked(
    questions: Sequence[Question], context: str, hide: Callable[[str], Redacted]
) -> tuple[tuple[Question, ...], str, int]:
    if not may_hold_secrets("\n".join([*_texts(questions, context), *_field_texts(questions)])):
        return tuple(questions), context, 0
    found = 0

    def mask(text: str) -> str:
        nonlocal found
        masked = hide(text)
        found += masked.count
        return masked.text

    def masked_option(option: Option) -> Option:
        return Option(
            label=mask(option.label),
            description=mask(option.description),
            recommended=option.recommended,
            preview=None if option.preview is None else mask(option.preview),
        )

    def masked_question(question: Question) -> Question:
        options = tuple(masked_option(option) for option in question.options)
        return Question(
            text=mask(question.text),
            header=mask(question.header),
            options=options,
            multi=question.multi,
            custom=question.custom,
            field=_masked_field(question, options, hide),
        )

    masked = tuple(masked_question(question) for question in questions)
    return masked, mask(context), found


def _masked_field(
    question: Question, options: Sequence[Option], hide: Callable[[str], Redacted]
) -> Field | None:
    """The field with its title and its default as they are shown; what its options stand for is only told to the asker."""
    if (field := question.field) is None:
        return None
    labels = dict(zip(question.labels, (option.label for option in options), strict=True))
    default = tuple(labels.get(value) or hide(value).text for value in field.default)
    return replace(field, title=hide(field.title).text, default=default)


def _digest(
    kind: Kind, questions: Sequence[Question], context: str, files: tuple[Upload, ...], default: str | None
) -> str:
    content = [kind.value, *_texts(questions, context), repr(default)]
    content += [f"{question.multi}{question.custom}{len(question.options)}" for question in questions]
    content += [repr(question.field) for question in questions if question.field is not None]
    content += [f"{upload.attachment.name}\0{upload.attachment.digest}" for upload in files]
    return hashlib.sha256("\0\n".join(content).encode("utf-8", "replace")).hexdigest()


def _field_texts(questions: Sequence[Question]) -> list[str]:
    fields = [question.field for question in questions if question.field is not None]
    return [text for field in fields for text in (field.title, *field.default)]


def _texts(questions: Sequence[Question], context: str) -> list[str]:
    """Every word that will be shown."""
    texts = [context]
    for question in questions:
        texts += (question.text, question.header)
        for option in question.options:
            texts += (option.label, option.description, option.preview or "")
    return texts
