"""Which extractor reads texts, for ``shiyi ingest`` and what else reads them."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.errors import SettingError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.ingest.cases.layers import Terms
    from shiyi.ingest.cases.reading import Reading
    from shiyi.ingest.datasets import Dataset
    from shiyi.ingest.extraction.port import Extractor
    from shiyi.ingest.gate import Gate
    from shiyi.ingest.report import Report
    from shiyi.ingest.schools.overlay import Overlay, School
    from shiyi.linking.labels import LabelIndex
    from shiyi.linking.linker import Linker
    from shiyi.prompts.asking import Asker
    from shiyi.prompts.openai import OpenAIChatModel
    from shiyi.prompts.replies import Replies
    from shiyi.sparql.knowledge_base import KnowledgeBase

EXTRACTORS = ("rules", "llm")


@dataclass(slots=True)
class Extracting:
    """Makes the extractor that was asked for, one for each dataset; keeps the model's replies.

    ``kb`` is where replies are kept; without it they live as long as the process.
    """

    name: str
    index: "LabelIndex"
    gate: "Gate"
    settings: Settings
    kb: Path | None = None
    lessons: str = ""  # what curators refused, as a section of the prompt
    _askers: "dict[str, Asker]" = field(default_factory=dict)
    _replies: "Replies | None" = None
    _linker: "Linker | None" = None

    def extractor(self, dataset: "Dataset") -> "Extractor":
        """Give the extractor for one dataset; :class:`SettingError` where no model is named."""
        if self.name == "rules":
            from shiyi.ingest.extraction.lexicon import Lexicon
            from shiyi.ingest.extraction.rules import RulesExtractor

            return RulesExtractor(Lexicon(self.index))
        from shiyi.ingest.extraction.llm import LlmExtractor

        return LlmExtractor(self.asker(dataset), self.index, self.gate, self.settings, self.lessons)

    def asker(self, dataset: "Dataset") -> "Asker":
        """Give what asks the model on behalf of a dataset."""
        from shiyi.prompts.asking import Asker
        from shiyi.prompts.replies import Replies

        model = self._model()
        if self._replies is None:
            self._replies = Replies.open(self.kb) if self.kb else Replies.in_memory()
        release = f"{dataset.name}@{dataset.version}"
        if release not in self._askers:
            self._askers[release] = Asker(model, self._replies, self.settings.models, release)
        return self._askers[release]

    def _model(self) -> "OpenAIChatModel":
        from shiyi.prompts.openai import extraction_model_from

        model = extraction_model_from(self.settings.models, os.environ)
        if model is None:
            raise SettingError(
                "models.extract",
                "names no model: set SHIYI_MODELS_EXTRACT, OPENAI_BASE_URL and OPENAI_API_KEY",
            )
        return model

    def case_reading(self, dataset: "Dataset", base: "KnowledgeBase") -> "tuple[Reading, Terms]":
        """Give what makes cases of records, and the terms their words are tied to."""
        from shiyi.ingest.cases.classifying import Classes
        from shiyi.ingest.cases.layers import Terms
        from shiyi.ingest.cases.llm_reader import LlmCaseReader
        from shiyi.ingest.cases.reading import CaseReader, DictionaryReader, Reading
        from shiyi.linking import embedder
        from shiyi.linking.linker import Linker

        model = embedder.shipped()
        linking = self.settings.linking
        if self._linker is None:
            self._linker = Linker.open(base.folder, base.store, base.release, linking, model)
        dictionary = DictionaryReader(self._linker)
        classes = Classes(self.index, model)
        reader: CaseReader = dictionary
        if self.name == "llm":
            reader = LlmCaseReader(self.asker(dataset), dictionary, classes)
        digest = f"{dataset.name}@{dataset.version}"
        terms = Terms.of(self.index, model, linking)
        return Reading(reader, dictionary, classes, digest), terms

    def overlay(self, school: "School", dataset: "Dataset", base: "KnowledgeBase") -> "Overlay":
        """Give what makes the overlay of a school from answered cases."""
        from shiyi.ingest.extraction.relations import Relations
        from shiyi.ingest.extraction.statements import Reader
        from shiyi.ingest.schools.chain import Chains
        from shiyi.ingest.schools.general import General
        from shiyi.ingest.schools.overlay import Overlay
        from shiyi.linking import embedder

        chosen = self.settings.ingest
        chains = Chains(
            Reader(self.index, Relations.of()),
            self.asker(dataset) if self.name == "llm" else None,
        )
        general = General(
            base.store, embedder.shipped(), chosen.chain_triples, chosen.chain_passages
        )
        return Overlay(school, dataset, chains, general, self.gate, self.settings)

    def tell(self, report: "Report", dataset: "Dataset") -> None:
        """Put what the model cost into the report."""
        asker = self._askers.get(f"{dataset.name}@{dataset.version}")
        if asker is None:
            return
        usage = asker.usage
        report.model = {
            "model calls 模型调用": usage.calls, "replies from cache 缓存答复": usage.cached,
            "prompt tokens 输入词元": usage.prompt_tokens,
            "completion tokens 输出词元": usage.completion_tokens,
            "seconds of calls 调用秒数": round(usage.seconds, 2),
            **{f"mended or final {name}": count for name, count in usage.faults.items()},
        }  # fmt: skip
        if cost := usage.cost(self.settings.models):
            report.model["cost 费用"] = round(cost, 4)

    def close(self) -> None:
        """Let go of the kept replies and connections."""
        for asker in self._askers.values():
            asker.model.close()
        if self._replies is not None:
            self._replies.close()
