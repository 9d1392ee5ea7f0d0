"""Quality queries: ``sparql/qc/*-violation.rq`` return rows only for faults."""

from collections.abc import Iterator

from shiyi.artefacts import artefact
from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import local_name, text
from shiyi.sparql.store import QuadStore


def quality_queries() -> dict[str, str]:
    """Give each quality query's text by its name, without ``-violation``.

    >>> "asserted" in quality_queries()
    True
    """
    found = {
        path.name.removesuffix("-violation.rq"): path.read_text(encoding="utf-8")
        for path in sorted(artefact("sparql/qc").glob("*-violation.rq"))
    }
    if not found:
        raise KnowledgeBaseError("no quality query was found in sparql/qc: the package is damaged")
    return found


def quality_faults(store: QuadStore) -> Iterator[str]:
    """Yield one sentence per fault: the question that failed and what it found."""
    for name, query in quality_queries().items():
        question = query.partition("\n")[0].removeprefix("#").partition(" / ")[0].strip()
        for row in store.select(query):
            found = ", ".join(f"{key} {local_name(text(term))}" for key, term in row.items())
            yield f"{name}: {question} Yes: {found}"
