"""One parameter's context: the other parameters, the tool's description and the response schema."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adapters.pagination.detect.page_size import find_page_size
from adapters.pagination.detect.parameters import FlatParameter
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.descriptions import Phrase

_MIN_ECHOED = 2


@dataclass(frozen=True)
class ParameterContext:
    """What is known about one tool. `required` and `in_path` are names of parameters."""

    parameters: Sequence[FlatParameter]
    description: str
    response: ResponseSchema
    required: frozenset[str] = frozenset()
    in_path: frozenset[str] = frozenset()

    @cached_property
    def outside_path(self) -> Sequence[FlatParameter]:
        """The parameters that are not part of the URL's path."""
        return [parameter for parameter in self.parameters if parameter.name not in self.in_path]

    def has(self, table: frozenset[str]) -> bool:
        """Whether a parameter has a name of the table."""
        return any(parameter.is_named(table) for parameter in self.parameters)

    def mentions(self, parameter: FlatParameter, phrase: Phrase) -> bool:
        """Whether the description of a parameter, or of the tool if the parameter has none, matches."""
        return phrase.is_in(parameter.description or self.description)

    @cached_property
    def has_page_size(self) -> bool:
        """Whether an integer parameter has a name that means nothing but a page size."""
        return any(one.is_named(spelling.UNAMBIGUOUS_SIZES) and one.is_declared_integer for one in self.parameters)

    @cached_property
    def has_position_and_size(self) -> bool:
        """Whether a page number or an offset is next to such a size."""
        positions = (one for one in self.parameters if one.is_named(spelling.PAGES, spelling.OFFSETS))
        return self.has_page_size and any(one.is_declared_integer and not one.has_unit for one in positions)

    @cached_property
    def echoes_request(self) -> bool:
        """Whether the response repeats most of the parameters, as the response to a change does."""
        own = [parameter for parameter in self.parameters if not spelling.parent(parameter.name)]
        repeated = [parameter for parameter in own if parameter.spellings & self.response.top_level]
        return len(repeated) > _MIN_ECHOED and 2 * len(repeated) > len(own)

    def is_returned(self, parameter: FlatParameter) -> bool:
        """Whether the response returns a value for this parameter that is not a date."""
        return self.response.returns(parameter.name, echoes_request=self.echoes_request) and not parameter.is_date

    def size_of(self, position: FlatParameter) -> FlatParameter | None:
        """The page size next to a position; one in the path counts only for a position in the path."""
        return find_page_size(position, self.parameters if position.name in self.in_path else self.outside_path)

    def has_size(self, position: FlatParameter) -> bool:
        """Whether another parameter can be the page size."""
        if position.name not in self._has_size:
            self._has_size[position.name] = self.size_of(position) is not None
        return self._has_size[position.name]

    @cached_property
    def _has_size(self) -> dict[str, bool]:
        return {}
