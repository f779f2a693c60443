"""`/api/notifications`: who is told when a session waits or ends, and whether that arrives."""

from __future__ import annotations

from urllib.parse import urlsplit

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from turnlog.server.notifications.notifier import Notifier, list_targets, send_test
from turnlog.server.notifications.webhooks import show_address
from turnlog.server.security.policies import ADMINS, OPERATORS
from turnlog.server.shapes.notifications import Notifications, TestedNotifications, WebhookItem

_GivenNotifier = NamedDependency[SkipValidation[Notifier]]


@get("/api/notifications", opt=ADMINS, sync_to_thread=False)
def get_notifications(notifier: _GivenNotifier) -> Notifications:
    """Return who is notified when a session waits or ends; only `config.toml` can change that."""
    settings = notifier.settings
    return Notifications(
        desktop=settings.desktop,
        webhooks=tuple(
            WebhookItem(url=show_address(urlsplit(address)), on=settings.on) for address in settings.webhooks
        ),
        on=settings.on,
    )


@post("/api/notifications/test", opt=OPERATORS, status_code=200, sync_to_thread=True)
def test_notifications(notifier: _GivenNotifier) -> TestedNotifications:
    """Send a test notification to everyone now, and return the results."""
    return TestedNotifications(sent=tuple(send_test(list_targets(notifier.settings))))


HANDLERS = (get_notifications, test_notifications)
