"""The fine-tuning set of schools after TCM-DiffRAG: question to reasoning, question to triples."""

import json
from collections.abc import Iterable, Iterator

from shiyi.sparql.school_layer import Chain

_SYSTEM = {
    "reasoning": "逐步推理并作答。 Reason step by step, then answer.",
    "triples": "将问题分解为三元组，每行一条：主体、关系、客体，以制表符分隔。 "
    "Decompose the question into triples, one a line: subject, relation, object, with tabs between.",
}


def training_lines(chains: Iterable[Chain]) -> Iterator[str]:
    """Yield JSON Lines of the usual chat format, two for each chain; a question comes once.

    Learning rate, batch and cut-off are the trainer's; TCM-DiffRAG took 1e-4, 2 and 2,046 tokens.
    """
    seen: set[tuple[str, str]] = set()
    for chain in chains:
        triples = "\n".join("\t".join(each) for each in chain.triples)
        for task, target in (("reasoning", chain.reasoning), ("triples", triples)):
            if target and (task, chain.question) not in seen:
                seen.add((task, chain.question))
                yield json.dumps({"messages": [
                    {"role": "system", "content": _SYSTEM[task]},
                    {"role": "user", "content": chain.question},
                    {"role": "assistant", "content": target},
                ]}, ensure_ascii=False)  # fmt: skip
