"""How a channel names a message: the conversation that it stands in, and its own id there."""


def message_name(conversation: object, message: object) -> str:
    """The name of a message, as it is kept on record."""
    return f"{conversation}/{message}"


def conversation_and_id(name: str) -> tuple[str, str]:
    """The conversation and the id in a message's name, for vendors that have no slash in an id."""
    conversation, _, message = name.rpartition("/")
    return conversation, message
