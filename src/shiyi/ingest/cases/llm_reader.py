"""Cases read with a language model: words, reasoning and class, each held to the text."""

from collections import Counter
from dataclasses import dataclass, field

from shiyi.errors import OutsideError
from shiyi.ingest.cases.case import Mention
from shiyi.ingest.cases.classifying import Classes
from shiyi.ingest.cases.llm_forms import CaseForm
from shiyi.ingest.cases.reading import DictionaryReader, Read
from shiyi.model.names import content_hash
from shiyi.prompts.asking import Asker
from shiyi.prompts.prompt import Prompt


@dataclass(slots=True)
class LlmCaseReader:
    """Reads what a model finds and the dictionary knows; words that are not in the text are none.

    Where the model cannot be had the dictionary reads alone; ``faults`` counts why.
    """

    asker: Asker
    dictionary: DictionaryReader
    classes: Classes
    faults: Counter[str] = field(default_factory=Counter)
    name: str = "llm"
    prompt: Prompt = field(default_factory=lambda: Prompt.named("read-case"))

    @property
    def version(self) -> str:
        """Tell apart models and wordings of the prompt."""
        return content_hash(self.asker.model.name, self.prompt.version)[:12]

    def read(self, text: str) -> Read:
        """Give what both readers found."""
        known = self.dictionary.read(text)
        listed = "\n".join(
            f"{iri.rpartition('gbt-')[2].replace('-', '.').upper()} {name}"
            for iri, name in self.classes.names.items()
        )
        try:
            said = self.asker.ask(self.prompt, CaseForm, classes=listed, case=text)
        except OutsideError as fault:
            self.faults[f"case read without the model: {fault}"[:200]] += 1
            return known
        found = {
            each.words: Mention(each.words, each.kind)
            for each in said.mentions if each.words in text
        }  # fmt: skip
        steps = tuple(
            (found[each.start], found[each.to])
            for each in said.steps if each.start in found and each.to in found
        )  # fmt: skip
        concepts = {each.words: each for each in known.mentions}
        mentions = [concepts.get(words, each) for words, each in found.items()]
        rest = [each for words, each in concepts.items() if words not in found]
        return Read((*mentions, *rest), steps, codes=tuple(sorted(said.classes, key=len)[::-1]))
