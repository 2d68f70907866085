"""`label_cards`: a sentence on every open card of the inbox."""

from upcall.config.presets.settings import PresetSettings


def card_label(settings: PresetSettings) -> str:
    """The name of that sentence in `web/locales`; empty without the setting."""
    return "card.needs_input" if settings.label_cards else ""
