"""The picture is drawn from what the demo prints, the same for every run."""

from xml.etree import ElementTree as ET

from docs import picture

RUN = (
    "\x1b[1mAn agent asks.\x1b[0m\n"
    "Answer here, or in your browser: the story is the same, and the first answer wins.\n"
    "  http://127.0.0.1:{port}/sign-in?code={folder}\n"
    "Or in another terminal: UPCALL_HOME=/tmp/upcall-demo-{folder} upcall answer\n\n"
    "\x1b[36magent\x1b[0m  asks & <waits>; the question is #{ref}\n"
    "\x1b[32m{person}\x1b[0m  Redis\n"
    "\x1b[36magent\x1b[0m  \x1b[2m{ms} ms later it has:\x1b[0m The user answered: Redis\n"
    "  #{ref:<4} Which cache?  answered: Redis\n"
)
NAMESPACE = "{http://www.w3.org/2000/svg}"


def a_run(port: int, folder: str, ref: str, person: str, ms: int) -> str:
    return RUN.format(port=port, folder=folder, ref=ref, person=person, ms=ms)


def test_two_runs_of_two_people_look_the_same() -> None:
    mine = picture.settled(a_run(38169, "s2nt_vc", "e3", "root", 3))
    yours = picture.settled(a_run(4100, "q", "k42", "ana.maria", 408))
    assert mine == yours
    assert "ana" not in yours


def test_the_picture_is_a_drawing_that_needs_nothing_from_elsewhere() -> None:
    drawn = picture.drawn(list(picture.lines(picture.settled(a_run(1, "a", "b2", "root", 3)))))
    root = ET.fromstring(drawn)
    said = [(text.text or "").replace(picture.NO_BREAK, " ") for text in root.iter(f"{NAMESPACE}text")]
    assert "asks & <waits>; the question is #a7" in said
    assert drawn.count("http") == 1, "only the namespace"


def test_the_picture_shows_the_first_question_and_the_approval() -> None:
    scenes = ["An agent asks.", "calls ask_human 1", "calls ask_human 2", "calls confirm_action", "Next: x"]
    assert picture.excerpt("\n\n".join(scenes)).split("\n\n") == [scenes[0], scenes[1], scenes[3]]


def test_a_line_that_is_too_long_loses_nothing() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    shown = list(picture.lines(f"  {words}"))
    assert len(shown) > 1
    assert all(run.column + len(run.text.rstrip()) <= picture.COLUMNS for runs in shown for run in runs)
    assert " ".join("".join(run.text for run in runs).strip() for runs in shown) == words


def test_the_picture_in_the_repository_is_well_formed() -> None:
    root = ET.parse(picture.PICTURE).getroot()
    assert root.tag == f"{NAMESPACE}svg"
    assert root.find(f"{NAMESPACE}title") is not None
