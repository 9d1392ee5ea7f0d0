"""What answers open takes at most a fifth of the store's room."""

from pathlib import Path

from shiyi.sparql.knowledge_base import current_generation

INDEXES = ("adjacency", "facts", "labels", "names", "texts", "vectors")


def test_the_indexes_of_a_build_take_at_most_a_fifth_of_its_store(starter_kb: Path) -> None:
    generation = current_generation(starter_kb)
    store = sum(each.stat().st_size for each in (generation / "store").iterdir())
    files = [generation / "index" / f"{name}.safetensors" for name in INDEXES]
    assert sum(each.stat().st_size for each in files) <= 0.2 * store
