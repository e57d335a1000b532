"""Operations of AWS services as described by botocore; the truth is its paginators.

An operation without a paginator may still be paged: botocore has none for many lists that got tokens later. Such an
operation counts as paged by a rule that is independent of the detection: it has an argument with the name of an input
token of any paginator, and its response has a member with the name of an output token of one. All others are negatives.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from adapters.pagination import ResponseSchema
from tests.contract.detection.corpus import Case

_KINDS = {"structure": "object", "map": "object", "list": "array", "long": "integer", "double": "number"}
_KINDS |= {"float": "number", "timestamp": "string", "blob": "string", "bigdecimal": "number", "bigint": "integer"}
_TAG = re.compile(r"<[^<>]*>")
_DEPTH = 3


@lru_cache(maxsize=1)
def services() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Model and paginators by service."""
    from botocore.exceptions import UnknownServiceError
    from botocore.loaders import Loader

    loader, found = Loader(), {}
    for name in loader.list_available_services("service-2"):
        model = loader.load_service_model(name, "service-2")
        try:
            paginators = loader.load_service_model(name, "paginators-1")["pagination"]
        except UnknownServiceError:
            paginators = {}
        except Exception as error:  # the loader has its own error for a missing file
            if type(error).__name__ != "DataNotFoundError":
                raise
            paginators = {}
        found[name] = (model, paginators)
    return found


@lru_cache(maxsize=1)
def token_names() -> tuple[frozenset[str], frozenset[str]]:
    """The names that paginators have for input and output tokens, plain names only."""
    asked: set[str] = set()
    given: set[str] = set()
    for _, paginators in services().values():
        for one in paginators.values():
            asked |= set(_listed(one["input_token"]))
            given |= {name for name in _listed(one["output_token"]) if name.isidentifier()}
    return frozenset(asked), frozenset(given)


def cases(chosen: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[Case]:
    """Every operation of some services."""
    for service, (model, paginators) in chosen.items():
        for name in model["operations"]:
            yield case(service, model, name, paginators.get(name))


def case(service: str, model: Mapping[str, Any], name: str, paginator: Mapping[str, Any] | None) -> Case:
    """One operation with its paginator, else by the rule."""
    own = model["operations"][name]
    shapes = model["shapes"]
    asked = members(shapes, own.get("input"))
    answer: dict[str, str] = {}
    _collect(shapes, own.get("output", {}).get("shape"), "", answer, _DEPTH)
    return Case(
        name=f"{service} {name}",
        parameters={key: _schema(shapes, member, _DEPTH) for key, member in asked.items()},
        description=_TAG.sub(" ", own.get("documentation", "")),
        response=ResponseSchema(members=answer),
        required=frozenset(shapes[own["input"]["shape"]].get("required", ())) if "input" in own else frozenset(),
        is_paged=paginator is not None or _is_paged_by_rule(asked, answer),
        positions=tuple(_listed(paginator["input_token"])) if paginator else (),
        size=paginator.get("limit_key") if paginator else None,
        is_size_known=paginator is not None and "limit_key" in paginator,
    )


def _is_paged_by_rule(asked: Mapping[str, Any], answer: Mapping[str, str]) -> bool:
    ins, outs = token_names()
    return bool(asked.keys() & ins) and any(kind == "string" and path in outs for path, kind in answer.items())


def members(shapes: Mapping[str, Any], shape: Mapping[str, Any] | None) -> dict[str, Any]:
    """The members of a structure."""
    return dict(shapes[shape["shape"]].get("members", {})) if shape else {}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _schema(shapes: Mapping[str, Any], member: Mapping[str, Any], depth: int) -> dict[str, Any]:
    shape = shapes[member["shape"]]
    kind = _KINDS.get(shape["type"], shape["type"])
    found: dict[str, Any] = {"type": kind}
    words = member.get("documentation") or shape.get("documentation")
    found |= {"description": _TAG.sub(" ", words)} if words else {}
    found |= {"enum": shape["enum"]} if "enum" in shape else {}
    found |= {"format": "date-time"} if shape["type"] == "timestamp" else {}
    found |= {"minimum": shape["min"]} if kind == "integer" and "min" in shape else {}
    found |= {"maximum": shape["max"]} if kind == "integer" and "max" in shape else {}
    if shape["type"] == "structure" and depth > 1:
        found["properties"] = {key: _schema(shapes, m, depth - 1) for key, m in shape["members"].items()}
    return found


def _collect(shapes: Mapping[str, Any], name: str | None, prefix: str, found: dict[str, str], depth: int) -> None:
    if name is None or not depth or shapes[name]["type"] != "structure":
        return
    for key, member in shapes[name].get("members", {}).items():
        kind = shapes[member["shape"]]["type"]
        found[f"{prefix}{key}"] = _KINDS.get(kind, kind)
        _collect(shapes, member["shape"], f"{prefix}{key}.", found, depth - 1)
