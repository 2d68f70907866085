"""What each vendor wants from its owner: how to make an app there, what `upcall channels add` asks for, and what a place is.

Only sentences and keys; the settings themselves are in `config/channels.py`.
"""

from collections.abc import Mapping

ASKED: Mapping[str, Mapping[str, str]] = {
    "slack": {
        "bot_token": "Bot User OAuth Token (xoxb-…)",
        "app_token": "App-Level Token (xapp-…)",
    },
    "telegram": {"bot_token": "Token of the bot, from @BotFather (123456789:AAE…)"},
    "whatsapp": {
        "phone_number_id": "Phone number ID (digits)",
        "access_token": "Access token (EAA…)",
        "app_secret": "App secret",
        "verify_token": "Verify token, of your own choice",
    },
    "push": {"subject": "Address that a push service can write to (mailto:you@example.org)"},
    "matrix": {
        "homeserver": "Address of the homeserver (https://matrix.example.org)",
        "access_token": "Access token (syt_…)",
    },
    "discord": {"bot_token": "Token of the bot"},
    "email": {
        "address": "Address of Upcall's own mailbox (upcall@example.org)",
        "password": "Password of the mailbox",
        "smtp_host": "SMTP server (smtp.example.org)",
        "imap_host": "IMAP server (imap.example.org)",
    },
    "webhook": {
        "url": "Address of your program (https://example.org/upcall)",
        "secret": "Secret (whsec_…, or at least 24 characters)",
    },
    "ntfy": {"server": "Server (https://ntfy.sh)", "token": "Access token; empty for none"},
    "apprise": {"url": "Address of the service, as Apprise writes it"},
    "desktop": {},
}
"""The keys that are asked for, in this order, each with its prompt."""

PLACES: Mapping[str, str] = {
    "slack": "id of a channel or a person (C0123456789, U0123456789)",
    "telegram": "number of a chat, which the bot says when you send it /id (501234567)",
    "whatsapp": "phone number with its country code (15551234567)",
    "push": "name of a person in the inbox (ana)",
    "matrix": "id or address of a room (!abcdefghij:example.org)",
    "discord": "id of a channel, or @ and that of a person (123456789012345678)",
    "email": "address (ana@example.org)",
    "webhook": "word that your program understands (ops)",
    "ntfy": "topic (ana-questions-4f7c)",
    "apprise": "name of a person (ana)",
    "desktop": "name of a person (ana)",
}
"""What an address is in each channel, with an example."""

STEPS: Mapping[str, tuple[str, ...]] = {
    "slack": (
        "At https://api.slack.com/apps choose Create New App, From a manifest, and paste the manifest above.",
        "Basic Information, App-Level Tokens: make one with the scope connections:write (xapp-…).",
        "Install App: install it, and copy the Bot User OAuth Token (xoxb-…).",
        "In Slack, invite the app to the channel: /invite @Upcall",
    ),
    "telegram": (
        "In Telegram write /newbot to @BotFather, and choose a name. It gives you a token (123456789:AAE…).",
        "Leave the bot's privacy mode on: replies to its own messages reach it anyway.",
        "Open the bot and press Start, or put it into a group. Once it is on, /id says the number of the chat.",
    ),
    "whatsapp": (
        "At https://developers.facebook.com/apps make an app for the use case Connect with customers through WhatsApp.",
        "WhatsApp, API Setup: note the Phone number ID, and add your own phone to its recipients.",
        "Business settings: make a system user's token with the permission whatsapp_business_messaging.",
        "App settings, Basic: copy the App secret. Make up a verify token.",
        "Set public_url in upcall.toml. WhatsApp, Configuration: the callback is PUBLIC_URL/channels/whatsapp, the field messages.",
    ),
    "push": (
        "Sign in to the inbox on your phone or computer, over https or on this machine.",
        "Once the channel is on, switch notifications on in the menu of the inbox.",
    ),
    "matrix": (
        "On your homeserver make an account for Upcall alone.",
        "Sign in as it once, and copy the access token (syt_…): Settings, Help & About, Advanced.",
        "Choose a room that is not encrypted. Once the channel is on, invite the account to it.",
    ),
    "discord": (
        "At https://discord.com/developers/applications choose New Application.",
        "Bot: press Reset Token and copy it; switch on Message Content Intent.",
        "OAuth2, URL Generator: tick the scope bot and View Channels, Send Messages, Read Message History; open the address.",
        "In your settings, Advanced, switch on Developer Mode: a right click on a channel then copies its id.",
    ),
    "email": (
        "Make a mailbox for Upcall alone: it takes every unread letter in it for its own.",
        "It needs IMAP with IDLE, and plus addressing (upcall+anything@example.org).",
    ),
    "webhook": (
        'Make a secret: echo "whsec_$(openssl rand -base64 32)"',
        "Let your program check the signature of what arrives, and reply with a status from 200 to 299.",
    ),
    "ntfy": (
        "Install the ntfy app, or run a server of your own, and choose a topic that is hard to guess.",
        "Set public_url in upcall.toml: the messages carry links to it.",
    ),
    "apprise": (
        "Find the address of your service in Apprise's list, such as pover://user@token.",
        "Set public_url in upcall.toml: the messages carry links to it.",
    ),
    "desktop": ("Run the daemon in your desktop's session: upcall service install",),
}
"""What to do at the vendor, before `upcall channels add`."""
