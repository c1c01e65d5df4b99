"""What builds ask of telemetry and tell it, beside their numbers."""

from __future__ import annotations

from typing import NamedTuple

from backscroll_sidecar.telemetry.spans import Spans
from backscroll_sidecar.telemetry.usage_numbers import UsageNumbers


class BuildTelemetry(NamedTuple):
    """Either may be missing.

    Attributes
    ----------
    calibration : by what token budgets are calibrated; None: they are in our tokens.
    spans : are told of builds; None: nobody is.
    """

    calibration: UsageNumbers | None = None
    spans: Spans | None = None


NO_TELEMETRY = BuildTelemetry()
