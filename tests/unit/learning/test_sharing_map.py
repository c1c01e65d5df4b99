"""Who may show whose lines, for any settings."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import ChannelSettings, SharedChannel, Sharing
from backscroll_sidecar.learning.sharing import MOST_CHANNELS, SharingMap

NAMES = st.lists(st.sampled_from("abcde"), max_size=4).map(tuple)
SETTINGS = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(Sharing, shares_with=NAMES, reads_from=NAMES, groups=NAMES).map(
        lambda one: ChannelSettings(sharing=one)
    ),
)


@given(SETTINGS)
def test_a_channel_is_readable_where_both_want_it_and_nowhere_else(settings):
    """Each once, never itself, never by a third; a group works both ways."""
    found = SharingMap(settings)
    for here in "abcde":
        readable = found.readable(here)
        assert readable.is_whole
        channels = [one.channel for one in readable.channels]
        assert len(channels) == len(set(channels))
        for there in "abcde":
            one, other = settings.get(here), settings.get(there)
            wanted = False
            if here != there and one is not None and other is not None:
                by_name = there in one.sharing.reads_from and here in other.sharing.shares_with
                wanted = by_name or bool({*one.sharing.groups} & {*other.sharing.groups})
            assert (there in channels) == wanted


def test_those_named_come_first_and_there_is_a_most():
    joined = ChannelSettings(sharing=Sharing(groups=("g",)))
    settings = {f"c{n}": joined for n in range(200)}
    settings["named"] = ChannelSettings(sharing=Sharing(shares_with=("c7",)))
    settings["c7"] = ChannelSettings(sharing=Sharing(groups=("g",), reads_from=("named",)))
    readable = SharingMap(settings).readable("c7")
    assert not readable.is_whole
    assert len(readable.channels) == MOST_CHANNELS
    assert readable.channels[:2] == (SharedChannel("named"), SharedChannel("c0", "g"))
