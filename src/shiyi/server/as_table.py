"""The claims of a concept as the table of a query, which its page links to."""

from typing import Final
from urllib.parse import quote

_QUERY: Final = """PREFIX id: <https://w3id.org/shiyi/id/>
PREFIX shiyi: <https://w3id.org/shiyi/vocab#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

SELECT ?from ?relation ?to ?confidence (GROUP_CONCAT(DISTINCT STRAFTER(STR(?tier), "tier-"); SEPARATOR=", ") AS ?tiers) ?claim WHERE {
  { <IRI> ?property ?object . ?claim rdf:reifies <<( <IRI> ?property ?object )>> ; shiyi:confidence ?confidence . BIND(<IRI> AS ?subject) }
  UNION { ?subject ?property <IRI> . ?claim rdf:reifies <<( ?subject ?property <IRI> )>> ; shiyi:confidence ?confidence . BIND(<IRI> AS ?object) }
  # what a source denies is not asserted
  UNION { ?claim rdf:subject <IRI> ; rdf:predicate ?property ; rdf:object ?object ; shiyi:confidence ?confidence . BIND(<IRI> AS ?subject) }
  UNION { ?claim rdf:object <IRI> ; rdf:predicate ?property ; rdf:subject ?subject ; shiyi:confidence ?confidence . BIND(<IRI> AS ?object) }
  OPTIONAL { ?claim shiyi:evidence ?evidence . ?evidence shiyi:sourceTier ?tier }
  OPTIONAL { ?property rdfs:label ?name FILTER(LANG(?name) = "LANGUAGE") }
  OPTIONAL { ?subject skos:prefLabel ?one FILTER(LANG(?one) = "LANGUAGE") }
  OPTIONAL { ?object skos:prefLabel ?two FILTER(LANG(?two) = "LANGUAGE") }
  BIND(COALESCE(?one, ?subject) AS ?from) BIND(COALESCE(?name, ?property) AS ?relation) BIND(COALESCE(?two, ?object) AS ?to)
}
GROUP BY ?from ?relation ?to ?confidence ?claim
ORDER BY ?relation DESC(?confidence)"""
_QUOTED: Final = quote(_QUERY)  # once: most of it has to be escaped


def as_table(iri: str, language: str) -> str:
    """Give the address of the query for all claims about ``iri``, with labels in a language.

    >>> as_table("https://w3id.org/shiyi/id/a", "zh").startswith("/sparql?query=PREFIX%20id")
    True
    """
    query = _QUOTED.replace("LANGUAGE", quote(language)).replace("IRI", quote(iri))
    return f"/sparql?query={query}"
