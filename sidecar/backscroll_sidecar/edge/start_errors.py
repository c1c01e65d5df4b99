"""Why a server does not start."""

from __future__ import annotations

from backscroll_sidecar.errors import BackscrollError, Reason


class StartRefused(BackscrollError):
    """The server does not start as it is set.

    Parameters
    ----------
    setting
        The name of the setting at fault, as `config/settings.py` spells it.
    why
        Goes on after that name: "listen: 0.0.0.0:7171 is …".
    """

    reason = Reason.INVALID_FIELD

    def __init__(self, setting: str, why: str) -> None:
        name = f"BACKSCROLL_{setting.upper()}"
        super().__init__(f"{setting} ({name}) {why}", field=setting)
        self.setting = setting
