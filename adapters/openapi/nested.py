"""Values inside object arguments, by path: `page/limit` is the member `limit` of the argument `page`.

Pure. Knows values and paths. Knows no schema: `paged` takes such members out of what the model sees.
"""

from collections.abc import Collection, Mapping

from adapters.base import Json, JsonObject


class NoObject(Exception):
    """Something that must hold a member is no object; the text is its path."""


def with_members(arguments: Mapping[str, Json], added: Mapping[str, Json], *, known: Collection[str]) -> JsonObject:
    """The arguments with others put over them; a path leads into an object unless `known` has it as a name.

    The objects given are not changed: those on the way are copied. Raises NoObject.
    """
    out = dict(arguments)
    for name, value in added.items():
        path = [name] if name in known else name.split("/")
        out = _with(out, path, value, way="")
    return out


def _with(holder: JsonObject, path: list[str], value: Json, *, way: str) -> JsonObject:
    name, *rest = path
    if not rest:
        return holder | {name: value}
    inner = holder.get(name)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        raise NoObject(way + name)
    return holder | {name: _with(inner, rest, value, way=f"{way}{name}/")}
