"""Posted forms: read into the requests of the desk, and shown with what is wrong."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast, get_origin
from uuid import uuid4

from flask import Flask, g, request
from werkzeug.datastructures import MultiDict

from shiyi.curation.desks.forms import Form
from shiyi.errors import (
    Fault,
    FormatError,
    FormError,
    RangeError,
    RightsError,
    StaleError,
    UsageError,
)
from shiyi.server.http.problems import status_of
from shiyi.server.i18n import fault_text

Sent = TypeVar("Sent", bound=Form)
View = TypeVar("View", bound=Callable[..., Any])


def parse_form(model: type[Sent], **more: Any) -> Sent:
    """Return the posted form as a request of the desk; fields of other forms are left out."""
    return model.read(form_values(model, request.form) | more)


def form_values(model: type[Form], form: MultiDict[str, str]) -> dict[str, Any]:
    """Return what a form has of the fields of a model; an empty optional one is left out."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is list:
            if name in form:
                values[name] = form.getlist(name)
        elif form.get(name) or (field.is_required() and name in form):
            values[name] = form[name]
    return values


def with_faults(page: Callable[[], Any]) -> Callable[[View], View]:
    """Show ``page`` with the faults beside its form where a view raises one, and what was typed."""

    def decorate(view: View) -> View:
        @wraps(view)
        def call_view(*args: Any, **kwargs: Any) -> Any:
            try:
                return view(*args, **kwargs)
            except (FormatError, RangeError, RightsError, StaleError, UsageError) as error:
                if request.accept_mimetypes.best == "application/json":
                    raise
                keep_typed()
                g.faults = _by_field(error)
                return page(), status_of(error)[0]

        return cast("View", call_view)

    return decorate


def _by_field(error: Exception) -> Mapping[str, tuple[Fault, ...]]:
    plain = Fault("", fault_text(str(error), "zh"), str(error))
    faults = error.faults if isinstance(error, FormError) else (plain,)
    found_faults: dict[str, tuple[Fault, ...]] = {}
    for fault in faults:
        found_faults[fault.field] = (*found_faults.get(fault.field, ()), fault)
    return found_faults


def keep_typed() -> None:
    """Keep what was typed in the form that was sent, for the page that is shown next."""
    g.sent = True


def form_value(name: str, default: object = "", form: str = "") -> object:
    """Return what was typed in a field of the form that was not saved, else ``default``."""
    is_sent = g.get("sent") and request.form.get("form", "") == form
    return request.form.get(name, "") if is_sent else default


def register(app: Flask) -> None:
    """Add to templates the faults of the form that failed, what was typed, and fresh keys."""

    @app.context_processor
    def form_values() -> dict[str, Any]:
        faults: Mapping[str, tuple[Fault, ...]] = g.get("faults", {})
        return {
            "faults": faults,
            "failed": request.form.get("form", "") if faults else None,
            "against": lambda name: faults.get(name, ()),
            "form_value": form_value,
            "fresh": lambda: uuid4().hex,
        }
