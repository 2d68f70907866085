"""E-mail through real servers: the contract that every channel passes, and what only mail has to withstand."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from tests.channels.inboxes import BareInbox
from tests.channels.mail_server import Dovecot, certify
from tests.channels.post_office import PostOffice, Stamps, opened
from upcall.channels.email.channel import TOLD_MOST
from upcall.channels.email.letters import Tag, reply_address, tag_in
from upcall.channels.email.mailbox import Mailbox, Server
from upcall.domain.channel.showing import Reference, View
from upcall.domain.inquiry.inquiry import Answered
from upcall.ports.channel import Refused, SignedOut, Unavailable
from upcall.testing.channel_contract import ChannelContract
from upcall.testing.channel_house import House, a_house

VIEW = View(
    inquiry="01m7h9761j5wgsmbzk91mxee4n",
    ref="a7",
    stage="open:0",
    heading="❓ Provide input · builder · a7\r\nBcc: eve@example.test",
    context="",
    questions=(),
    hint="",
)
OWN = "upcall@example.test"


@pytest.mark.promise("spec/82")
class TestEmail(ChannelContract):
    """Letters over SMTP, replies from a Dovecot."""

    @pytest.fixture
    @override
    async def vendor(self, dovecot: Dovecot) -> AsyncIterator[PostOffice]:
        """A post office and a mailbox of this test's own."""
        async with opened(dovecot) as office:
            yield office


@pytest.fixture
async def office(dovecot: Dovecot) -> AsyncIterator[PostOffice]:
    """A post office and a mailbox of this test's own."""
    async with opened(dovecot) as office:
        yield office


async def asked(office: PostOffice, house: House, **fields: object) -> tuple[str, str]:
    """A question that was sent, and the name of its letter."""
    count = len(office.messages())
    inquiry = await house.ask(**{"options": ["Redis", "Memcached"], **fields})
    await office.until(lambda: len(office.messages()) > count)
    return inquiry.id, office.messages()[-1].name


async def until_told(office: PostOffice, count: int) -> None:
    """Wait until the known person was told so many things."""
    await office.until(lambda: len(office.told(office.known)) == count)


async def test_a_letter_says_what_is_asked_and_how_to_answer(office: PostOffice, tmp_path: Path) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house, header="Cache", context="We need\nboth.")
    letter = office.letter(name)
    assert letter["Subject"].startswith("❓ Provide input · builder · ")
    assert letter["Auto-Submitted"] == "auto-generated"
    assert letter.get_content().splitlines()[1:] == [
        "",
        "│ Cache: Which cache?",
        "│   1. Redis",
        "│   2. Memcached",
        "│   3. Other (write it yourself)",
        "",
        "│ We need",
        "│ both.",
        "",
        "Reply with a number, the option text, or free text.",
        "",
        f"Or answer here, without signing in: http://x/i/{inquiry}",
    ]


@pytest.mark.promise("spec/82")
async def test_a_sender_alone_proves_nothing(office: PostOffice, tmp_path: Path) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
        _, other = await asked(office, house, context="another")
        ref = (await house.broker.store.get(inquiry)).ref
        stolen = tag_in(office.letter(other)["Reply-To"], office.own)
        assert stolen is not None
        mixed = reply_address(office.own, Tag(inquiry=inquiry, stamp=stolen.stamp))
        for count, to in enumerate((office.own, mixed), 1):
            await office.post(office.known, to, f"{ref} Redis")
            await until_told(office, count)
            assert "reply to the letter" in office.told(office.known)[-1]
        assert (await house.broker.store.get(inquiry)).is_open
        await office.reply(office.known, name, "1")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Redis"]]


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-replied"},
        {"Precedence": "bulk"},
        {"List_Id": "<all.example.test>"},
        {"X_Autoreply": "yes"},
        {"Return_Path": "<>"},
    ],
)
async def test_what_a_program_wrote_is_no_answer_and_is_told_nothing(
    office: PostOffice, tmp_path: Path, headers: dict[str, str]
) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
        await office.post(
            office.known, office.letter(name)["Reply-To"], "1. I am on holiday", thread=name, **headers
        )
        # Letters are read in their order.
        await office.reply(office.known, name, "2")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Memcached"]]
        assert office.told(office.known) == []


async def test_a_bounce_is_no_answer(office: PostOffice, tmp_path: Path) -> None:
    report = (
        "From: MAILER-DAEMON@example.test\r\nTo: {to}\r\nSubject: Undelivered\r\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n'
        "--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--\r\n"
    )
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
        to = office.letter(name)["Reply-To"]
        await asyncio.to_thread(office.dovecot.deliver, report.format(to=to).encode(), to)
        await office.reply(office.known, name, "2")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Memcached"]]


async def test_a_reply_that_came_while_no_daemon_listened_is_not_lost(
    office: PostOffice, tmp_path: Path
) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
    await office.reply(office.known, name, "2")
    async with a_house(office, tmp_path) as house:
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Memcached"]]


async def test_a_letter_that_cannot_be_read_holds_up_no_other(office: PostOffice, tmp_path: Path) -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (each, each) for each in range(2000)
    )
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
        await office.put(b"From: eve@example.test\r\n" + nested + b"\r\nx")
        await office.reply(office.known, name, "2")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Memcached"]]


async def test_after_the_signing_key_has_changed_an_earlier_letter_hears_its_outcome_once(
    office: PostOffice, tmp_path: Path
) -> None:
    async with a_house(office, tmp_path) as house:
        first, name = await asked(office, house)
    office.stamps = Stamps("key", "newer key")
    async with a_house(office, tmp_path) as house:
        await office.reply(office.known, name, "2")
        assert await house.answers(await house.broker.store.get(first)) == [["Memcached"]]
        await office.until(lambda: not office.messages()[0].answerable)
        # Any other line would be said before the next question.
        await asked(office, house)
        assert [letter["In-Reply-To"] for letter in office.letters] == [None, name, None]


async def test_a_reminder_can_be_replied_to(office: PostOffice, tmp_path: Path) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house)
        await office.channel().tell(Reference(place=office.place, message=name), "⏰ Still waiting.")
        reminder = office.letters[-1]
        assert (reminder["Subject"], reminder["In-Reply-To"]) == ("⏰ Still waiting.", name)
        await office.post(office.known, reminder["Reply-To"], "1")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Redis"]]


async def test_nothing_in_a_header_begins_another_one(office: PostOffice) -> None:
    await office.channel().show(VIEW, office.place)
    (letter,) = office.letters
    assert letter["Bcc"] is None
    assert letter["Subject"] == "❓ Provide input · builder · a7 Bcc: eve@example.test"


async def test_what_is_no_address_is_refused(office: PostOffice) -> None:
    for place in ("ana", "ana@example.test\r\nBcc: eve@example.test", "a@b, c@d", "<ana@example.test>"):
        with pytest.raises(Refused):
            await office.channel().show(VIEW, place)
    assert office.letters == []


async def test_two_programs_that_answer_each_other_come_to_an_end(office: PostOffice, tmp_path: Path) -> None:
    async with a_house(office, tmp_path) as house:
        for number in range(TOLD_MOST + 3):
            await office.write(office.stranger, f"hello {number}")
        inquiry, name = await asked(office, house)
        await office.reply(office.known, name, "1")
        await house.answers(await house.broker.store.get(inquiry))
        await office.until(lambda: len(office.told(office.stranger)) >= TOLD_MOST)
        assert len(office.told(office.stranger)) == TOLD_MOST


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_letters_go_and_come_encrypted(dovecot: Dovecot, tmp_path: Path, security: str) -> None:
    folder = dovecot.ca_file.parent
    async with (
        opened(dovecot, security=security, certified=folder, ca_file=str(dovecot.ca_file)) as office,
        a_house(office, tmp_path) as house,
    ):
        assert [finding for finding in await office.channel().check() if not finding.ok] == []
        inquiry, name = await asked(office, house)
        await office.reply(office.known, name, "1")
        assert await house.answers(await house.broker.store.get(inquiry)) == [["Redis"]]


async def test_a_server_with_an_unknown_certificate_gets_nothing(dovecot: Dovecot, tmp_path: Path) -> None:
    certify(tmp_path)
    folder = dovecot.ca_file.parent
    async with opened(
        dovecot, security="starttls", certified=folder, ca_file=str(tmp_path / "cert.pem")
    ) as office:
        with pytest.raises(Unavailable, match="cannot be reached"):
            await office.channel().show(VIEW, office.place)
        findings = await office.channel().check()
        assert [finding.ok for finding in findings] == [False, False]
        assert office.letters == []


@pytest.mark.promise("trust/47")
async def test_a_wrong_password_means_that_the_channel_is_down_and_a_check_says_so(dovecot: Dovecot) -> None:
    folder = dovecot.ca_file.parent
    async with opened(
        dovecot, security="starttls", certified=folder, ca_file=str(dovecot.ca_file), password="wrong"
    ) as office:
        with pytest.raises(SignedOut, match="535"):
            await office.channel().show(VIEW, office.place)
        with pytest.raises(SignedOut, match="does not let us in"):
            await office.channel().listen(BareInbox())
        findings = await office.channel().check()
        assert [finding.ok for finding in findings] == [False, False]
        assert "does not let us in" in findings[1].text


def test_a_folder_that_is_not_there_is_refused(dovecot: Dovecot) -> None:
    server = Server(host="127.0.0.1", port=dovecot.imap, security="none", username="x1", password="test")
    mailbox = Mailbox(server, "Nowhere")
    try:
        with pytest.raises(Refused, match="Nowhere"):
            mailbox.open()
    finally:
        mailbox.close()
    gone = Mailbox(replace(server, port=1), "INBOX")
    with pytest.raises(Unavailable):
        gone.open()


@pytest.mark.promise("trust/45", "trust/46")
async def test_a_reply_below_the_quotation_decides_as_its_word_says(
    office: PostOffice, tmp_path: Path
) -> None:
    async with a_house(office, tmp_path) as house:
        for introduction, word, verdict in (
            ("On 15/11/2026 18:00, Upcall wrote:", "yes", "Approve"),
            ("Le 15/11/2026 à 18:00, Upcall a écrit :", "yes", "Approve"),
            ("Am 15.11.26 um 18:00 schrieb Upcall:", "no", "Deny"),
        ):
            inquiry, name = await asked(office, house, kind="approval", question="Deploy?", options=[])
            await reply_below(office, name, introduction, word)
            settled = await house.settled(await house.broker.store.get(inquiry))
            assert isinstance(settled.state, Answered)
            assert settled.state.answer.values == ((verdict,),)


@pytest.mark.promise("trust/46")
@pytest.mark.parametrize("words", ["sure", "yes, but not today", "yes\n\nno", "Ana hat geschrieben:\nyes"])
async def test_an_approval_that_is_answered_with_more_than_the_word_is_asked_back(
    office: PostOffice, tmp_path: Path, words: str
) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house, kind="approval", question="Deploy?", options=[])
        await office.reply("ana@example.test", name, words)
        await until_told(office, 1)
        assert "neither a clear yes nor a clear no" in office.told("ana@example.test")[0]
        assert (await house.broker.store.get(inquiry)).is_open
        # What is asked back can be replied to as well.
        back = next(letter for letter in office.letters if letter["Auto-Submitted"] == "auto-replied")
        await office.post("ana@example.test", back["Reply-To"], "yes\n", thread=back["Message-ID"])
        settled = await house.settled(await house.broker.store.get(inquiry))
        assert isinstance(settled.state, Answered)
        assert settled.state.answer.values == (("Approve",),)


@pytest.mark.promise("trust/46")
async def test_text_below_the_quotation_keeps_a_word_above_it_from_deciding(
    office: PostOffice, tmp_path: Path
) -> None:
    async with a_house(office, tmp_path) as house:
        inquiry, name = await asked(office, house, kind="approval", question="Deploy?", options=[])
        letter = office.letter(name)
        text = "yes\n\nOn 15/11/2026 18:00, Upcall wrote:\n> Deploy?\n\nonly on Monday\n"
        await office.post("ana@example.test", letter["Reply-To"], text, thread=name)
        await until_told(office, 1)
        assert (await house.broker.store.get(inquiry)).is_open


async def reply_below(office: PostOffice, name: str, introduction: str, words: str) -> None:
    """Reply below what was written, as Thunderbird has it."""
    letter = office.letter(name)
    quoted = "\n".join(f"> {line}" for line in letter.get_content().splitlines())
    text = f"{introduction}\n{quoted}\n\n{words}\n"
    await office.post("ana@example.test", letter["Reply-To"], text, thread=name)
