"""What is checked of a material that a question names: with whom, with what, and its kin."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.answering.parts import Desk
from shiyi.answering.person import Person
from shiyi.answering.safety import Finding

_MOST: Final = 12  # things that a material is checked with


@dataclass(frozen=True, slots=True)
class Case:
    """What one name of the question may mean, what it is to meet, and what was found."""

    materials: tuple[str, ...]
    targets: tuple[str, ...]
    found: tuple[Finding, ...]
    kin: tuple[str, ...] = ()  # relatives among the materials, which nobody named

    @property
    def named(self) -> tuple[str, ...]:
        """List the materials that the name may mean, without their relatives."""
        return tuple(m for m in self.materials if m not in self.kin)

    @property
    def barred(self) -> bool:
        """Tell whether it is not to be taken, which says enough."""
        return any(f.severity == "contraindicated" for f in self.found)

    def met(self, target: str) -> tuple[Finding, ...]:
        """List what was found against one target."""
        return tuple(f for f in self.found if f.against == target)


def case_of(desk: Desk, group: tuple[str, ...]) -> Case:
    """Check a material, or the few that one word may mean, with all that a question names beside."""
    reading = desk.reading
    place = reading.groups.index(group)
    beside = [m for m in reading.materials if m not in group]
    found = [f for m in group for f in desk.safety.check(m, reading.person, beside)]
    states = (*reading.ailments, *reading.constitutions, *reading.populations)
    warned = {f.against for f in found}
    found += [f for m in group for f in desk.safety.reactions(m, states) if f.against not in warned]
    named = (*reading.drugs, *states)
    others = [m for later in reading.groups[place + 1 :] for m in later]
    kin = _of_kin(desk, group, beside, others).besides({f.against for f in found})
    found, group = [*found, *kin.found], (*group, *kin.materials)
    others = [kin.instead.get(o, o) for o in others]
    if named:  # two foods of one question are compared where a source speaks of them
        others = [o for o in others if any(desk.safety.check(m, Person(), [o]) for m in group)]
    earlier = {m for g in reading.groups[:place] for m in g}  # said from the other side
    targets = tuple(dict.fromkeys(t for t in (*named, *others) if t not in group))[:_MOST]
    told = tuple(f for f in found if f.against not in earlier)
    return Case(group, targets, told, kin.materials)


@dataclass(frozen=True, slots=True)
class _Kin:
    """What is recorded of the herb for a supplement of one organism, or the other way round."""

    materials: tuple[str, ...]
    found: tuple[Finding, ...]
    instead: Mapping[str, str]  # the relative that a thing beside was checked as

    def besides(self, met: Collection[str]) -> "_Kin":
        """Keep what speaks of things that are not among those ``met`` already."""
        found = tuple(f for f in self.found if f.against not in met)
        told = {f.material for f in found}
        return _Kin(tuple(m for m in self.materials if m in told), found, self.instead)


def _of_kin(desk: Desk, group: tuple[str, ...], beside: list[str], later: list[str]) -> _Kin:
    """Check the relatives of a material, then the material against those of what comes later."""
    person, named = desk.reading.person, desk.reading.materials
    found: dict[str, tuple[Finding, ...]] = {}
    for each in dict.fromkeys(o for m in group for o in desk.facts.kin(m) if o not in named):
        if reasons := desk.safety.check(each, person, beside):
            found[each] = reasons
    if found:
        return _Kin(tuple(found), tuple(f for each in found.values() for f in each), {})
    near = {o: other for other in later for o in desk.facts.kin(other) if o not in named}
    clashes = [f for m in group for f in desk.safety.check(m, Person(), near)]
    return _Kin((), tuple(clashes), {near[f.against]: f.against for f in clashes})
