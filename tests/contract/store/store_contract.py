"""The contract of `HistoryStore`: every implementation runs all of it (S2-17).

A bug found in one store becomes a test here. A store's own test file brings a fixture `store` and what is its own.
"""

from tests.contract.store.append_contract import AppendContract
from tests.contract.store.cancel_contract import CancelContract
from tests.contract.store.change_contract import ChangeContract
from tests.contract.store.erasure_contract import ErasureContract
from tests.contract.store.partial_contract import PartialContract
from tests.contract.store.people_contract import PeopleContract
from tests.contract.store.place_contract import PlaceContract
from tests.contract.store.reading_contract import ReadingContract
from tests.contract.store.record_contract import RecordContract
from tests.contract.store.reply_contract import ReplyContract
from tests.contract.store.segment_contract import SegmentContract
from tests.contract.store.session_contract import SessionContract
from tests.contract.store.turn_contract import TurnContract
from tests.contract.store.usage_contract import UsageContract


class HistoryStoreContract(
    AppendContract,
    ReplyContract,
    ChangeContract,
    ErasureContract,
    PeopleContract,
    PartialContract,
    CancelContract,
    PlaceContract,
    ReadingContract,
    SegmentContract,
    TurnContract,
    RecordContract,
    SessionContract,
    UsageContract,
):
    """All obligations of a store, one test each."""
