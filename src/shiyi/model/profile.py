"""Age, pregnancy, medicines, allergies of the person a question is for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from shiyi.errors import UsageError

_MAX_ITEMS, _MAX_CHARS = 50, 200
_SEXES = ("female", "male", "other")


@dataclass(frozen=True, slots=True)
class Profile:
    """Age in years, sex, pregnancy, lactation; medicines, allergies, conditions, foods left out.

    ``None`` means *unknown*, which is not "no".

    >>> Profile.from_json({"age": 34, "pregnant": True, "medicines": ["warfarin"]}).medicines
    ('warfarin',)
    >>> Profile.from_json({"age": -1})
    Traceback (most recent call last):
        ...
    shiyi.errors.UsageError: profile.age is a number of years from 0 to 130
    """

    age: float | None = None
    sex: str = ""
    pregnant: bool | None = None
    lactating: bool | None = None
    medicines: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    constitution: str = ""
    avoids: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, payload: object) -> Self:
        """Read an untrusted object; complain by field name."""
        if not isinstance(payload, Mapping):
            raise UsageError('profile is a JSON object such as {"age": 34, "pregnant": true}')
        known = [field.name for field in fields(cls)]
        if unknown := sorted(str(key)[:40] for key in payload if key not in known):
            raise UsageError(f"profile has no field {unknown[0]!r}; it has {', '.join(known)}")
        given = {key: value for key, value in payload.items() if value is not None and value != ""}
        read: dict[str, Any] = {key: _READERS[key](key, value) for key, value in given.items()}
        return cls(**read)

    @classmethod
    def from_pairs(cls, pairs: list[str]) -> Self:
        """Read ``key=value`` words of a command line; lists are comma-separated.

        >>> Profile.from_pairs(["pregnant=true", "medicines=warfarin,aspirin"]).pregnant
        True
        """
        payload: dict[str, Any] = {}
        for pair in pairs:
            key, result, value = pair.partition("=")
            if not result:
                raise UsageError(f"a profile entry reads key=value, not {pair[:40]!r}")
            payload[key] = _from_text(key, value)
        return cls.from_json(payload)

    def entries(self) -> tuple[tuple[str, str], ...]:
        """List the known values, field by field and word by word.

        >>> Profile(pregnant=True, avoids=("pork",)).entries()
        (('pregnant', 'true'), ('avoids', 'pork'))
        """
        return tuple(
            (key, str(item).lower() if isinstance(item, bool) else f"{item}")
            for key, value in self.to_json().items()
            for item in (value if isinstance(value, list) else [value])
        )

    def without(self, dropped: Collection[tuple[str, str]]) -> Self:
        """Return the same without some of what :meth:`entries` lists.

        >>> Profile(avoids=("pork", "beef")).without({("avoids", "pork")}).avoids
        ('beef',)
        """
        left: dict[str, Any] = {}
        for key, value in self.to_json().items():
            if isinstance(value, list):
                left[key] = [item for item in value if (key, item) not in dropped]
            elif (
                key,
                str(value).lower() if isinstance(value, bool) else f"{value}",
            ) not in dropped:
                left[key] = value
        return type(self).from_json(left)

    def to_json(self) -> dict[str, Any]:
        """Return the known values only."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in values.items()
            if value not in (None, "", ())
        }


def _from_text(key: str, value: str) -> object:
    if key == "age":
        try:
            return float(value)
        except ValueError:
            return value
    if key in {"pregnant", "lactating"}:
        return {"true": True, "yes": True, "false": False, "no": False}.get(value.lower(), value)
    if key in {"medicines", "allergies", "conditions", "avoids"}:
        return [word for word in (part.strip() for part in value.split(",")) if word]
    return value


def _age(_: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 130:
        raise UsageError("profile.age is a number of years from 0 to 130")
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"profile.{name} is true or false")
    return value


def _sex(_: str, value: object) -> str:
    if value not in _SEXES:
        raise UsageError(f"profile.sex is one of {', '.join(_SEXES)}")
    return str(value)


def _value_text(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_CHARS:
        raise UsageError(f"profile.{name} is a text of at most {_MAX_CHARS} characters")
    return value.strip()


def _words(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > _MAX_ITEMS:
        raise UsageError(f"profile.{name} is a list of at most {_MAX_ITEMS} names")
    return tuple(word for word in (_value_text(name, item) for item in value) if word)


_READERS = {
    "age": _age, "sex": _sex, "pregnant": _flag, "lactating": _flag, "medicines": _words,
    "allergies": _words, "conditions": _words, "constitution": _value_text, "avoids": _words,
}  # fmt: skip
