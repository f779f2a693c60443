"""The forms of keys and tokens that say themselves what they are.

No library that is kept up does this for a text: detect-secrets tells lines and not places and knows few of
today's forms, and the better scanners are programs, or need a model. So the forms are listed here, and tests
hold them against scanners of others.
"""

from __future__ import annotations

import re

_BEFORE = r"(?<![A-Za-z0-9])"
TOKEN_FORMS = (
    r"sk-ant-[A-Za-z0-9_-]{16,}",
    r"sk-(?:proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,}",
    r"sk-[A-Za-z0-9]{20,}",
    r"pk-lf-[A-Za-z0-9-]{16,}",
    r"gh[opsur]_[A-Za-z0-9_]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_.-]{16,}",
    r"GR1348941[A-Za-z0-9_-]{16,}",
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA|AGPA|AIDA|AIPA|ANPA|ANVA|APKA|AROA)[A-Z0-9]{12,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"dapi[0-9a-f]{32}",
    r"do[oprt]_v1_[A-Za-z0-9]{32,}",
    r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{20,}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}",
    r"fig[dor]_[A-Za-z0-9_-]{20,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{10,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    r"PMAK-[A-Za-z0-9-]{40,}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    r"ATATT3[A-Za-z0-9_=-]{30,}",
    r"ATBB[A-Za-z0-9]{24,}",
    r"sbp_[a-f0-9]{30,}",
    r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}",
    r"EAAA[A-Za-z0-9_-]{56,}",
    r"r8_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{30,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"pplx-[A-Za-z0-9]{30,}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    r"ops_eyJ[A-Za-z0-9+/=_-]{40,}",
    r"NRAK-[A-Z0-9]{20,}",
    r"glsa_[A-Za-z0-9_]{30,}",
    r"glc_[A-Za-z0-9+/=]{30,}",
    r"key-[0-9a-f]{32}",
    r"[0-9a-f]{32}-us[0-9]{1,2}",
    r"(?:AC|SK)[0-9a-f]{32}",
    r"rubygems_[0-9a-f]{40,}",
    r"secret_[A-Za-z0-9]{40,}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"AKC[A-Za-z0-9]{20,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}",
    r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}",
    r"[a-z0-9]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{40,}",
    r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}",
    r"SharedAccessKey=[A-Za-z0-9+/]{30,}={0,2}",
)
TOKENS = re.compile(_BEFORE + "(?:" + "|".join(TOKEN_FORMS) + ")")

PRIVATE_KEYS = re.compile(
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # Line ends may be escaped, more than once, and lines may begin as those of a diff or a quotation do.
    r"(?:(?!-----)[\s\S]){0,20000}"
    r"(?:-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
    r"|PuTTY-User-Key-File-[0-9][\s\S]{0,4000}?Private-MAC:\s*[0-9a-f]+"
)
"""One that is cut off ends where its text does."""
