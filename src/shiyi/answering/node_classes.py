"""Of which class the nodes of the adjacency are: read when a question meets them, then kept."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.model.strings import Strings
from shiyi.reasoning.projection import Ints

_UNMET = -1


@dataclass(frozen=True, slots=True, eq=False)
class NodeClasses:
    """The class of each node as a place in ``names``, which end with one for no class.

    >>> some = NodeClasses.of(Strings.of(["goji", "姜"]), {"goji": "Food"}, ["Drug", "Food"])
    >>> [some.names[each] for each in some.at(np.array([1, 0, 0], np.int32))]
    ['', 'Food', 'Food']
    """

    names: tuple[str, ...]
    _nodes: Strings
    _classes: Mapping[str, str]
    _place: Mapping[str, int]
    _known: NDArray[np.int16]

    @classmethod
    def of(cls, nodes: Strings, classes: Mapping[str, str], names: Iterable[str]) -> Self:
        """Look ``nodes`` up in ``classes``; a class that is not among ``names`` is none."""
        place = {name: at for at, name in enumerate((*sorted(names), ""))}
        known = np.full(len(nodes), _UNMET, np.int16)
        return cls(tuple(place), nodes, classes, place, known)

    def at(self, nodes: Ints) -> NDArray[np.int16]:
        """Give the classes of some nodes."""
        found = self._known[nodes]
        unmet = np.unique(nodes[found == _UNMET])
        if len(unmet):
            none = self._place[""]
            for node in unmet.tolist():
                name = self._classes.get(self._nodes[node], "")
                self._known[node] = self._place.get(name, none)
            found = self._known[nodes]
        return found

    def after(self, nodes: Strings, classes: Mapping[str, str], changed: Collection[str]) -> Self:
        """Give them after a change: ``nodes`` begin with those of before, ``changed`` are read anew."""
        known = np.full(len(nodes), _UNMET, np.int16)
        known[: len(self._known)] = self._known
        again = [place for place in map(nodes.place, changed) if place is not None]
        known[again] = _UNMET
        return type(self)(self.names, nodes, classes, self._place, known)
