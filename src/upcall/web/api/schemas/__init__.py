"""The shapes of everything that the API takes and gives, as JSON Schema; `words.py` has the words, the rest the shapes.

It knows no route: the table in `routes.py` names these shapes. Begin with `inquiries.py`.
"""

from upcall.domain.inquiry.limits import Limits
from upcall.web.api.schemas.inquiries import inquiry_forms, inquiry_schemas
from upcall.web.api.schemas.runs import run_schemas
from upcall.web.api.schemas.service import service_schemas
from upcall.web.api.schemas.threads import thread_schemas
from upcall.web.api.schemas.words import Schema


def schemas(limits: Limits) -> dict[str, Schema]:
    """Every named schema."""
    return {
        **inquiry_schemas(),
        **inquiry_forms(limits),
        **run_schemas(),
        **thread_schemas(),
        **service_schemas(),
    }
