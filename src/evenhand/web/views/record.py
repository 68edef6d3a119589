"""What goes out: report, workbook, tables and pictures; frozen decisions, and the record of all that was done."""

from __future__ import annotations

import io
import json
import shlex
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evenhand import __version__
from evenhand.answers.alerts import provisional
from evenhand.models.fit import method_name
from evenhand.web.calibrating import Answer, answering, fit_by, places_of, typed
from evenhand.web.jobs import SOON, jobs
from evenhand.web.models import Frozen, Panel, mark
from evenhand.web.pages import page, when_done
from evenhand.web.reading import Looked, cells_in, looking
from evenhand.web.settling import Settled, by_hand, lines
from evenhand.web.ways import until
from evenhand.words import spoken, translated

if TYPE_CHECKING:
    from evenhand.answers.alert import Alert
    from evenhand.answers.decision import Decision
    from evenhand.models.criteria import CriteriaFit
    from evenhand.models.fit import Fit
    from evenhand.reports.page import Report

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "zip": "application/zip",
}
_CHOICE: Final = "choice.json"
"""What an archive has of the choice of the panel, where there is one."""
_REMEDIES: Final = {
    "other_method": "Say in the minutes which method decides.",
    "hangs_on_assessor": "",
    "thin": "Ask for another score.",
    "far_score": "Ask whether it is meant.",
    "tie": "Draw lots, or decide by what the scores do not say.",
    "confidence": "",
}
"""What to do about an alert, in a report that is read away from these pages; reports are in English."""
_PICTURES: Final = ("values", "biases", "assessor-graph", "design", "residuals")


@require_GET
def record(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what can be taken along, what was frozen, and what was done."""
    panel = get_object_or_404(Panel, pk=pk)
    told: dict[str, Any] = {"stops": [], "checks": [], "until": "", "without": None, "unlike": ""}
    last = panel.frozen.only("state", "known").first()
    is_kept = last is not None and last.state == _state_of(panel)
    if (panel.known and panel.known.get("alert")) or (last is not None and not is_kept):
        job = answering(panel)
        if job.wait(SOON) and job.error is None:  # as a rule it is there
            answer: Answer = job.result
            told |= {"stops": answer.stops, "until": until(answer), "without": provisional(answer.stops)}
            told["checks"] = answer.checks(panel.stands)
            told["unlike"] = "" if last is None or is_kept else _unlike(last.known, answer.known(panel.stands))
    return page(
        request,
        "record.html",
        panel,
        **told,
        is_kept=is_kept,
        frozen=panel.frozen.defer("archive", "page"),
        entries=panel.entries.all(),
        pictures=_PICTURES,
    )


def _unlike(frozen: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how what stands differs from what was frozen; empty where that is not known."""
    before, after = frozen.get("counts"), now["counts"]
    if after is None or before is None:
        return _("No decision stands now.") if before else ""
    words = (
        _("%(now)s in instead of %(then)s"),
        _("%(now)s open instead of %(then)s"),
        _("%(now)s out instead of %(then)s"),
    )
    told = [said % {"now": new, "then": old} for said, new, old in zip(words, after, before, strict=True) if new != old]
    if not told:
        return _("Something was changed since; as many are in, open and out.")
    return _("Now differs from the frozen: %(how)s") % {"how": ", ".join(told)}


def _state_of(panel: Panel) -> str:
    """Return a mark of all that a frozen decision is made of."""
    stands = [panel.stands] if panel.stands else []
    return mark([panel.state(), panel.choice, panel.name, __version__, _reasons(by_hand(panel)), *stands])


def sent(name: str, content: bytes, *, download: bool = True) -> HttpResponse:
    """Return a file."""
    response = HttpResponse(content, content_type=_TYPES[name.rsplit(".", 1)[-1]])
    header = content_disposition_header(as_attachment=download, filename=name)
    if header:
        response.headers["Content-Disposition"] = header
    return response


@require_GET
def out(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Make a file of the result, and send it."""
    panel = get_object_or_404(Panel, pk=pk)
    name, _dot, ending = what.rpartition(".")
    known = ("report.html", "results.xlsx", "results.csv", "result.json")
    if what not in known and not (name in _PICTURES and ending in ("svg", "png")):
        raise Http404
    base, choices, title, choice = answering(panel), dict(panel.choices), panel.name, dict(panel.choice)
    settled, stands = by_hand(panel), dict(panel.stands)

    def work() -> bytes:
        found: Answer = base.outcome()
        answer = found.with_choice(choice)
        with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
            if what == "results.csv":
                return _tables(answer, choices, Path(folder))
            return _made(answer, choices, title, Path(folder) / what, settled, stands).read_bytes()

    job = jobs.start(f"out-{what}-{mark([panel.state(), title, choice, _reasons(settled), stands])}", "writing", work)
    if what == "report.html" and request.GET.get("show") == "report":
        return when_done(request, job, as_page, panel)

    def send(content: bytes) -> HttpResponse:
        return sent(name_of(panel, _called(what, base.outcome())), content)

    return when_done(request, job, send, panel, file=True)


def _called(what: str, answer: Answer) -> str:
    """Return what a file is called: provisional, until what must be checked is settled."""
    return f"provisional-{what}" if answer.stops else what


def name_of(panel: Panel, what: str) -> str:
    """Return what a file about a panel is called where it is kept: with the name of the panel."""
    file = what.replace("results.csv", "results.zip")
    return f"{slugify(panel.name, allow_unicode=True)[:100] or 'panel'}-{file}"


def as_page(report: bytes) -> HttpResponse:
    """Return a report to look at; its own policy allows its styles and its one script and nothing else."""
    response = sent("report.html", report, download=False)
    response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
    return response


def _reasons(settled: Sequence[Settled]) -> list[list[str]]:
    """Return what was settled by hand and why, as far as a report says it."""
    return [[cell.place, cell.reason] for one in settled for cell in one.cells]


@translated(None)
def _made(
    answer: Answer,
    choices: dict[str, Any],
    title: str,
    place: Path,
    settled: Sequence[Settled],
    stands: Mapping[str, str],
) -> Path:
    """Write a file about a result, of the kind that its name says, and return where."""
    from evenhand import plots
    from evenhand.io.results import write_text
    from evenhand.reports.page import make_report, render
    from evenhand.reports.workbook import workbook

    found, choice = answer.found, answer.choice  # a report and a workbook leave out themselves what must be checked
    top, changes = places_of(found, choices), lines(settled, answer.found.combined.panel)

    def why(check: Alert) -> str:
        return stands.get(answer.mark_of(check), "")

    checks = [(one.headline, why(one)) for one in answer.alerts if one.level == "check" and why(one)]
    looked = [f"The panel looked at this and keeps it: {headline}. Reason: {reason}" for headline, reason in checks]
    makers: dict[str, Callable[[], object]] = {
        ".html": lambda: write_text(
            place,
            render(_on_pages(make_report(found, top=top, title=title, choice=choice, changes=changes, stands=why))),
        ),
        ".xlsx": lambda: workbook(found, place, top=top, choice=choice, changes=[*changes, *looked]),
        ".json": lambda: write_text(
            place, json.dumps(_summary(answer, choices), default=float, ensure_ascii=False, indent=1)
        ),
    }
    maker = makers.get(place.suffix)
    if maker is None:
        fit = _standing(answer).combined
        charts: dict[str, Callable[[], Any]] = {
            "values": lambda: plots.values(fit),
            "biases": lambda: plots.biases(fit),
            "assessor-graph": lambda: plots.assessor_graph(fit.panel),
            "design": lambda: plots.design(fit.panel),
            "residuals": lambda: plots.residuals(fit),
        }
        from evenhand.plots.drawing import save

        save(charts[place.stem](), place)
    else:
        maker()
    return place


def _on_pages(made: Report) -> Report:
    """Return a report that says what to do for readers who have neither these pages nor a command line."""

    def remedy(alert: Alert) -> str:
        is_typed = "`" in alert.remedy or "=" in alert.remedy  # a command, or an argument
        return _REMEDIES.get(alert.kind, alert.remedy) if is_typed else alert.remedy

    return replace(made, alerts=[replace(one, remedy=remedy(one)) for one in made.alerts], asked="")


@translated(None)
def _tables(answer: Answer, choices: dict[str, Any], folder: Path) -> bytes:
    """Return the tables of a result as csv files in an archive."""
    from evenhand.io.results import write_summary

    files = write_summary(folder / _called("results.csv", answer), _summary(answer, choices), ["objects", "assessors"])
    return archive({file.name: file.read_bytes() for file in files})


def _summary(answer: Answer, choices: dict[str, Any]) -> dict[str, Any]:
    """Return all numbers of a result; where the panel has chosen, with its choice."""
    from evenhand.reports.summary import summarise_fit

    top, is_whole = places_of(answer.found, choices), provisional(answer.stops) is None
    if not is_whole:
        return summarise_fit(answer.fit, top=top, decision=answer.decision, alerted=answer.alerts)
    return summarise_fit(answer.found, top=top, decision=None if answer.choice is None else answer.decision)


def _standing(answer: Answer) -> Fit | CriteriaFit:
    """Return the fit that files are of: as on the pages, until it is settled without what must be checked."""
    return answer.found if provisional(answer.stops) is None else answer.fit


def archive(parts: dict[str, bytes]) -> bytes:
    """Return files as one archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return held.getvalue()


# --- frozen ------------------------------------------------------------------------------------------


@require_POST
def freeze(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the decision as it stands: what is done later does not change it."""
    panel = get_object_or_404(Panel, pk=pk)
    state, base, content, title = panel.state(), answering(panel), bytes(panel.content), panel.name
    looked, number, choice, frozen_as = looking(panel), panel.frozen.count(), dict(panel.choice), _state_of(panel)
    settled = by_hand(panel)

    def work() -> tuple[bool, str]:
        found: Answer = base.outcome()
        answer = found.with_choice(choice)
        read: Looked = looked.outcome()
        state["corrections"] |= dict.fromkeys(cells_in(read.problems, read.table), "")  # as they were read
        try:
            _frozen(panel, answer, state, content, title, frozen_as, settled)
            if answer.stops:
                return True, _("A provisional state is frozen. Later edits do not change it.")
            return True, _("The decision is frozen. Later edits do not change it.")
        finally:
            connection.close()  # of this thread alone

    job = jobs.start(f"freeze-{pk}-{number}-{mark([state, choice, frozen_as])}", "freezing", work)
    return redirect("working", pk, job.key)


@require_GET
def working(request: HttpRequest, pk: int, key: str) -> HttpResponse:
    """Wait for work whose outcome the record shows."""
    panel, job = get_object_or_404(Panel, pk=pk), jobs.find(key)

    def show(words: tuple[bool, str]) -> HttpResponse:
        (messages.success if words[0] else messages.error)(request, words[1])
        jobs.forget(key)
        return redirect("record", pk)

    return redirect("record", pk) if job is None else when_done(request, job, show, panel)


def _frozen(
    panel: Panel,
    answer: Answer,
    state: dict[str, Any],
    content: bytes,
    title: str,
    frozen_as: str,
    settled: Sequence[Settled],
) -> Frozen:
    """Keep an archive of data, settings, report and workbook, with the command that confirms it."""
    from evenhand.answers.fingerprint import fingerprint
    from evenhand.answers.ranking import DRAWS
    from evenhand.io.settled import save

    choices, found = state["choices"], answer.found
    top = places_of(found, choices)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        place = Path(folder)
        data = place / state["name"]
        data.write_bytes(content)
        options = dict(state["options"]) | ({"corrections": state["corrections"]} if state["corrections"] else {})
        parts = {data.name: content}
        if options:
            kept = save(data, options)
            parts[kept.name] = kept.read_bytes()
        page_ = _made(answer, choices, title, place / "report.html", settled, panel.stands).read_bytes()
        book = _made(answer, choices, title, place / "results.xlsx", settled, panel.stands).read_bytes()
        summary = _made(answer, choices, title, place / "result.json", settled, panel.stands).read_bytes()
    made = fingerprint(found.combined, choice=answer.choice, top=top, seed=0, draws=DRAWS, lottery_seed=None)
    given = [*typed(found, choices), *(["--choice", _CHOICE] if answer.choice is not None else [])]
    command = shlex.join(["evenhand", "report", state["name"], *given, "--verify", made.whole])
    headline = title
    if answer.decision is not None and not answer.stops:
        headline = _in_full(answer, answer.decision, panel.stands)
    chosen = "" if answer.decision is None else answer.decision.choice_words()
    lines = "\n".join(line for line in (title, headline, chosen) if line)
    words = (
        f"{lines}\n\nFingerprint {made.whole}, evenhand {made.version}\n\n"
        f"To confirm it, unpack this archive and run there:\n{command}\n"
    )
    done = (
        f"{one.created:%Y-%m-%d %H:%M} {one.words}" + (f" ({one.reason})" if one.reason else "")
        for one in panel.entries.order_by("pk")
    )
    parts |= {"report.html": page_, "results.xlsx": book, "result.json": summary}
    parts |= {"record.txt": "".join(f"{line}\n" for line in done).encode()}
    if answer.choice is not None:
        parts |= {_CHOICE: json.dumps(asdict(answer.choice), ensure_ascii=False).encode()}
    parts |= {"choices.json": json.dumps(choices).encode(), "README.txt": words.encode()}
    frozen = Frozen.objects.create(
        panel=panel,
        fingerprint=made.whole,
        headline=headline[:500],
        command=command,
        version=made.version,
        state=frozen_as,
        known=answer.known(panel.stands),
        archive=archive(parts),
        page=page_,
    )
    told = {"headline": headline, "mark": made.whole[:16]}
    if answer.stops:
        panel.say(_("Frozen as provisional: %(headline)s (%(mark)s)") % told)
    else:
        panel.say(_("Frozen: %(headline)s (%(mark)s)") % told)
    return frozen


def _in_full(answer: Answer, made: Decision, stands: Mapping[str, str]) -> str:
    """Return a decision in a line that can be read alone: its method, places nobody is chosen for, checks left."""
    method = method_name(answer.fit.method, confidence=answer.fit.panel.confidence)
    line = _("By %(method)s: %(headline)s") % {"method": method, "headline": made.headline()}
    left = made.places - made.given
    checks = len(answer.checks(stands))
    told = [_("places not yet given: %(count)s") % {"count": left}] * (left > 0)
    told += [_("checks open: %(count)s") % {"count": checks}] * (checks > 0)
    return f"{line} ({', '.join(told)})" if told else line


@require_GET
def frozen(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Send the archive of a frozen decision, or its report to look at."""
    one = get_object_or_404(Frozen, pk=at, panel=pk)
    if request.GET.get("show") == "report":
        return as_page(bytes(one.page))
    return sent(name_of(one.panel, f"decision-{one.fingerprint[:16]}.zip"), bytes(one.archive))


@require_POST
def verify(request: HttpRequest, pk: int, at: int) -> HttpResponse:
    """Compute a frozen decision again from its archive, and say whether it is the same."""
    one = get_object_or_404(Frozen, pk=at, panel=pk)
    archive, expected = bytes(one.archive), one.fingerprint

    def work() -> tuple[bool, str]:
        if _mark_of(archive) == expected:
            return True, _("Unchanged: data, settings, choice and version give the same fingerprint.")
        return False, _("Changed: this version does not give the same fingerprint.")

    return redirect("working", pk, jobs.start(f"verify-{at}-{mark(expected)}", "verifying", work).key)


def _mark_of(archive: bytes) -> str:
    """Return the fingerprint of what stands in an archive."""
    from evenhand.answers.fingerprint import fingerprint
    from evenhand.answers.ranking import DRAWS
    from evenhand.io.panels import read_panel
    from evenhand.io.settled import read_choice

    choice = None
    with zipfile.ZipFile(io.BytesIO(archive)) as held, tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        first = held.namelist()[0]
        for name in (first, f"{first}.evenhand.toml"):
            if name in held.namelist():
                (Path(folder) / name).write_bytes(held.read(name))
        choices = json.loads(held.read("choices.json"))
        with spoken(None):
            panel = read_panel(Path(folder) / first)
            if _CHOICE in held.namelist()[1:]:
                choice = read_choice(held.extract(_CHOICE, Path(folder) / "choice"))
    found = fit_by(panel, choices).combined
    top = places_of(found, choices)
    return fingerprint(found, choice=choice, top=top, seed=0, draws=DRAWS, lottery_seed=None).whole
