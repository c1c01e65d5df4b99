"""An arm of an experiment in one word of the command line, and back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from backscroll import ExperimentArm, Overrides
from backscroll.v1 import context_pb2, experiment_pb2
from backscroll_sidecar.cli.console import usage

_HINT = "such as: short:profile=balanced,max_context=10,weights.time_decay=0.5"
_WEIGHTS = tuple(field.name for field in context_pb2.ScoreWeights.DESCRIPTOR.fields)
_TRUTH = {"true": True, "false": False}


def _listed(text: str) -> list[str]:
    return text.split("+")


def _true_or_false(text: str) -> bool:
    return _TRUTH[text]


_READERS: Mapping[str, Callable[[str], object]] = {
    "use_intelligent_context": _true_or_false,
    "sources": _listed,
    **dict.fromkeys(
        (
            "relevance_threshold",
            "decay_per_hour",
            "recency_half_life_minutes",
            "exploration_temperature",
        ),
        float,
    ),
}
_OVERRIDES = tuple(one.name for one in fields(Overrides) if one.name != "weights")


def arm_of(word: str) -> ExperimentArm:
    """What ``name:setting=value,…`` says; ends the command where it says nothing that there is."""
    name, _, rest = word.partition(":")
    own: dict[str, object] = {}
    overrides: dict[str, object] = {}
    weights: dict[str, float] = {}
    for setting in filter(None, rest.split(",")):
        key, _, value = setting.partition("=")
        try:
            if key in {"profile", "layout"}:
                own[key] = value
            elif key == "weight":
                own[key] = float(value)
            elif key.removeprefix("weights.") in _WEIGHTS and "." in key:
                weights[key.removeprefix("weights.")] = float(value)
            elif key in _OVERRIDES:
                overrides[key] = _READERS.get(key, int)(value)
            else:
                known = ", ".join(("profile", "layout", "weight", *_OVERRIDES))
                usage(
                    f"--arm {word}: there is no setting {key!r}", f"there are: {known}, weights.…"
                )
        except (ValueError, KeyError):
            usage(f"--arm {word}: {value!r} is no value of {key}", _HINT)
    if weights:
        overrides["weights"] = weights
    try:
        return ExperimentArm(name, overrides=overrides or None, **own)  # type: ignore[arg-type]
    except ValueError as error:
        usage(f"--arm {word}: {error}", _HINT)


def words_of(arm: experiment_pb2.ExperimentArm) -> str:
    """What an arm sets, as `arm_of` reads it."""
    found = [f"profile={arm.profile}"] if arm.profile else []
    if arm.layout:
        layout = context_pb2.Layout.Name(arm.layout).removeprefix("LAYOUT_").lower()
        found.append(f"layout={layout}")
    for field, value in arm.overrides.ListFields():
        if field.name == "weights":
            found += [f"weights.{one.name}={part:g}" for one, part in value.ListFields()]
        elif field.name == "sources":
            found.append(f"sources={'+'.join(value)}")
        else:
            found.append(f"{field.name}={_shown(value)}")
    return ",".join(found)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
