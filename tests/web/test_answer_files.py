"""Pictures and files in answers, over the API and the plain forms of the inbox."""

import base64

import httpx2
import pytest

from tests.web.house import CHOICE, House, code
from tests.web.visitor import Form, Visitor, words

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SHOT = {"name": "shot.png", "data": base64.b64encode(PNG).decode()}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.mark.promise("desk/24")
async def test_an_answer_brings_files_which_its_asker_can_fetch(house: House) -> None:
    asked = await house.asked(**CHOICE)
    sent = await house.post("ana", f"{asked['ref']}/answer", text="Redis", files=[SHOT])
    (file,) = sent.json()["inquiry"]["answer"]["files"]
    assert (file["name"], file["media_type"], file["size"]) == ("shot.png", "image/png", len(PNG))

    fetched = await house.as_("builder").get(f"/v1/inquiries/{asked['id']}/files/0")
    assert (fetched.content, fetched.headers["content-type"]) == (PNG, "image/png")
    assert "sandbox" in fetched.headers["content-security-policy"]
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}/files/1")).status_code == 404
    assert (await house.as_("painter").get(f"/v1/inquiries/{asked['id']}/files/0")).status_code == 404


@pytest.mark.promise("desk/24")
@pytest.mark.parametrize(
    "files",
    [
        [SHOT] * 5,
        [{"name": "x.png", "data": base64.b64encode(SVG).decode()}],
        [{"name": "x", "data": "!"}],
        "x",
    ],
)
async def test_files_that_cannot_be_taken_leave_the_question_open(house: House, files: object) -> None:
    asked = await house.asked(**CHOICE)
    refused = await house.post("ana", f"{asked['ref']}/answer", text="Redis", files=files)
    assert code(refused) == (422, "unusable_file")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}")).json() == asked


@pytest.mark.promise("desk/24")
@pytest.mark.thorough
async def test_four_files_of_five_mebibytes_fit_and_only_into_an_answer(house: House) -> None:
    asked = await house.asked(**CHOICE)
    large = base64.b64encode(PNG + bytes(5 * 1024 * 1024 - len(PNG))).decode()
    files = [{"name": f"{number}.png", "data": large} for number in range(4)]
    taken = await house.post("ana", f"{asked['ref']}/answer", text="Redis", files=files)
    assert taken.json()["accepted"] is True
    assert code(await house.post("ana", f"{asked['ref']}/reject", reason=large)) == (413, "too_large")
    assert code(await house.post("builder", f"{asked['ref']}/answer", files=files)) == (403, "not_allowed")


async def test_a_yes_to_a_prompt_that_takes_no_files_is_refused_with_them(house: House) -> None:
    action = {"tool": "Bash", "input": {"command": "make"}, "cwd": "/srv"}
    prompt = await house.asked(action=action, purpose="permission")
    refused = await house.post("ana", f"{prompt['ref']}/answer", answers=[["Approve"]], files=[SHOT])
    assert code(refused) == (422, "note_unread")


async def sends(ana: Visitor, form: Form, *files: tuple[str, bytes], **fields: str) -> httpx2.Response:
    """Send a form with files as a browser without scripts does."""
    return await ana.client.post(
        form.action,
        data=dict(form.fields) | fields,
        files=[("file", (name, content, "image/png")) for name, content in files],
        headers={"Origin": str(ana.client.base_url).rstrip("/")},
    )


@pytest.mark.promise("desk/24")
async def test_the_plain_form_takes_pictures_and_the_answered_question_shows_them(
    live: House, ana: Visitor
) -> None:
    asked = await live.asked(**CHOICE)
    form = await ana.form(f"/i/{asked['id']}", "/answer")
    assert 'enctype="multipart/form-data"' in await ana.looks(f"/i/{asked['id']}")

    refused = await sends(ana, form, ("x.png", SVG), q0="0", note="but small")
    assert refused.status_code == 422
    assert "A file cannot be taken" in words(refused.text)
    assert "but small" in refused.text

    await sends(ana, form, ("shot ü.png", PNG), ("", b""), q0="0")
    answered = (await live.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answered["text"], [file["name"] for file in answered["files"]]) == ("Redis", ["shot ü.png"])
    page = await ana.looks(f"/i/{asked['id']}")
    assert f'src="/i/{asked["id"]}/files/0"' in page
    assert (await ana.client.get(f"/i/{asked['id']}/files/0")).content == PNG


@pytest.mark.parametrize("body", [b"", b"--x", b"--x\r\nContent-Disposition: nonsense\r\n\r\n1\r\n--x--"])
async def test_a_form_in_parts_that_is_none_is_refused(live: House, ana: Visitor, body: bytes) -> None:
    asked = await live.asked()
    headers = {
        "Origin": str(ana.client.base_url).rstrip("/"),
        "Content-Type": "multipart/form-data; boundary=x",
    }
    refused = await ana.client.post(f"/i/{asked['id']}/answer", content=body, headers=headers)
    assert refused.status_code in {400, 403}
