"""What is left of an import that was cut short."""

import pytest

# So that its assertions say what they compared.
pytest.register_assert_rewrite("tests.support.aftermath")
