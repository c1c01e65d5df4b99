"""Pages are run with the process that commands are forked from."""

from tests.integration.cli.conftest import kernels, prepared  # noqa: F401 - fixtures
