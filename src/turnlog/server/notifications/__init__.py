"""Telling people who look elsewhere: webhooks and notifications on the desktop, if somebody asked for them."""

__all__: list[str] = []
