"""Inputs for the targets, from the words that each is made of."""

import json
from collections.abc import Iterator

from hypothesis import HealthCheck, strategies as st

from tests.adversary.texts import HOSTILE
from tests.fuzz.targets import Target

LENIENT = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
)
"""What a search may be without being told so."""

TEXTS = tuple(text[:200] for text in HOSTILE.values())


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Bytes that are nearly right, and bytes that are not."""
    words = st.sampled_from(target.words)
    pieces = st.lists(words | st.text(max_size=5) | st.sampled_from(TEXTS), max_size=12).map("".join)
    loose = st.binary(max_size=60) | pieces.map(lambda text: text.encode("utf-8", "replace"))
    if not target.is_json:
        return loose
    scalars = (
        words
        | st.none()
        | st.booleans()
        | st.integers(-3, 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8)
        | st.sampled_from(TEXTS)
    )
    documents = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=6),
        max_leaves=25,
    )
    objects = st.dictionaries(words, documents, max_size=8)
    return (objects | documents).map(lambda value: json.dumps(value).encode()) | loose


def seeds(target: Target) -> Iterator[bytes]:
    """What a fuzzer that learns by itself begins with."""
    yield from (word.encode("utf-8", "replace") for word in target.words)
    yield from (text.encode("utf-8", "replace") for text in HOSTILE.values())
    if target.is_json:
        yield json.dumps({word: [word, {word: 1}] for word in target.words}).encode()
