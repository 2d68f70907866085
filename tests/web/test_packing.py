"""What a browser loads is the source without what is only for its readers, and means the same."""

import pytest

from upcall.web.pages.packing import packed_script, packed_style


@pytest.mark.parametrize(
    ("source", "packed"),
    [
        ("// Why.\nconst a = 1; // aside\n\nconst b = a;\n", "const a=1;const b=a;"),
        ("function f() {\n  return a;\n}\nf();\n", "function f(){return a}\nf();"),
        ('say("// no comment,  two spaces");', 'say("// no comment,  two spaces");'),
        ("const t = `a  ${ b } ; }`;", "const t=`a  ${ b } ; }`;"),
        ("const r = /[/\"'] ; }/g;", "const r=/[/\"'] ; }/g;"),
        ("s.replace(/-/g, '+')", "s.replace(/-/g,'+')"),
        ("const half = a / 2 / b;", "const half=a/2/b;"),
        ("return typeof a in b;", "return typeof a in b;"),
        ("a = b + +c - -d;", "a=b+ +c- -d;"),
        ("list\n  .map(f)\n  .join();", "list.map(f).join();"),
        ("const a = b\nconst c = d", "const a=b\nconst c=d"),
        ("for (;;) {\n  break;\n}", "for(;;){break}"),
    ],
)
def test_a_script_loses_comments_and_spaces_and_no_meaning(source: str, packed: str) -> None:
    assert packed_script(source) == packed


def test_a_style_loses_comments_and_spaces_and_no_meaning() -> None:
    source = "/* Why,\n   in two lines. */\n.a > .b {\n  color: red;\n  .c, .d { margin: 0 1px; }\n}\n"
    assert packed_style(source) == ".a>.b{color:red;.c,.d{margin:0 1px}}"
