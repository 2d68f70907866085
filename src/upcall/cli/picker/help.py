"""The keys of the picker in words: the last line of each screen, and the page behind `?`."""

from upcall.cli.picker.browsing import FIND
from upcall.cli.picker.changing import Changing
from upcall.cli.picker.choosing import Choosing
from upcall.cli.picker.picker import Picker

LIST_KEYS = "↑↓ move · Enter open · Tab actions · / search · Ctrl-K find · ? keys · q leave"
SEARCH_KEYS = "type what to search for · Enter keep it · Esc show all"
OWN_WORDS_KEYS = "↑↓ or number choose · or type your answer · Enter send · Tab actions · Esc back"
ONE_KEYS = "↑↓ or number choose · Enter send · Tab actions · Esc back"
OWN_WORDS_MULTI_KEYS = "space or number tick · ↓ own words · Enter send · Tab actions · Esc back"
MULTI_KEYS = "↑↓ move · space or number tick · Enter send · Tab actions · Esc back"
TEXT_KEYS = "type your answer · Enter send · Tab actions · Esc back"
FORM_KEYS = "number or type your answer · Enter next · ←→ questions · Tab actions · Esc back"
FORM_MULTI_KEYS = "number tick · ↓ own words · Enter next · ←→ questions · Tab actions · Esc back"
FORM_TEXT_KEYS = "type your answer · Enter next · ←→ questions · Tab actions · Esc back"
REVIEW_KEYS = "Enter send · number change that answer · ← back · Tab actions · Esc leave it"
FIND_KEYS = "type what to find · ↑↓ move · Enter open · Esc back"
BROWSE_KEYS = "↑↓ move · Enter read · g i inbox · Ctrl-K find · ? keys · Esc back · q leave"
READ_KEYS = "PgUp PgDn scroll · Esc back"
GO_KEYS = "i inbox · r runs · h history · Esc back"
CLOSED_KEYS = "Esc back to the list"
CHANGE_KEYS = "Enter approve as changed · c change it again · PgUp PgDn scroll · Esc back"
SUGGEST_KEYS = "Enter deny, and suggest this · c change it again · PgUp PgDn scroll · Esc back"
COMMENT_KEYS = "Enter send it back with this · c write on · PgUp PgDn scroll · Esc back"
REASON_KEYS = "type a reason, or nothing · Enter reject · Esc back"
HELP_KEYS = "PgUp PgDn scroll · Esc back"

HELP = """\
In the list
  ↑ ↓ or j k   move
  Enter        open the question
  /            search; Esc shows all again
  g i g r g h  go to the inbox, to runs, to the history
  q            leave

Everywhere
  Ctrl-K       find any question, run or command

In a question
  ↑ ↓ or 1 2 3 choose; j k too, where only the options count
  space        tick, where several may be chosen; backspace leaves a field out
  letters      begin an answer in your own words, where one is taken
  ← →          the questions of a form; after the last one it is reviewed
  PgUp PgDn    scroll
  Enter        send what is chosen or typed; in a form, go on
  Esc          back

Tab, then a letter (no word that you type does any of these)
  y            take the recommended option
  u            undo what you decided last, before the agent is told
  a            remember an approval: the next wider rule
  c            change an action, or comment on a plan, in your editor
  r            reject, with a reason if you like
  e            24 hours more time
  g            go to: i, r or h as above
  ?            these keys"""


def footer(picker: Picker) -> str:
    """The keys that work now."""
    if picker.closed is not None:
        return CLOSED_KEYS
    if picker.helping:
        return HELP_KEYS
    if picker.going:
        return GO_KEYS
    if picker.declining is not None:
        return REASON_KEYS
    if picker.changing is not None:
        return _changing(picker.changing)
    if picker.browsing is not None:
        if picker.browsing.text is not None:
            return READ_KEYS
        return FIND_KEYS if picker.browsing.place == FIND else BROWSE_KEYS
    if picker.acting:
        return " · ".join([*(f"{key} {does}" for key, does in picker.actions.items()), "Esc back"])
    if picker.choosing is not None:
        return _form(picker.choosing) if picker.choosing.is_form else _question(picker.choosing)
    return LIST_KEYS if picker.search is None else SEARCH_KEYS


def _changing(changing: Changing) -> str:
    if changing.input is None:
        return COMMENT_KEYS
    return CHANGE_KEYS if changing.runs else SUGGEST_KEYS


def _form(choosing: Choosing) -> str:
    if choosing.reviewing:
        return REVIEW_KEYS
    if choosing.part.typing:
        return FORM_TEXT_KEYS
    return FORM_MULTI_KEYS if choosing.part.multi else FORM_KEYS


def _question(choosing: Choosing) -> str:
    part = choosing.part
    if part.typing:
        return TEXT_KEYS
    if part.custom:
        return OWN_WORDS_MULTI_KEYS if part.multi else OWN_WORDS_KEYS
    return MULTI_KEYS if part.multi else ONE_KEYS
