"""Who gets into the inbox, and how sessions and forged requests are kept out."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.house import House, serving
from tests.web.visitor import Visitor, forms, words

PAGES = ["/", "/history", "/runs", "/sessions", "/i/a2"]


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has not signed in yet."""
    visitor = Visitor(live)
    yield visitor
    await visitor.client.aclose()


@pytest.mark.parametrize("path", PAGES)
async def test_a_visitor_without_a_session_is_shown_how_to_sign_in(ana: Visitor, path: str) -> None:
    response = await ana.client.get(path)
    assert (response.status_code, response.headers["location"]) == (303, "/sign-in")
    assert "upcall inbox" in (await ana.client.get("/sign-in")).text


async def test_a_link_lets_one_browser_in_once(live: House, ana: Visitor) -> None:
    link = (await live.as_("ana").post("/v1/sign-in-links")).json()["url"]
    # Looking at it uses nothing up.
    (form,) = forms((await ana.client.get(link)).text)
    (form,) = forms((await ana.client.get(link)).text)
    assert (await ana.sends(form)).headers["location"] == "/"
    assert "Signed in as ana" in await ana.looks()
    other = Visitor(live)
    assert (await other.sends(form)).status_code == 410
    assert (await other.client.get("/")).status_code == 303
    await other.client.aclose()


@pytest.mark.parametrize(
    "cookie", ['prefs={"theme":"dark"}', "a[b]=1", "x=a b c", "just", "path=1", "=", "v=\u00e9"]
)
async def test_a_cookie_that_another_program_left_locks_no_visitor_out(ana: Visitor, cookie: str) -> None:
    await ana.signs_in()
    (ours,) = [f"{kept.name}={kept.value}" for kept in ana.client.cookies.jar]
    sent = f"{cookie}; {ours}".encode("latin-1")
    assert (await ana.client.get("/", headers=[(b"Cookie", sent)])).status_code == 200


async def test_a_link_is_worthless_after_ten_minutes(live: House, ana: Visitor) -> None:
    link = (await live.as_("ana").post("/v1/sign-in-links")).json()["url"]
    (form,) = forms((await ana.client.get(link)).text)
    live.clock.now += 601
    assert (await ana.sends(form)).status_code == 410
    assert (await ana.client.get(link)).status_code == 410


async def test_an_agent_gets_no_link(live: House) -> None:
    assert (await live.as_("builder").post("/v1/sign-in-links")).status_code == 403
    assert (await live.as_(None).post("/v1/sign-in-links")).status_code == 401


@pytest.mark.promise("spec/133")
async def test_the_cookie_is_for_this_site_alone_and_for_no_script(ana: Visitor) -> None:
    cookie = (await ana.signs_in()).headers["set-cookie"]
    port = str(ana.client.base_url).rpartition(":")[2].strip("/")
    assert cookie.startswith(f"upcall-{port}=")
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "secure" not in cookie.lower()


async def test_over_https_the_cookie_is_secure(tmp_path: Path) -> None:
    public = "https://upcall.example"
    settings = {
        "public_url": public,
        "allowed_hosts": frozenset({"upcall.example"}),
        "allowed_origins": frozenset({public}),
    }
    async with House.open(tmp_path, **settings) as house, serving(house):
        ana = Visitor(house)
        ana.client.headers["Host"] = "upcall.example"
        link = (await house.as_("ana").post("/v1/sign-in-links")).json()["url"]
        assert link.startswith(f"{public}/sign-in?code=")
        (form,) = forms((await ana.client.get(link.removeprefix(public))).text)
        cookie = (await ana.sends(form, headers={"Origin": public})).headers["set-cookie"]
        assert cookie.startswith("__Host-upcall=")
        assert "; Secure" in cookie
        await ana.client.aclose()


async def test_a_session_is_kept_as_a_hash_and_is_no_token(live: House, ana: Visitor) -> None:
    await ana.signs_in()
    (secret,) = ana.client.cookies.jar
    kept = [token for token in await live.store.tokens() if token.name.startswith("session-")]
    assert [token.name.partition("@")[2] for token in kept] == ["ana"]
    assert str(secret.value) not in repr(kept)
    bearer = {"Authorization": f"Bearer {secret.value}"}
    assert (await live.as_(None).get("/v1/inquiries", headers=bearer)).status_code == 401
    stranger = Visitor(live)
    stranger.client.cookies.set(secret.name, live.secrets["ana"])
    assert (await stranger.client.get("/")).status_code == 303
    await stranger.client.aclose()


async def test_signing_out_ends_the_session_for_good(live: House, ana: Visitor) -> None:
    await ana.signs_in()
    (cookie,) = ana.client.cookies.jar
    secret = cookie.value or ""
    assert (await ana.sends(await ana.form("/", "/sign-out"))).headers["location"] == "/sign-in"
    ana.client.cookies.set(cookie.name, secret)
    assert (await ana.client.get("/")).status_code == 303


async def test_a_session_ends_after_thirty_days(live: House, ana: Visitor) -> None:
    await ana.signs_in()
    live.clock.now += 30 * 86400 + 1
    assert (await ana.client.get("/")).status_code == 303


async def test_one_browser_ends_the_session_of_another_and_of_no_other_person(
    live: House, ana: Visitor
) -> None:
    ben, second = Visitor(live), Visitor(live)
    await ben.signs_in("ben")
    await second.signs_in()
    await ana.signs_in()
    page = await ana.looks("/sessions")
    assert "ben" not in page
    (revoke,) = [form for form in forms(page) if form.action == "/sessions"]
    await ana.sends(revoke)
    assert (await second.client.get("/")).status_code == 303
    theirs = next(token.name for token in await live.store.tokens() if token.name.endswith("@ben"))
    revoke.fields = [(name, theirs if name == "name" else value) for name, value in revoke.fields]
    await ana.sends(revoke)
    assert "Signed in as ben" in await ben.looks()
    for visitor in (ben, second):
        await visitor.client.aclose()


ON_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0"
ON_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"


@pytest.mark.promise("desk/34")
async def test_signed_in_browsers_are_told_apart(live: House, ana: Visitor) -> None:
    phone = Visitor(live)
    phone.client.headers["User-Agent"] = ON_IPHONE
    ana.client.headers["User-Agent"] = ON_WINDOWS
    for visitor in (phone, ana):
        await visitor.signs_in()
        await visitor.looks()
        live.clock.now += 3600
    here, there = re.findall(r"<li>\s*<div>.*?</form>", await ana.looks("/sessions"), re.DOTALL)
    assert "Edge on Windows this browser" in words(here)
    assert "Safari on iPhone" in words(there)
    assert "this browser" not in there
    assert "last here 0 s ago" in words(here)
    assert "last here 2 h ago" in words(there)
    await phone.client.aclose()


async def test_what_is_kept_of_a_browser_goes_with_its_session(live: House, ana: Visitor) -> None:
    await ana.signs_in()
    await ana.looks()
    (before,) = (await live.store.records("browser")).items
    live.clock.now += 31 * 86400
    await ana.signs_in()
    await ana.looks()
    (after,) = (await live.store.records("browser")).items
    assert before.key != after.key


async def test_revoking_a_persons_token_ends_their_sessions(live: House, ana: Visitor) -> None:
    await ana.signs_in()
    assert (await live.as_("root").delete("/v1/tokens/ana")).status_code == 200
    assert (await ana.client.get("/")).status_code == 303


async def test_a_token_cannot_pose_as_a_session(live: House) -> None:
    body = {"name": "session-00000000@ana", "role": "person"}
    assert (await live.as_("root").post("/v1/tokens", json=body)).status_code == 400


@pytest.mark.promise("spec/133")
@pytest.mark.parametrize("path", [*PAGES, "/sign-in", "/static/inbox.js", "/nowhere-else"])
async def test_every_page_leaves_with_a_strict_policy(ana: Visitor, path: str) -> None:
    await ana.signs_in()
    if path == "/nowhere-else":
        path = "/i/nowhere"
    headers = (await ana.client.get(path)).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.promise("spec/133")
async def test_no_page_has_a_script_or_a_style_inside_or_asks_a_third_party(
    live: House, ana: Visitor
) -> None:
    await live.asked()
    await ana.signs_in()
    for path in ("/", "/history", "/sessions"):
        html = await ana.looks(path)
        assert re.search(r"<script(?![^>]* src=\"/static/)|<style|\sstyle=|\son\w+=", html) is None
        assert re.search(r"(src|href)=\"(?!/|#|\?)", html) is None


async def test_a_form_from_elsewhere_is_refused(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    await ana.signs_in()
    form = await ana.form("/", "/answer")
    choice = ("q0", "0")
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert (await ana.sends(form, choice, headers=headers)).status_code == 403
    unsigned = [(name, value) for name, value in form.fields if name != "token"]
    for token in ([], [("token", "0" * 64)]):
        form.fields = [*unsigned, *token]
        assert (await ana.sends(form, choice)).status_code == 403
    assert (await live.broker.store.get(inquiry["id"])).is_open


async def test_the_form_of_one_session_is_worthless_in_another(live: House, ana: Visitor) -> None:
    await live.asked()
    await ana.signs_in()
    form = await ana.form("/", "/answer")
    again = Visitor(live)
    await again.signs_in()
    assert (await again.sends(form, ("q0", "0"))).status_code == 403
    await again.client.aclose()
