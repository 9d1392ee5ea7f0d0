"""The baseline without retrieval: what the base holds is not looked at."""

from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.prompts.chat import ChatModel


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give nothing."""
    return Retrieved(steps=({"step": "nothing is retrieved"},))
