"""What a vendor counted of a model call, beside what we did."""

from backscroll_sidecar.chat.turns import Turn
from backscroll_sidecar.domain import MediaPart
from backscroll_sidecar.ports import Clock
from backscroll_sidecar.telemetry.usage_numbers import Counted, UsageNumbers


class Usage:
    """Adds to the numbers."""

    def __init__(self, numbers: UsageNumbers, clock: Clock) -> None:
        self._numbers = numbers
        self._clock = clock

    def told(self, turn: Turn, prompt_tokens: int, completion_tokens: int) -> None:
        """The vendor told its counts of a turn's call. Those with pictures say nothing of our counts, nor do later
        rounds, which nobody counted.
        """
        if turn.counted_tokens is None or _has_pictures(turn):
            return
        self._numbers.add(
            Counted(turn.model, turn.tokenizer),
            turn.counted_tokens,
            prompt_tokens,
            completion_tokens,
            self._clock.monotonic_s(),
        )


def _has_pictures(turn: Turn) -> bool:
    return any(isinstance(part, MediaPart) for one in turn.messages for part in one.parts)
