"""The words in which OpenAPI describes operations."""

from upcall.web.api.schemas import Schema

Document = dict[str, object]


def operation(
    summary: str,
    responses: Document,
    *,
    tag: str,
    parameters: list[Document] | None = None,
    body: Document | None = None,
) -> Document:
    """What can be done at a path."""
    described: Document = {"summary": summary, "tags": [tag]}
    if parameters:
        described["parameters"] = parameters
    if body is not None:
        described["requestBody"] = body
    return {**described, "responses": {**responses, "default": {"$ref": "#/components/responses/Error"}}}


def json_of(schema: Schema, example: Document | None = None) -> Document:
    """Content in JSON."""
    shown: Document = {"schema": schema}
    if example is not None:
        shown["example"] = example
    return {"application/json": shown}


def given(description: str, schema: Schema) -> Document:
    """A response in JSON."""
    return {"description": description, "content": json_of(schema)}


def taken(schema: Schema, example: Document) -> Document:
    """A body in JSON, with an example."""
    return {"content": json_of(schema, example)}


def query(name: str, schema: Schema, description: str = "") -> Document:
    """A parameter after the question mark."""
    parameter: Document = {"name": name, "in": "query", "schema": schema}
    return {**parameter, "description": description} if description else parameter


def path(name: str, schema: Schema) -> Document:
    """A parameter in the path."""
    return {"name": name, "in": "path", "required": True, "schema": schema}
