"""A fault of a host's own kind is reported with its method, file, line and expected result."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cogitate import JobEnd, Profile, TickLoop, kind, newest
from cogitate.effects import Append, Entry, Tell
from cogitate.errors import KindError
from cogitate.prompts.render import VALUES
from cogitate.scheduler.intake.kind_effects import made_without_model
from cogitate.tasks.job import Job, JobKey, Reads
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.own.method_faults import MethodFault
from cogitate.tasks.registry import kind_of
from cogitate.workers.answer_faults.fault import fault_of
from tests.repository import ROOT

ADA = "agent:ada"
HEARD = Entry(type="observation", text="The bridge fell.", minute=1, number=1)
TOLD = Tell(ADA, "vote", {"yes": True})


class Ballot(BaseModel):
    """An answer without a text."""

    share: float
    why: str = ""


def case(**params: Any) -> Case:
    job = Job(run="r", key=JobKey(3, "vote", ADA, 0, 0), minute=3, due=4, reads=(Reads(ADA, 1),), params=params)
    return Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={ADA: [HEARD]})


def declared(**methods: Callable[..., Any]) -> Any:
    body = type("Vote", (), {name: staticmethod(method) for name, method in methods.items()})
    kind(name="vote", ask="Vote.", answer=Ballot, reads=newest(5), on_denied="drop")(body)
    return kind_of("vote")


def key_error(*_: Any) -> Any:
    raise KeyError("what Ada remembers")


def of_ours(*_: Any) -> Any:
    return Entry.not_there  # type: ignore[attr-defined]


RETURNS = "return a text, an Entry, an effect such as Tell, a tuple of effects, or None"
WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda *_: 5, f"returned an int: {RETURNS}"),
    (lambda *_: {"yes": True}, f"returned a dict: {RETURNS}"),
    (lambda *_: [TOLD, None], f"returned None among its effects: {RETURNS}"),
    (lambda *_: (TOLD, "yes"), f"returned a str among its effects: {RETURNS}"),
    (key_error, "raised KeyError in test_faults_of_methods.py, line"),
    (of_ours, "raised AttributeError in test_faults_of_methods.py, line"),
]


@pytest.mark.parametrize(("method", "what"), WRONG)
def test_the_method_its_file_and_line_are_named(method: Callable[..., Any], what: str) -> None:
    own = declared(instead=method, store=lambda *given: method(*given))
    where = rf"\(test_faults_of_methods\.py, line {method.__code__.co_firstlineno}\)"
    refusal = made_without_model(own, case()).refusal
    assert re.match(rf"kind 'vote': instead {where} {re.escape(what)}", refusal)
    with pytest.raises(MethodFault, match=r"kind 'vote': store \(test_faults_of_methods\.py, line \d+\)"):
        own.effects(case(), Ballot(share=0.2), ())
    assert "Ada" not in refusal


def test_the_argument_that_a_call_lacks_is_named() -> None:
    own = declared(instead=lambda *_: Entry(type="observation", text="Yes."), store=lambda *_: None)  # type: ignore[call-arg]
    refusal = made_without_model(own, case()).refusal
    assert "raised TypeError (the call lacks 'minute') in test_faults_of_methods.py, line" in refusal


def test_an_error_quotes_no_value() -> None:
    def fail(*_: Any) -> Any:
        raise TypeError("what Ada remembers: argument 'x'")

    assert "Ada" not in made_without_model(declared(instead=fail, store=lambda *_: None), case()).refusal


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_process_ending_exceptions_pass(error: type[BaseException]) -> None:
    def leave(*_: Any) -> Any:
        raise error

    with pytest.raises(error):
        made_without_model(declared(instead=leave, store=lambda *_: None), case())
    with pytest.raises(error):
        declared(instead=lambda *_: None, store=leave).effects(case(), Ballot(share=0.2), ())


def test_swapped_parameters_are_refused_where_the_class_stands() -> None:
    with pytest.raises(KindError, match=r"store has its parameters in another order: write store\(case, answer, mem"):
        declared(instead=lambda case, memories: None, store=lambda case, memories, answer: None)
    with pytest.raises(KindError, match=r"instead has its parameters in another order"):
        declared(instead=lambda memories, case: None)
    declared(instead=lambda job, seen: None, store=lambda c, given, read: None)


@pytest.mark.parametrize("made", [TOLD, (TOLD,), [TOLD], iter([TOLD])])
def test_a_method_may_return_one_effect_or_several(made: Any) -> None:
    assert made_without_model(declared(instead=lambda *_: made), case()).effects == (TOLD,)


def test_an_answer_that_store_cannot_use_is_shown_to_the_model() -> None:
    def store(*_: Any) -> Any:
        raise ValueError("a share is from 0 to 1")

    with pytest.raises(ValueError, match="a share is from 0 to 1"):
        declared(instead=lambda *_: None, store=store).effects(case(), Ballot(share=2), ())


def test_a_too_long_text_is_reported_for_the_classs_own_method() -> None:
    refusal = made_without_model(declared(instead=lambda *_: "x" * 4_001), case()).refusal
    assert re.match(r"kind 'vote': instead \(test_faults_of_methods\.py, line \d+\): effect 1 .* has 4001", refusal)


def test_a_choice_of_memories_is_named_too() -> None:
    kind(name="vote", reads=lambda case: 5)(type("Vote", (), {"instead": staticmethod(lambda *_: "Yes.")}))  # type: ignore[arg-type,return-value]
    refusal = made_without_model(kind_of("vote"), case()).refusal
    assert re.match(
        r"kind 'vote': reads \(test_faults_of_methods\.py, line \d+\) returned an int: return a list", refusal
    )


def test_params_stand_in_the_prompt_on_a_line_each() -> None:
    own = declared(instead=lambda *_: None, store=lambda *_: None)
    user = own.prompt(case(motion="mend </memories>\nthe bridge", of=[1, "<b>"])).user
    assert "motion: mend ‹/memories› the bridge\nof: [1, '‹b›']".replace("'", "'") in user
    assert "motion" not in own.prompt(case()).user


def template(folder: Path, user: str) -> None:
    (folder / "vote.j2").write_text("{% block system %}Vote.{% endblock %}{% block user %}" + user + "{% endblock %}")
    (folder / "votes.py").write_text(
        "from pydantic import BaseModel\nfrom cogitate import kind\n\n\nclass Ballot(BaseModel):\n    why: str\n\n\n"
        '@kind(template="vote.j2", answer=Ballot, on_denied="drop")\nclass Vote:\n    pass\n'
    )


def test_a_template_has_params_and_is_refused_for_unknown_variables(tmp_path: Path) -> None:
    template(tmp_path, "{{ params.motion }} for {{ name }}")
    code = compile((tmp_path / "votes.py").read_text(), str(tmp_path / "votes.py"), "exec")
    exec(code, {"__name__": "votes"})
    assert kind_of("vote").prompt(case(motion="Mend it")).user == "Mend it for Ada"
    template(tmp_path, "{{ motion }}")
    with pytest.raises(
        KindError, match=r"template 'vote.j2' uses the unknown variables motion; it may use age, ask, .*params\.…"
    ):
        exec(code, {"__name__": "votes"})


def test_the_guide_lists_the_variables_of_a_template() -> None:
    page = (ROOT / "docs" / "how-to" / "extending.md").read_text()
    table = page.partition("| variable | what it holds |")[2].partition("\n\n")[0]
    listed = {
        name for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert listed == VALUES["own"]


@pytest.mark.parametrize(
    "why", ["0.209…", "You should vote yes, I am sorry.", "yes yes yes yes", "TODO", "string", "是", "{", "Day 3", ""]
)
def test_an_answer_of_the_host_s_own_class_is_held_to_that_class_alone(why: str) -> None:
    own = declared(instead=lambda *_: None, store=lambda *_: None)
    assert fault_of(Ballot(share=0.2, why=why), own.prompt(case())) is None


def test_a_refused_job_is_reported_at_its_due_tick(cogitate_loop: Callable[..., TickLoop]) -> None:
    declared(instead=lambda *_: 5)
    loop = cogitate_loop(owners={ADA: Profile(name="Ada")}, ticks=9)
    told: list[JobEnd] = []
    for tick in loop:
        told += tick.ended
        if tick.number == 2:
            loop.request("vote", ADA)
            loop.apply(Append(ADA, Entry(type="observation", text="The bridge fell.", minute=tick.minute)))
    assert [(end.kind, end.end, RETURNS in end.why) for end in told] == [("vote", "refused", True)]
