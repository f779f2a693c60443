"""Taking out of a text what nobody else should read: secrets, and who and where somebody is."""

from turnlog.export.redaction.findings import Finding, Kind
from turnlog.export.redaction.redactor import RedactionRules, Redactor, Replaced

__all__ = ["Finding", "Kind", "RedactionRules", "Redactor", "Replaced"]
