"""What an `AppendReport` says, from a server of ours."""

from backscroll import Message
from tests.kit.served import served

SENT = 1_795_176_000_000


async def test_warnings_and_what_is_gone_are_said():
    """Accepted, but not as sent; recalled, and it stays so. Neither is a problem, both are shown."""
    async with served() as (client, _):
        future = Message("m1", "ann", "from tomorrow", 2**42)
        orphan = Message("m2", "ann", "so it is", 0, reply_to="nobody")
        report = await client.append("room", [future, orphan, Message("m3", "ann", "fine", SENT)])
        assert [result.message_id for result in report.warnings] == ["m1", "m2"]
        assert (report.stored, report.gone, report.problems) == (3, 0, ())
        assert repr(report) == (
            "<AppendReport: 3 messages, 3 stored, 0 duplicates, 0 problems, "
            "2 with warnings: 'm1' time_in_future>"
        )
        await client.recall_message("room", "m3")
        again = await client.append("room", Message("m3", "ann", "fine", SENT))
        assert (again.stored, again.duplicates, again.gone) == (0, 0, 1)
        assert (
            repr(again) == "<AppendReport: 1 messages, 0 stored, 0 duplicates, 1 gone, 0 problems>"
        )
