"""The shapes of everything that the API takes and gives, as JSON Schema: `forms.py` what it is sent, `replies.py` the rest.

It knows no route: the table in `routes.py` names these shapes. Begin with `words.py`.
"""

from upcall.domain.inquiry.limits import Limits
from upcall.web.api.schemas.forms import forms
from upcall.web.api.schemas.replies import replies
from upcall.web.api.schemas.words import Schema


def schemas(limits: Limits) -> dict[str, Schema]:
    """Every named schema."""
    return {**replies(), **forms(limits)}
