"""An operator's own strategy, as a module beside the server would hold it (S2-23)."""

from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies import Empty, Messages, Preferences, StrategyQuery


class Reference:
    """Proposes the messages whose ids begin with "ref" as a reference."""

    name = "reference"

    def gather(self, query: StrategyQuery) -> Messages:
        ids = [i for i in query.view.message_ids[: query.end] if i.startswith("ref")]
        return Messages(Category.SEMANTIC, message_ids=ids)


class Starred:
    """Proposes what is written in stars, the more the better."""

    name = "starred"

    def gather(self, query: StrategyQuery) -> Messages:
        texts = query.view.texts[: query.end]
        rows = [row for row, text in enumerate(texts) if text.strip("*") == ""]
        scores = [float(len(texts[row])) for row in rows]
        return Messages(Category.RECENT, rows, scores=scores)


class Silent:
    """Has nothing to add."""

    name = "silent"

    def gather(self, query: StrategyQuery) -> Empty:
        return Empty()


class Learnt:
    """Knows something about whoever asks."""

    name = "learnt"

    def gather(self, query: StrategyQuery) -> Preferences:
        return Preferences((f"{query.user_id} likes tea", "  "))


class Broken:
    """Breaks, or gives what is no result, as the question says."""

    name = "broken"

    def gather(self, query: StrategyQuery) -> object:
        if "nonsense" in query.question:
            return ["m1"]
        raise ZeroDivisionError
