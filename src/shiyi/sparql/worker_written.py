"""The worker's side of literals as they were written: given back where it is certain which form.

An engine's row has a value. Which quads of the store gave it is known from the triple patterns that
bind its variable, with what else the row binds. Where all these quads were written in one form, it
is that form; else the value stays. A query that rdflib cannot read, such as one with triple terms,
is answered by value. Imported only where there are other forms, since every worker would pay for it.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final, cast

from pyoxigraph import (
    BlankNode,
    Literal,
    Quad,
    QueryResultsFormat,
    QuerySolutions,
    Store,
    Triple,
    parse_query_results,
)
from typing_extensions import override

from shiyi.sparql.worker_written_plan import Place, Plan, plan_of
from shiyi.sparql.written import as_written, by_value, n_triples

_MOST: Final = 100  # quads looked at for one value; more are not worth the time
_TOGETHER: Final = 100  # rows
_NO_NODE, _NO_IRI = (Literal, Triple), (Literal, Triple, BlankNode)


class Restorer:
    """Gives results of one query back as they were written."""

    def __init__(self, store: Store, forms: Store, request: Mapping[str, Any]) -> None:
        self._store, self._forms, self._request = store, forms, request
        self._known: dict[Any, bool] = {}

    @cached_property
    def _plan(self) -> Plan:
        text, asked = self._request["query"], self._request
        own = bool(asked["default_graphs"] or asked["named_graphs"])
        return plan_of(text, asked["base"] or "", own)

    def quad(self, quad: Quad) -> Triple:
        """Give a quad's triple as it was written."""
        return Triple(quad.subject, quad.predicate, as_written(self._forms.quads_for_pattern, quad))

    def solutions(self, found: QuerySolutions) -> QuerySolutions:
        """Give solutions, one at a time."""
        names = [each.value for each in found.variables]
        if not any(self._plan.of(name) for name in names):
            return found
        lines = _Lines(self._rows(found, names))
        made = parse_query_results(io.BufferedReader(lines), format=QueryResultsFormat.TSV)
        return cast("QuerySolutions", made)

    def triples(self, found: Iterable[Triple]) -> Iterator[Triple]:
        """Give the triples of a CONSTRUCT or DESCRIBE."""
        for each in found:
            value = each.object
            yield (
                Triple(each.subject, each.predicate, self._of_triple(each))
                if self._is_known(value) else each
            )  # fmt: skip

    def _rows(self, found: QuerySolutions, names: Sequence[str]) -> Iterator[bytes]:
        yield "\t".join(f"?{name}" for name in names).encode() + b"\n"
        sought = [(name, places) for name in names if (places := self._plan.of(name))]
        for row in found:
            terms = dict(zip(names, row, strict=True))
            restored = {
                name: self._one(self._forms_of(places, terms, value), value)
                for name, places in sought if self._is_known(value := terms[name])
            }  # fmt: skip
            said = (terms | restored).values()
            yield (
                "\t".join("" if each is None else n_triples(each) for each in said).encode() + b"\n"
            )

    def _of_triple(self, said: Triple) -> Any:
        if self._plan.describes:
            place = Place(said.subject, said.predicate, None)
            return self._one(self._forms_of([place], {}, said.object), said.object)
        found: set[Any] = set()
        for subject, predicate, end in self._plan.template or ():
            bound: dict[str, Any] = {}
            if not all(
                _fits(part, term, bound) for part, term in (
                    (subject, said.subject), (predicate, said.predicate), (end, said.object),
                )
            ):  # fmt: skip
                continue
            places = self._plan.of(end) if isinstance(end, str) else ()
            found |= self._forms_of(places, bound, said.object) or {None}
        return self._one(found, said.object)

    def _one(self, found: set[Any], value: Any) -> Any:
        return next(iter(found)) if len(found) == 1 and None not in found else value

    def _forms_of(self, places: Iterable[Place], bound: Mapping[str, Any], value: Any) -> set[Any]:
        """Give how the quads were written that fit; with None where there may be more."""
        found: set[Any] = set()
        for place in places:
            subject, predicate, graph = (
                bound.get(part) if isinstance(part, str) else part for part in place
            )
            if (
                isinstance(subject, _NO_NODE)
                or isinstance(predicate, _NO_IRI)
                or isinstance(graph, _NO_IRI)
            ):
                continue  # such a row is not of this pattern
            fitting = self._store.quads_for_pattern(subject, predicate, value, graph)
            for count, quad in enumerate(islice(fitting, _MOST + 1)):
                found.add(as_written(self._forms.quads_for_pattern, quad))
                if len(found) > 1 or count == _MOST:
                    return {*found, None}
        return found

    def _is_known(self, value: Any) -> bool:
        """Tell whether any quad with this value was written in another form."""
        if not by_value(value):
            return False
        if value not in self._known:
            found = self._forms.quads_for_pattern(None, None, value, None)
            self._known[value] = next(found, None) is not None
        return self._known[value]


def _fits(part: Any, term: Any, bound: dict[str, Any]) -> bool:
    """Tell whether a part of a template may have made a term; note what its variable is then."""
    if isinstance(part, str):
        return bool(bound.setdefault(part, term) == term)
    return part is None or part == term


class _Lines(io.RawIOBase):
    """Rows as a file that is read while they are made."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._rows, self._held = rows, memoryview(b"")

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, into: Any) -> int:
        if not self._held:
            self._held = memoryview(b"".join(islice(self._rows, _TOGETHER)))
        count = min(len(into), len(self._held))
        into[:count] = self._held[:count]
        self._held = self._held[count:]
        return count
