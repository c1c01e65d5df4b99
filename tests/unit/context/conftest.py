import pytest
import structlog


@pytest.fixture(autouse=True)
def _plain_logs():
    """Tracebacks without every local variable: rendering those takes half a second each."""
    before = structlog.get_config()
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        processors=[structlog.stdlib.add_log_level, renderer], cache_logger_on_first_use=False
    )
    yield
    structlog.configure(**before)
