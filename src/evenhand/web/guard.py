"""Who may come in, what a page may do, and what is said where something fails."""

from __future__ import annotations

import hmac
import logging
import secrets
import traceback
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.core.files.uploadhandler import MemoryFileUploadHandler, StopUpload
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from evenhand.errors import EvenhandError, InputError
from evenhand.web.pages import page

Answer = Callable[[HttpRequest], HttpResponse]

log = logging.getLogger("evenhand.web")

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""What a page may load: our own files, and nothing written into the page itself."""

_OPEN: Final = ("/static/", "/look.css", "/app.js")
"""What everybody may see who reaches this port: styles and scripts, which are no secret."""

RUN: Final = secrets.token_urlsafe(16)
"""This run of the server: who came in by its link is in until it ends."""

_tokens: set[str] = set()


def new_token() -> str:
    """Return a word that lets one browser in, once."""
    token = secrets.token_urlsafe(32)
    _tokens.add(token)
    return token


def _accepted(given: str) -> bool:
    """Say whether a token is good, and use it up."""
    for token in list(_tokens):
        if hmac.compare_digest(token.encode(), given.encode()):
            _tokens.discard(token)
            return True
    return False


def locked(answer: Answer) -> Answer:
    """Let in whoever has followed a link with a token; the link works once, and leaves the address bar at once."""

    def checked(request: HttpRequest) -> HttpResponse:
        token = request.GET.get("token")
        if token is not None and _accepted(token):
            request.session.cycle_key()
            request.session["run"] = RUN
            return HttpResponseRedirect(request.path)
        if request.session.get("run") != RUN and not request.path.startswith(_OPEN):
            return fault(
                request,
                403,
                _("This page is locked"),
                _(
                    "Open the link that evenhand printed when it was started. It works once: "
                    "for a new one, stop evenhand serve and start it again."
                ),
            )
        if token is not None:
            return HttpResponseRedirect(request.path)
        return answer(request)

    return checked


def headers(answer: Answer) -> Answer:
    """Say with every answer what a page may do, and that nobody is to keep it."""

    def guarded(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return guarded


class Faults:
    """Turn whatever fails into a page with a sentence; the log has where it failed, and no word of the data."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the answer; a page where an address that takes forms was opened, as by loading it again."""
        response = self._answer(request)
        if response.status_code != 405 or request.method not in ("GET", "POST"):
            return response
        refused = fault(
            request, 405, _("This address takes a form"), _("Nothing was changed. Go back, or begin at the start page.")
        )
        refused.headers["Allow"] = response.headers.get("Allow", "")
        return refused

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return a page for an error."""
        if isinstance(error, Http404):
            return None
        if isinstance(error, EvenhandError):
            first, *further = map(str, error.problems[:20]) if isinstance(error, InputError) else [str(error)]
            return fault(request, 400, _("This cannot be done"), first, further)
        if isinstance(error, (RequestDataTooBig, TooManyFieldsSent)):
            return too_large(request)
        name = secrets.token_hex(4)
        log.error("%s %s: %s", name, request.resolver_match and request.resolver_match.view_name, trace(error))
        return fault(
            request,
            500,
            _("Something went wrong on our side"),
            _("Nothing that was saved is lost. If it happens again, report it with the number %(name)s.")
            % {"name": name},
        )


def trace(error: BaseException) -> str:
    """Return what an error is and where it arose, without its words, which may hold scores or names."""
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    return f"{type(error).__name__} at " + " < ".join(f"{one.name}:{one.lineno}" for one in reversed(frames))


def fault(request: HttpRequest, status: int, title: str, words: str, further: list[str] | None = None) -> HttpResponse:
    """Return a page that says what is wrong and what to do."""
    response = page(request, "fault.html", status=status, title=title, words=words, further=further or [], code=status)
    return response.render()


def too_large(request: HttpRequest) -> HttpResponse:
    """Say that what was sent is too large."""
    most = settings.MAX_UPLOAD // 2**20
    return fault(
        request,
        413,
        _("The file is too large"),
        _("Up to %(most)s MB are read here. Larger files are for the command line: evenhand calibrate FILE.")
        % {"most": most},
    )


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say that a form was not sent from one of our pages, or has been open for too long."""
    return fault(
        request,
        403,
        _("This form cannot be taken"),
        _("It was not sent from a page of this server, or the page was open for too long: go back and load it again."),
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Say that there is no such page."""
    return fault(
        request, 404, _("There is no such page"), _("It may have been deleted. The start page has all panels.")
    )


def broken(request: HttpRequest) -> HttpResponse:
    """Say that something failed outside of the views."""
    return fault(request, 500, _("Something went wrong on our side"), _("Nothing that was saved is lost."))


class Limited(MemoryFileUploadHandler):
    """Takes a file into memory, up to the limit."""

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *further: Any) -> None:  # noqa: N803
        """Refuse what says of itself that it is too large."""
        self.activated = True
        if content_length > settings.MAX_UPLOAD + 2**16:
            raise RequestDataTooBig

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Take a piece, unless it is one too many."""
        if start + len(raw_data) > settings.MAX_UPLOAD:
            raise StopUpload(connection_reset=False)
        return super().receive_data_chunk(raw_data, start)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Say that a request makes no sense."""
    if isinstance(exception, (RequestDataTooBig, TooManyFieldsSent)):
        return too_large(request)
    return HttpResponse(_("This request makes no sense here."), status=400, content_type="text/plain; charset=utf-8")
