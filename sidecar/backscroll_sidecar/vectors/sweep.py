"""Index files that the database does not know: left by an erasure that a crash cut short, or of another embedder."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Executor

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import HistoryReader
from backscroll_sidecar.vectors.files import IndexFiles, IndexRecord

log = logging.getLogger(__name__)

CHANNELS_PAGE = 500


async def sweep(
    files: IndexFiles, reader: HistoryReader, embedder_id: str, executor: Executor
) -> None:
    """Remove them; the files of another embedder are made again when it comes back. Raises nothing."""
    loop = asyncio.get_running_loop()
    try:
        unknown = await loop.run_in_executor(executor, files.found)
        after: ChannelKey | None = None
        while unknown and (page := await reader.channels(after, CHANNELS_PAGE)):
            for key in page:
                path = files.path(key, embedder_id)
                if path in unknown and await IndexRecord.read(reader, key, embedder_id):
                    unknown.remove(path)
            after = page[-1]
        for path in unknown:
            await loop.run_in_executor(executor, path.unlink, True)
    except (BackscrollError, OSError) as error:
        log.warning("files of indexes cannot be swept: %r", error)
