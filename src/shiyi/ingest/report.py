"""What a run of ingestion did, counted: nothing is dropped in silence."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shiyi.ingest.gate import Judged
from shiyi.model.claim import Status
from shiyi.model.rdf import local_name


@dataclass(slots=True)
class Report:
    """Counts of one run; claims are counted as often as they are read, by relation."""

    dataset: str = ""
    documents: int = 0
    sections: int = 0
    passages: int = 0
    rows: int = 0
    skipped: int = 0  # batches that an earlier run had written
    claims: Counter[str] = field(default_factory=Counter)  # candidates
    asserted: Counter[str] = field(default_factory=Counter)  # by the policy of the source
    held_back: Counter[str] = field(default_factory=Counter)  # candidates in spite of it, and why
    quarantined: Counter[str] = field(default_factory=Counter)
    unlinked: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # statements no claim is made of
    waiting: dict[str, str] = field(default_factory=dict)  # passages to be read again, and why
    model: dict[str, float] = field(default_factory=dict)  # calls, tokens and cost of a model
    removed: Counter[str] = field(default_factory=Counter)  # from cases, by kind; never what
    filed: Counter[str] = field(default_factory=Counter)  # cases, by how their class was found
    overlay: Counter[str] = field(default_factory=Counter)  # of a school
    model_faults: Counter[str] = field(default_factory=Counter)  # cases read without the model
    taken_back: Counter[str] = field(default_factory=Counter)  # which the source says no longer
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def park(self, parked: Mapping[str, str], tried: Iterable[str]) -> None:
        """Take in which passages wait, after those that waited before were tried again."""
        for passage in tried:
            self.waiting.pop(passage, None)
        self.waiting.update(parked)

    @property
    def parked(self) -> Counter[str]:
        """Count the passages that wait by reason."""
        return Counter(self.waiting.values())

    def count(self, judged: Iterable[Judged]) -> None:
        """Count claims by relation, and those in quarantine by the shape they break."""
        for each in judged:
            relation = local_name(each.proposed.claim.predicate.value)
            accepted = each.status is Status.ACCEPTED
            self.asserted[relation] += accepted
            self.claims[relation] += not (each.faults or accepted)
            for fault in each.faults[:1]:
                self.quarantined[f"{relation}: {fault.message_en or fault.component}"] += 1

    def to_json(self) -> dict[str, Any]:
        """Give the report for programs."""
        return {
            "dataset": self.dataset, "documents": self.documents, "sections": self.sections,
            "passages": self.passages, "rows": self.rows, "skipped_batches": self.skipped,
            "claims": dict(self.claims.most_common()), "asserted": dict(+self.asserted),
            "held_back": dict(self.held_back), "quarantined": dict(self.quarantined),
            "unlinked": dict(self.unlinked.most_common()), "repaired": dict(self.repaired),
            "refused": dict(self.refused), "parked": dict(self.parked), "model": self.model,
            "removed": dict(self.removed), "filed": dict(self.filed),
            "overlay": dict(self.overlay), "taken_back": dict(self.taken_back), "read_without_model": dict(self.model_faults),
            "failures": self.failures, "notes": self.notes, "seconds": round(self.seconds, 2),
        }  # fmt: skip

    def lines(self) -> Iterable[str]:
        """Yield the report as a table for people."""
        yield f"{self.dataset}"
        for name, number in (
            ("documents 文献", self.documents), ("sections 篇章", self.sections),
            ("passages 段落", self.passages), ("rows 行", self.rows),
            ("batches written before 已写入批次", self.skipped),
        ):  # fmt: skip
            if number:
                yield f"  {name:<40}{number:>10,}"
        for title, counter in (
            ("asserted by policy 按政策接受", +self.asserted),
            ("candidates in spite of it 仍为候选", self.held_back),
            ("candidate claims 候选论断", self.claims), ("quarantined 隔离", self.quarantined),
            ("unlinked 未链接", self.unlinked), ("repaired 修复", self.repaired),
            ("refused statements 拒收陈述", self.refused), ("parked passages 待读段落", self.parked),
            ("removed from cases 去标识", self.removed), ("cases filed 病例归类", self.filed),
            ("taken back 撤回", self.taken_back), ("school 流派", self.overlay), ("cases without the model 未用模型", self.model_faults),
        ):  # fmt: skip
            if not counter and title.startswith(
                (
                    "asserted",
                    "candidates in",
                    "refused",
                    "parked",
                    "removed",
                    "cases",
                    "school",
                    "taken",
                )
            ):
                continue
            yield f"  {title:<40}{sum(counter.values()):>10,}"
            for key, number in counter.most_common():
                if number:
                    yield f"    {key:<38}{number:>10,}"
        for key, figure in self.model.items():
            yield f"  {key:<40}{figure:>10,g}"
        yield f"  {'failures 失败':<40}{len(self.failures):>10,}"
        yield from (f"    {each}" for each in (*self.failures[:20], *self.notes))
        yield f"  {'seconds 秒':<40}{self.seconds:>10,.1f}"
