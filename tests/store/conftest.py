"""Settings of the tests of stores."""

from __future__ import annotations

import pytest

# The contracts are shipped, so pytest does not take them for tests whose assertions it should explain.
pytest.register_assert_rewrite("turnlog.testing")
