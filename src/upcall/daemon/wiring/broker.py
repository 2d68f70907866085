"""The broker and its policy from the settings."""

from dataclasses import asdict

from upcall.access.tokens import digest
from upcall.broker.broker import Broker, Policy
from upcall.broker.pacing import Pacing
from upcall.config.settings import Config
from upcall.domain.answer.reading import ReadingRules
from upcall.domain.consequences import FollowUp
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.inquiry import OnExpiry
from upcall.domain.inquiry.refs import REF_REST_DAYS
from upcall.home.files import Home
from upcall.ports.store import Store


def new_broker(home: Home, store: Store, config: Config, shared_by: str, consequences: FollowUp) -> Broker:
    """The broker. `shared_by` is a secret that tells this home from others on the same database; empty on its own database."""
    return Broker(
        store,
        policy(config),
        pacing=Pacing(**asdict(config.rates), attachment_bytes=config.caps.attachment_bytes),
        follow_up=consequences,
        installation=digest(shared_by)[:16] if shared_by else "",
        copies=lambda inquiry: home.answer_folder(inquiry.id, inquiry.origin.run),
    )


def policy(config: Config) -> Policy:
    """The settings about asking and answering."""
    return Policy(
        ttl=config.ttl,
        block_timeout=config.block_timeout,
        on_block_end=config.on_block_end,
        on_expiry=OnExpiry(config.on_expiry),
        on_restart=config.on_restart,
        quorum=max(config.approvals.quorum, 1),
        asker_may_approve=config.approvals.asker_may_approve,
        reading=ReadingRules(unknown_approval=config.unknown_approval, numbers=config.numbers),
        limits=config.limits,
        threads=config.threads,
        permission=config.permission_of,
    )


def days_kept(config: Config) -> int:
    """For how many days closed questions and finished runs are kept; 0 is for ever.

    Raises:
        InvalidSetting: if a ref could be used again while its question may still be named.
    """
    days = config.retention.days
    if days < 0 or 0 < days < REF_REST_DAYS:
        raise InvalidSetting(
            f"retention.days: a question is kept for {REF_REST_DAYS} days at least, as long as its ref means it",
            hint=f"use {REF_REST_DAYS} or more, or 0 for ever",
        )
    return days
