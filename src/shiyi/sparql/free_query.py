"""A query that somebody else wrote, with all that decides how it is answered."""

import sys
from dataclasses import dataclass, field

from shiyi.sparql.results import ResultFormat


@dataclass(frozen=True, slots=True)
class FreeQuery:
    """One SELECT, ASK, CONSTRUCT or DESCRIBE; those that are equal have the same result.

    ``timeout`` is in seconds above 0, up to the cap of the settings; None is their default.
    ``default_graphs`` and ``named_graphs`` are the IRIs of the protocol and replace what the text
    says (SPARQL 1.1 Protocol, section 2.1.4); relative IRIs are resolved against ``base``.

    The ``profile`` ``rdf11`` asks the base as RDF 1.1 says it (:mod:`shiyi.sparql.lowered_view`),
    but for queries that themselves speak RDF 1.2: of those only graphs are written so. ``rows``
    lowers the limit of the settings. What is ``whole`` sees what stays inside too. The ``asker`` is
    any text that tells askers apart, for whose share it counts (:mod:`shiyi.sparql.turns`).
    """

    text: str
    accept: ResultFormat = field(default_factory=ResultFormat)
    timeout: float | None = field(default=None, compare=False)
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    base: str = ""
    profile: str = ""
    rows: int | None = None
    whole: bool = False
    asker: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Give the bytes of memory that its texts take, as much as anybody may send."""
        texts = (self.text, self.base, self.asker, *self.default_graphs, *self.named_graphs)
        return sum(map(sys.getsizeof, texts))
