"""Tokens over HTTP: who am I, and, for administrators, make, list and revoke."""

from starlette.responses import Response

from upcall.access.tokens import Access
from upcall.domain.document import timestamp
from upcall.domain.roles import Role
from upcall.http.body import Json
from upcall.http.errors import UnknownToken
from upcall.web import fields
from upcall.web.call import Call

EXAMPLE = '{"name": "laptop", "role": "agent"}'


class TokenHandlers:
    """The handlers of `/v1/me` and of everything under `/v1/tokens`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def me(self, call: Call) -> Response:
        """The name and the role of this token."""
        return Json({"name": call.caller.name, "role": call.caller.role.value})

    async def create(self, call: Call) -> Response:
        """Make a token; its secret is in this response and nowhere else."""
        body = await call.body()
        name = fields.required_text(body, "name", example=EXAMPLE)
        sent = fields.required_text(body, "role", example=EXAMPLE)
        role = fields.choice(Role, sent, "role", hint=f"for example {EXAMPLE}")
        secret = await self._access.create(name, role)
        return Json({"name": name, "role": role.value, "token": secret}, 201)

    async def list(self, call: Call) -> Response:
        """List tokens, without their secrets."""
        call.query()
        items = [
            {"name": token.name, "role": token.role.value, "created_at": timestamp(token.created_at)}
            for token in await self._access.tokens()
        ]
        return Json({"items": items, "next": None})

    async def revoke(self, call: Call) -> Response:
        """Revoke a token, at once."""
        if not await self._access.revoke(call.name):
            raise UnknownToken(
                f"there is no token {call.name[:64]!r}", hint="`upcall tokens list` shows them"
            )
        return Json({"name": call.name, "revoked": True})
