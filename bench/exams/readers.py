"""The readers that were chosen on exams: shared signs, words of books, what training cases teach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from cooccurrence import Cooccurrence, CooccurrenceScorer, PassageRanker
from herbs import HerbModel
from learning import NameRegression, StackedScorer
from signs import SignsScorer
from typing_extensions import override

from shiyi.errors import UsageError
from shiyi.evaluation.bench import METHODS, EvaluationContext, SharedResources
from shiyi.evaluation.items import Choice
from shiyi.evaluation.scorers.baselines import HerbScorer, PrescriptionTable
from shiyi.evaluation.scorers.scorer import Scorer

OF_PASSAGES: Final = ("passages", "bm25-passages")  # of ingested books, where options are given
ENOUGH: Final = 50  # training cases from which parts of names can be learnt


@dataclass(slots=True)
class ExamResources(SharedResources):
    """What runs over one base share, with the words of its books."""

    together: CooccurrenceScorer | None = None


class ExamContext(EvaluationContext):
    """Adds the readers of exams to those of ``shiyi evaluate``."""

    methods: ClassVar[tuple[str, ...]] = (*METHODS, *OF_PASSAGES)

    @property
    def together(self) -> CooccurrenceScorer:
        """Return which words stand in one passage; of no passages where the base holds none."""
        resources = self.resources
        scorer = resources.together if isinstance(resources, ExamResources) else None
        if scorer is None:
            place = self.base.folder / "index"
            index = Cooccurrence.over(self.base.store, place, self.release)
            scorer = CooccurrenceScorer.over(index, self.linker.index)
            if isinstance(resources, ExamResources):
                resources.together = scorer
        return scorer

    @property
    def reads_passages(self) -> bool:
        """Return whether passages may be read: not where claims are withheld that they may state."""
        request = self.request
        shut = request.without or self.withheld or "spo-without-text" in request.ablate
        return not shut and bool(self.together.index.count)

    @override
    def recalls(self) -> list[Scorer]:
        ablate = set(self.request.ablate)
        parts = super().recalls()
        if ablate & {"vector-only", "keyword-only"}:
            return parts
        read: list[Scorer] = [self.together] if self.reads_passages else []
        if "random-paths" in ablate:
            return [*parts, *read]
        by_paths, by_words = parts
        signs = SignsScorer(self.view, self.linking, "no-ranking" not in ablate)
        return [by_paths, signs, by_words, *read]

    @override
    def scorer(self, method: str, learnt: Sequence[Scorer] = ()) -> Scorer:
        if method not in OF_PASSAGES:
            return super().scorer(method, learnt)
        if not self.reads_passages:
            raise UsageError(
                f"{method} reads passages, and there are none to read: `shiyi ingest books FILE`; "
                "none are read where a source is withheld"
            )
        return self.together if method == "passages" else PassageRanker(self.together.index)

    @override
    def case_scorer(self, method: str, training: Sequence[Choice]) -> Scorer:
        if method == "fused" and len(training) >= ENOUGH:
            return StackedScorer.of(training, self.recalls(), NameRegression.of)
        return super().case_scorer(method, training)

    @override
    def herb_scorers(self, table: PrescriptionTable) -> list[HerbScorer]:
        return HerbModel.of(table).scorers
