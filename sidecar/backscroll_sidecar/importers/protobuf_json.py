"""JSON that does not fit a message of the contract, in the contract's words."""

import re
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor


def misfit(value: object, kind: Descriptor, path: str = "") -> str:
    """Where a text, number or list stands for an object, an object for a list of them, or a word for none of an enum's;
    empty: nowhere.

    Protobuf takes the letters of a text for the names of fields.
    """
    if not isinstance(value, dict):
        fields = ", ".join(field.name for field in kind.fields)
        return f"{path or 'it'} must be an object with {fields or 'nothing in it'}, not {_words(value)}"
    for name, inner in value.items():
        field = kind.fields_by_name.get(name) or kind.fields_by_camelcase_name.get(name)
        if field is not None and field.enum_type is not None:
            given = inner if isinstance(inner, list) else [inner]
            if wrong := next((one for one in given if _is_no_word(one, field.enum_type)), ""):
                words = ", ".join(one.name for one in field.enum_type.values[1:])
                return f"{path + '.' * bool(path)}{name} must be one of {words}, not {wrong}"
        if (
            field is None
            or field.message_type is None
            or inner is None
            or _is_special(field.message_type)
        ):
            continue
        at = f"{path}.{name}" if path else name
        if not field.is_repeated:
            found = misfit(inner, field.message_type, at)
        elif not isinstance(inner, list):
            found = f"{at} must be a list, not {_words(inner)}"
        else:
            each = (misfit(one, field.message_type, f"{at}[{i}]") for i, one in enumerate(inner))
            found = next(filter(None, each), "")
        if found:
            return found
    return ""


def known(value: Any, kind: Any, unread: set[str], path: str = "") -> Any:  # noqa: ANN401 - any JSON, a Descriptor
    """The value with what `kind` has fields for; the paths of all else are put into `unread`.

    An object of which nothing is known stays as it is: without it something would be missing that nobody is told of.
    """
    if isinstance(value, list):
        return [known(one, kind, unread, path) for one in value]
    if not isinstance(value, dict):
        return value
    fields = {**kind.fields_by_camelcase_name, **kind.fields_by_name}
    if value and not value.keys() & fields.keys():
        return value
    kept = {}
    for name, inner in value.items():
        at = f"{path}.{name}" if path else name
        if name not in fields:
            unread.add(at)
            continue
        of = fields[name].message_type
        is_plain = of is None or _is_special(of)
        kept[name] = inner if is_plain else known(inner, of, unread, at)
    return kept


def _is_no_word(value: object, kind: EnumDescriptor) -> bool:
    """Whether it is a word that the enum has not; its numbers may stand in quotes."""
    return isinstance(value, str) and value not in kind.values_by_name and not value.isdecimal()


def _is_special(kind: Descriptor) -> bool:
    """Maps, and the types that have a JSON of their own."""
    return kind.GetOptions().map_entry or kind.full_name.startswith("google.protobuf.")


def _words(value: Any) -> str:  # noqa: ANN401 - any JSON
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds[type(value)]


def protobuf_words(error: Exception) -> str:
    """Protobuf's complaint about JSON, with the fields spelt as the contract spells them."""
    words = re.sub(
        r'Message type "[\w.]*?(\w+)" has no field named', r"\1 has no field", str(error)
    )
    words, _, fields = words.partition("Available Fields")
    words = re.sub(r"\s+", " ", words).strip(" .")
    names = (
        re.sub(r"[A-Z]", lambda one: "_" + one[0].lower(), name)
        for name in re.findall(r"'(\w+)'", fields)
    )
    listed = ", ".join(names)
    return f"{words}; it has {listed}" if listed else words
