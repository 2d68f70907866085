"""Whatever an inquiry holds comes back from its row as it was."""

from hypothesis import given, strategies as st

from upcall.domain.inquiry import Inquiry
from upcall.stores import codec
from upcall.testing.examples import an_inquiry


def comparable(inquiry: Inquiry) -> bool:
    """Whether it equals itself, and its numbers are such as a database knows: of 64 bits."""
    numbers = [inquiry.redacted, inquiry.origin.run or 0, *(file.size for file in inquiry.attachments)]
    return "nan" not in repr(inquiry) and all(-(2**63) <= number < 2**63 for number in numbers)


# Built from the types, so that a field that is added to an inquiry and forgotten in the codec is found here.
@given(st.from_type(Inquiry).filter(comparable))
def test_any_inquiry_survives_its_row(inquiry: Inquiry) -> None:
    assert codec.decode(codec.row(inquiry, codec.body(inquiry))) == inquiry


@given(st.text(st.characters()))
def test_any_text_survives_even_half_a_character(text: str) -> None:
    inquiry = an_inquiry(context=text)
    assert codec.body(inquiry).encode()  # or SQLite could not keep it
    assert codec.decode(codec.row(inquiry, codec.body(inquiry))) == inquiry


def test_a_plain_inquiry_keeps_nothing_that_goes_without_saying() -> None:
    body = codec.loads(codec.body(an_inquiry()))
    assert set(body) == {"questions", "door", "digest"}
