"""Keep a continued turn inside its token budget by shortening tool results, oldest first. Pure."""

from msgspec.structs import replace

from backscroll_sidecar.analyze import TokenCounter, token_counter
from backscroll_sidecar.chat.turns import Turn
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.token_counter import payload_tokens
from backscroll_sidecar.domain import Layout, result_message
from backscroll_sidecar.errors import BudgetTooSmall


def within_budget(turn: Turn, mark: str) -> Turn:
    """The turn cut to its budget. Tokens are counted as for the context, calls included.

    Only tool results are shortened. A turn without a budget stays as it is.

    Raises
    ------
    BudgetTooSmall
        Also with nothing but a mark for every result.
    """
    if turn.budget is None:
        return turn
    counter = token_counter(turn.tokenizer)
    messages = list(turn.messages)
    excess = _tokens(turn) - turn.budget
    for place, message in enumerate(messages):
        if excess <= 0:
            break
        if len(message.tool_results) == 1:
            (result,) = message.tool_results
            tokens = counter.count(result.text)
            text = shortened(result.text, tokens - excess, counter, mark)
            messages[place] = result_message((replace(result, text=text),), message.message_ids)
            excess -= tokens - counter.count(text)
    if excess > 0:
        raise BudgetTooSmall(turn.budget, turn.budget + excess)
    return replace(turn, messages=tuple(messages))


def shrunk(turn: Turn, share: float, mark: str) -> Turn:
    """The turn cut to so much of the tokens that it has; its budget stays. Raises `BudgetTooSmall`."""
    less = within_budget(replace(turn, budget=int(share * _tokens(turn))), mark)
    return replace(less, budget=turn.budget)


def shortened(text: str, most: int, counter: TokenCounter, mark: str) -> str:
    """The beginning of `text` and the mark, at most `most` tokens; the mark alone where that is too few.

    A text that counts no more than the mark stays whole.
    """
    tokens, least = counter.count(text), counter.count(mark)
    if tokens <= max(most, least):
        return text
    kept, cut = text, mark
    while kept:
        # In proportion to the tokens, so that a few rounds are enough.
        kept = kept[: min(len(kept) - 1, len(kept) * max(most - least, 0) // tokens)]
        cut = kept + mark
        tokens = counter.count(cut)
        if tokens <= most:
            break
    return cut


def _tokens(turn: Turn) -> int:
    frame = Frame(
        budget=turn.budget or 0,
        reserve=turn.reserve,
        tools_json=turn.tools_json,
        layout=Layout.TURNS,
        include_system=False,
        with_names=turn.with_names,
        tokenizer=turn.tokenizer,
    )
    return payload_tokens(turn.messages, frame)
