"""A model call as a span of a trace: its events go through, and are told of at their end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from backscroll_sidecar.chat.turns import ModelReply, Turn
from backscroll_sidecar.ports import ModelError
from backscroll_sidecar.telemetry.spans import ModelSpan, Spans

T = TypeVar("T")


async def told(
    events: AsyncGenerator[T], turn: Turn, reply: ModelReply, spans: Spans
) -> AsyncGenerator[T]:
    """The same events. `reply` is what they fill."""
    now_s = asyncio.get_running_loop().time
    began_s, first_s, error = now_s(), None, ""
    try:
        async with aclosing(events) as steps:
            async for event in steps:
                first_s = now_s() - began_s if first_s is None else first_s
                yield event
    except ModelError as failed:
        error = failed.fault.value
        raise
    except TimeoutError:
        error = "timeout"
        raise
    except (GeneratorExit, asyncio.CancelledError):
        error = "cancelled"
        raise
    except BaseException:
        error = "internal"
        raise
    finally:
        spans.model_called(
            ModelSpan(
                turn.key.channel,
                turn.model,
                turn.model_api,
                now_s() - began_s,
                first_s,
                turn.temperature,
                turn.max_output_tokens,
                reply.prompt_tokens,
                reply.completion_tokens,
                reply.finish_reason,
                error,
            )
        )
