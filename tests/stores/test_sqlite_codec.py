"""Every inquiry comes back from its row as it was."""

from hypothesis import given, strategies as st

from upcall.domain.inquiry.field import Field
from upcall.domain.inquiry.inquiry import Attachment, Edit, Inquiry, Subject
from upcall.stores import codec
from upcall.testing.examples import an_inquiry


def comparable(inquiry: Inquiry) -> bool:
    return "nan" not in repr(inquiry)


# Where a copy was written for the agent is not kept.
_KEPT = st.builds(Attachment, path=st.just(""), size=st.integers())
st.register_type_strategy(Attachment, _KEPT)


# JSON has neither infinity nor NaN, so a schema has none.
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_FIELDS = st.builds(
    Field,
    least=st.none() | _NUMBERS,
    most=st.none() | _NUMBERS,
    values=st.lists(st.text() | _NUMBERS).map(tuple),
)
st.register_type_strategy(Field, _FIELDS)

# What a tool is given is JSON as well; from its type alone it would be any object there is.
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_GIVEN = st.dictionaries(st.text(), _JSON, max_size=3)
st.register_type_strategy(Edit, st.builds(Edit, input=_GIVEN))
st.register_type_strategy(
    Subject,
    st.builds(
        Subject,
        words=...,
        anywhere=...,
        unclear=...,
        given=st.none() | _GIVEN,
        runs_edited=...,
        hears=...,
    ),
)


# Built from the types, so that a field that is added to an inquiry and forgotten in the codec is found here.
@given(st.from_type(Inquiry).filter(comparable))
def test_any_inquiry_survives_its_row(inquiry: Inquiry) -> None:
    assert codec.decode(codec.row(inquiry, codec.body(inquiry))) == inquiry


@given(st.text(st.characters()))
def test_any_text_survives_even_half_a_character(text: str) -> None:
    inquiry = an_inquiry(context=text)
    assert codec.body(inquiry).encode()  # or SQLite could not keep it
    assert codec.decode(codec.row(inquiry, codec.body(inquiry))) == inquiry


def test_a_number_of_more_than_64_bits_survives() -> None:
    huge = Attachment(name="a", media_type="text/plain", size=-(2**63) - 1, digest="")
    inquiry = an_inquiry(attachments=(huge,))
    assert codec.decode(codec.row(inquiry, codec.body(inquiry))) == inquiry


def test_a_plain_inquiry_keeps_nothing_that_goes_without_saying() -> None:
    body = codec.loads(codec.body(an_inquiry()))
    assert set(body) == {"questions", "door", "digest"}
