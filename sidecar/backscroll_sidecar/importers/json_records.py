"""Records of JSON files, one after the other: lines, arrays, and lists inside a document of any size."""

import json
from collections.abc import Iterator
from typing import IO, Any

import ijson

from backscroll._encode import clean
from backscroll_sidecar.importers.items import Bad, BadRecord, Place, Record, Unreadable
from backscroll_sidecar.importers.json_bytes import JSON_ERRORS, Depth, SafeBytes, TooDeep
from backscroll_sidecar.importers.sources import Source

_MAX_HEADER_EVENTS = 200_000


def of_lines(source: Source) -> Iterator[tuple[Place, Record] | Bad]:
    """One object a line; a line that is none is `Bad`."""
    for line in source.lines():
        if isinstance(line, Bad):
            yield line
            continue
        place, raw = line
        try:
            yield place, parsed(raw)
        except BadRecord as error:
            yield Bad(place, str(error))


def of_document(
    source: Source, prefixes: tuple[str, ...], unit: str = "message"
) -> Iterator[tuple[Place, Record] | Bad]:
    """The objects at the first of these places (``item`` is an element of a list) that has any.

    Raises
    ------
    Unreadable
        The document breaks off, or is not JSON from some place on.
    """
    count = 0
    for prefix in prefixes:
        with source.opened() as file:
            counted = SafeBytes(file)
            try:
                for value in ijson.items(counted, prefix, use_float=True, multiple_values=True):
                    count += 1
                    place = Place(count, unit)
                    if isinstance(value, dict):
                        yield place, value
                    else:
                        yield Bad(place, "not a JSON object")
            except JSON_ERRORS as error:
                raise broken(source, counted, count, unit, error) from None
        if count:
            return


def walked(
    source: Source, record_prefix: str, unit: str = "message"
) -> Iterator[tuple[str, Any] | tuple[Place, Record]]:
    """Everything in order: values by their place, and the records whole. Slower than `of_document`."""
    count = 0
    with source.opened() as file:
        counted = SafeBytes(file)
        builder: ijson.ObjectBuilder | None = None
        try:
            for prefix, event, value in ijson.parse(counted, use_float=True):
                if builder is not None:
                    builder.event(event, value)
                    if prefix == record_prefix and event == "end_map":
                        yield Place(count, unit), builder.value
                        builder = None
                elif prefix == record_prefix and event == "start_map":
                    count += 1
                    builder = ijson.ObjectBuilder()
                    builder.event(event, value)
                elif event in {"string", "number", "boolean", "null"}:
                    yield prefix, value
        except JSON_ERRORS as error:
            raise broken(source, counted, count, unit, error) from None


def header(file: IO[bytes], stops: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """Values that stand before the first record, by their place, keys of objects included as None; and whether there
    is a record. What comes of a document that breaks off is what was seen until then.
    """
    seen: dict[str, Any] = {}
    try:
        for count, (prefix, event, value) in enumerate(
            ijson.parse(SafeBytes(file), use_float=True)
        ):
            if prefix in stops and event == "start_map":
                return seen, True
            if event == "map_key":
                seen.setdefault(f"{prefix}.{value}".lstrip("."), None)
            elif event in {"string", "number", "boolean"}:
                seen.setdefault(prefix, value)
                seen[prefix] = value if seen[prefix] is None else seen[prefix]
            if count > _MAX_HEADER_EVENTS:
                break
    except JSON_ERRORS:
        pass
    return seen, False


def parsed(raw: bytes) -> Record:
    """One line as a JSON object."""
    try:
        Depth().feed(raw)
        record = json.loads(raw.decode("utf-8").rstrip())
    except UnicodeDecodeError:
        raise BadRecord("not UTF-8") from None
    except json.JSONDecodeError as error:  # its own words count lines inside this one
        raise BadRecord(f"not JSON: {error.msg.lower()}, column {error.colno}") from None
    except TooDeep as error:
        raise BadRecord(f"not JSON that we read: {error}") from None
    except (RecursionError, ValueError):
        raise BadRecord("not JSON that we read: a number is too long") from None
    if not isinstance(record, dict):
        raise BadRecord("not a JSON object")
    cleaned: Record = _cleaned(record) if b"\\u" in raw else record
    return cleaned


def broken(source: Source, file: SafeBytes, count: int, unit: str, error: Exception) -> Unreadable:
    """Where a document stops being one."""
    words = "not JSON from there on"
    if isinstance(error, TooDeep):
        words = str(error)
    elif "ncomplete" in f"{type(error).__name__}{error}":
        words = "it breaks off"
    return Unreadable(
        f"{source.name} cannot be read to its end: {words}, behind {unit} {count}, about byte {file.bytes:,}"
    )


def _cleaned(value: Any) -> Any:  # noqa: ANN401
    """JSON can spell half a character; protobuf refuses it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return (
        {clean(key): _cleaned(one) for key, one in value.items()}
        if isinstance(value, dict)
        else value
    )
