"""Which files an answer may bring, by their bytes."""

import base64

import pytest

from upcall.domain.answer.files import LARGEST_FILE, MOST_FILES, answer_file, few, files_in
from upcall.domain.errors import UnusableFile

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
TAKEN = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + bytes(16),
    "image/gif": b"GIF89a" + bytes(16),
    "image/webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
    "application/pdf": b"%PDF-1.7\n",
    "application/zip": b"PK\x03\x04" + bytes(16),
    "text/plain": "grün < blau\n".encode(),
}
REFUSED = {
    "a drawing": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "a drawing after a declaration": b'<?xml version="1.0"?>\n<!-- x --><svg:svg xmlns:svg="s"/>',
    "a page": b"\xef\xbb\xbf  <!DOCTYPE  html><title>x</title>",
    "a part of a page": b"<body onload=alert(1)>",
    "a program": b"\x7fELF\x02\x01\x01" + bytes(16),
    "text with zero bytes": b"a\0b",
    "nothing": b"",
    "nothing to see": b" \n",
}


@pytest.mark.promise("desk/24")
@pytest.mark.parametrize("kind", TAKEN)
def test_a_file_has_the_type_that_its_bytes_have(kind: str) -> None:
    assert answer_file("shot.exe", TAKEN[kind]).attachment.media_type == kind


@pytest.mark.promise("desk/24")
@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_could_run_in_a_browser_or_is_of_no_known_type_is_refused(what: str) -> None:
    with pytest.raises(UnusableFile):
        answer_file("shot.png", REFUSED[what])


@pytest.mark.parametrize("name", ["x.svg", "x.HTML", "x.xhtml", "x.svgz"])
def test_a_name_that_a_browser_would_open_as_a_page_is_refused(name: str) -> None:
    with pytest.raises(UnusableFile):
        answer_file(name, b"plain words")


def test_a_name_is_the_last_part_of_a_path() -> None:
    assert answer_file("..\\..\\shot.png", PNG).attachment.name == "shot.png"


@pytest.mark.promise("desk/24")
def test_an_answer_has_at_most_four_files_of_five_mebibytes() -> None:
    assert (MOST_FILES, LARGEST_FILE) == (4, 5 * 1024 * 1024)
    answer_file("long.txt", b"x" * LARGEST_FILE)
    with pytest.raises(UnusableFile):
        answer_file("long.txt", b"x" * (LARGEST_FILE + 1))
    with pytest.raises(UnusableFile):
        few([answer_file("shot.png", PNG)] * 5)


@pytest.mark.parametrize(
    "sent",
    [
        "x",
        [1],
        [{"name": "x"}],
        [{"name": "", "data": ""}],
        [{"name": "x", "data": "not base 64!"}],
        [{"name": "x.png", "data": base64.b64encode(PNG).decode()}] * 5,
    ],
)
def test_files_of_a_request_that_are_none_are_refused(sent: object) -> None:
    with pytest.raises(UnusableFile):
        files_in(sent)
