from upcall.client import errors as errors, sync as sync
from upcall.client.asking import approve as approve, ask as ask
from upcall.client.bridges import (
    ag_ui as ag_ui,
    claude as claude,
    crewai as crewai,
    google_adk as google_adk,
    langgraph as langgraph,
    openai_agents as openai_agents,
    pydantic_ai as pydantic_ai,
    smolagents as smolagents,
    strands as strands,
)
from upcall.client.client import Client as Client
from upcall.client.outcome import (
    Allowed as Allowed,
    Answered as Answered,
    Cancelled as Cancelled,
    Denied as Denied,
    Expired as Expired,
    Failed as Failed,
    Outcome as Outcome,
    Parked as Parked,
    Rejected as Rejected,
    Verdict as Verdict,
)
from upcall.client.request import (
    Attachment as Attachment,
    Option as Option,
    Progress as Progress,
    Question as Question,
)
from upcall.domain.errors import UpcallError as UpcallError

__version__: str
