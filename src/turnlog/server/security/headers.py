"""What every answer tells the browser to refuse.

Transcripts are untrusted: they hold whatever a model read on the web. If a part of one ever reached the page as
markup, the policy still keeps it from running, loading or sending anything.
"""

from __future__ import annotations

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)

UNTRUSTED_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
"""For bytes that come out of a transcript: whatever they are, they are no page of ours."""

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""Each is put on every answer that does not say otherwise itself."""

API_CACHING = b"no-store"
REVALIDATED = b"private, no-cache"
"""May be kept by this browser, and must be asked for again: for answers with an ETag."""
