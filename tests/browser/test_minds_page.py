"""The page of a run's minds: mouse, keyboard, search and links, with long and hostile texts in several scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Append, MarkAccessed
from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.stream import Stream
from cogitate.ops.report.minds_page import shown_minds, write_minds
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.minds import Mind, Owner, written_by
from cogitate.tasks.job import Cost
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import WINDOWS, pick, quiet_page

pytestmark = pytest.mark.system

ATTACK = "</script><img src=x onerror=alert(1)>"
CHINESE = "铁匠答应明天修好水磨。"
ARABIC = "وعد الحدّاد بإصلاح الطاحونة غدًا."
MANY = 2_000  # observations of a day
ADA, BEN, CLEO = "agent:ada", "agent:ben/2", "agent:cleo"
NAMES = {ADA: "Ada Smith", BEN: f"Ben {ATTACK}", CLEO: "Cleo", "inn": "The Heron"}
THOUGHT = "Ben keeps his word."
PROMISED = (("I promise to mend the roof.", 500), ("I kept my word.", 900), ("I promise to sell my boat.", 950))
TALK = (("Cleo: Did you?", 903), ("Ada Smith: I did.", 911), ("Cleo: Good night.", 922))
SHOWN = (3, 5, 4 * MANY + 1)
MODELS = {"default": "small-model"}


def minds() -> list[Mind]:
    """Return Ada with four full days and a thought on the last, Ben with Chinese and Arabic, and Cleo with promises."""
    ada = Stream(ADA)
    for number in range(4 * MANY):
        minute = number // MANY * DAY + number % MANY * DAY // MANY
        ada.append(Entry(type="observation", text=f"Saw thing {number}.", minute=minute, importance=1 + number % 10), 1)
    seen = ada.append(Entry(type="message", text=ATTACK, minute=4 * DAY - 60, subjects=(BEN,), importance=9), 2)
    thought = Entry(type="reflection", text=THOUGHT, minute=4 * DAY - 30, evidence=(seen.number, 3), provisional=True)
    number = ada.append(thought, 3).number
    items = (PlanItem(id="3-0", description="Visit the mill " + "again and " * 300, minute=4 * DAY - 20),)
    ada.append(Entry(type="plan", text="", minute=4 * DAY - 40, items=items), 3)
    job = JobRecord(
        id=f"town/3/reflect/{ADA}/0/0",
        kind="reflect",
        owner=ADA,
        tick=3,
        state="applied",
        decision="admitted",
        refused="",
        due=9,
        ended=9,
        successor="",
        reason="none",
        source="llm",
        model="default",
        usage=Cost(calls=1, tokens=812, usd_micros=300),
        claims=1,
        appended=(number,),
        effects=(Append(ADA, thought), MarkAccessed(ADA, SHOWN, 4 * DAY - 35)),
    )
    ben = Stream(BEN)
    for text in (CHINESE, ARABIC):
        ben.append(Entry(type="observation", text=text, minute=100, subjects=(ADA,)), 1)
    written = {number: one for _, number, one in written_by(job)}
    cleo = Stream(CLEO)
    cleo.head.character = Character(relationships={"Ada Smith": "her landlady", "Dora": "her sister"})
    for text, minute in PROMISED:
        line = Entry(type="message", text=f"Ada Smith: {text}", minute=minute, location="inn", subjects=(ADA, CLEO))
        cleo.append(line, 1)
    for text, minute in TALK:
        cleo.append(Entry(type="message", text=text, minute=minute, subjects=(ADA,)), 1)
    return [
        Mind(Owner(ADA, "Ada Smith", False), ada, written, NAMES),
        Mind(Owner(BEN, NAMES[BEN], True), ben, {}, NAMES),
        Mind(Owner(CLEO, "Cleo", False), cleo, {}, NAMES),
    ]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("minds") / "minds.html"
    write_minds([shown_minds("town", 9, 4 * DAY, 0, minds(), MODELS)], path)
    return path


@pytest.fixture(params=WINDOWS)
def page(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    with quiet_page(browser, file.as_uri(), request.param) as opened:
        yield opened


def last_day(page: Any) -> None:
    """Select the last day."""
    page.locator("#day").select_option("3")


def follow(page: Any, text: str) -> None:
    """Follow a card's link to a memory, and wait until the card shows that memory."""
    page.locator("#card").get_by_role("link").filter(has_text=text).first.click()
    page.locator("#card .said", has_text=text).wait_for()


def test_a_thought_leads_to_its_evidence_and_its_job(page: Any) -> None:
    last_day(page)
    page.locator(".mark.lane3").click()
    card = page.locator("#card")
    text = card.inner_text()
    for said in (
        THOUGHT,
        "by the model small-model",
        "1 call, 812 tokens, $0.0003",
        "not rated",
        "It rests on 2 memories",
    ):
        assert said in text
    assert "cogitate job" not in text, "details for developers are collapsed"
    card.locator("summary", has_text="For developers").click()
    assert {f"cogitate job town/3/reflect/{ADA}/0/0", "llm"} <= set(card.inner_text().splitlines())
    assert page.locator(".mark.linked").count() == 1, "the other evidence is of another day"
    follow(page, ATTACK)
    assert f"entry\n{4 * MANY + 1}" in card.inner_text(), "the details stay open"
    assert page.url.endswith(f"#agent%3Aada/{4 * MANY + 1}")
    follow(page, THOUGHT)
    follow(page, "Saw thing 2.")
    assert page.locator("#day").input_value() == "0"


def test_a_thought_lists_what_its_prompt_showed_and_left_out(page: Any) -> None:
    last_day(page)
    page.locator(".mark.lane3").click()
    card = page.locator("#card")
    shown = card.locator("h3", has_text="Its prompt showed").locator("xpath=following-sibling::ul[1]/li")
    assert [text.rpartition(": ")[2] for text in shown.all_inner_texts()] == ["Saw thing 2.", "Saw thing 4.", ATTACK]
    left_out = f"Remembered then and left out: {4 * MANY + 1 - len(SHOWN)}"
    best = card.locator("h3", has_text=left_out).locator("xpath=following-sibling::ul[1]/li")
    assert best.first.inner_text().endswith(f"Saw thing {4 * MANY - 1}."), "the newest of the most important"
    assert f"and {4 * MANY + 1 - len(SHOWN) - best.count()} more" in card.inner_text()
    page.locator(".mark.lane2").click()
    assert "not kept" not in card.inner_text()
    assert "by the world" in card.inner_text()


def test_an_agent_is_shown_with_its_relations_and_promises(page: Any) -> None:
    pick(page, "owner", "2")
    agent, card = page.locator("#agent"), page.locator("#card")
    assert {"Ada Smith: 6 memories, her landlady", "Dora: her sister"} <= set(agent.inner_text().splitlines())
    assert "2 promises (1 open, 1 kept)" in page.locator("#about-agent").inner_text()
    newest, settled = agent.locator(".promises > li").all()
    assert newest.inner_text().splitlines()[-1] == "No memory tells the outcome."
    assert "Ada Smith promised Cleo: I promise to mend the roof.\nday 1, 8:20 AM" in settled.inner_text()
    assert settled.locator(".state").inner_text() == "kept"
    settled.get_by_role("link", name="I kept my word.").click()
    card.get_by_text("Kept, day 1, 3:00 PM: I kept my word.").wait_for()  # the memory's card shows its promise
    assert page.url.endswith("#agent%3Acleo/2")
    assert "The Heron" in card.inner_text()
    talk = card.locator("h3", has_text="The rest of the conversation").locator("xpath=following-sibling::ul[1]/li")
    assert talk.all_inner_texts() == ["3:03 PM: Cleo: Did you?", "3:11 PM: Ada Smith: I did."], "a long pause ends it"
    assert not agent.locator(".promises").is_visible()
    page.locator("#about-agent").click()
    assert agent.locator(".promises").is_visible(), "promises can be shown beside a selected memory"


def test_a_promise_that_only_another_agent_remembers_is_shown(page: Any) -> None:
    agent = page.locator("#agent")
    assert "Promises by Ada Smith: 1 open, 1 kept" in agent.inner_text()
    first = agent.locator(".promises > li").last
    assert "day 1, 8:20 AM, remembered by Cleo" in first.inner_text()
    first.get_by_role("link", name="I promise to mend the roof.").click()
    page.locator("#card .said", has_text="I promise to mend the roof.").wait_for()
    assert page.url.endswith("#agent%3Acleo/1")
    assert page.locator("#owner").input_value() == "2"


def test_the_promises_of_all_agents_are_listed_once_and_open_ones_first(page: Any) -> None:
    page.get_by_role("button", name="Promises of all agents").click()
    card = page.locator("#card")
    assert card.locator("h2").inner_text() == "Promises of all agents: 1 open, 1 kept"
    assert card.locator(".state").all_inner_texts() == ["open", "kept"]
    card.get_by_role("link", name=PROMISED[2][0]).click()
    page.locator("#card .said", has_text=PROMISED[2][0]).wait_for()
    assert page.locator("#owner").input_value() == "2"


def test_two_agents_are_shown_side_by_side_and_swap_places(page: Any) -> None:
    page.locator("#day").select_option("0")
    pick(page, "beside", "2")
    assert page.locator("#whose").inner_text() == "Cleo on day 1"
    folded = sum(map(int, page.locator("#beside-day .more").all_text_contents()))
    assert page.locator("#beside-day .mark.lane1").count() + folded == len(PROMISED) + len(TALK)
    page.locator("#beside-day .mark").first.focus()
    page.keyboard.press("Enter")
    assert PROMISED[0][0] in page.locator("#card .said").inner_text()
    assert [page.locator(f"#{name}").input_value() for name in ("owner", "beside")] == ["2", "0"]
    assert "Ada Smith on day 1" in page.locator("#whose").inner_text()
    pick(page, "beside", "-1")
    assert not page.locator("#beside-day").is_visible()


def test_a_thought_beside_another_agents_day_is_accessible(page: Any) -> None:
    last_day(page)
    pick(page, "beside", "2")
    page.locator(".mark.lane3").click()
    check_accessible(page)


def test_two_runs_show_the_same_agent_side_by_side(browser: Any, tmp_path: Path) -> None:
    path, held = tmp_path / "both.html", minds()
    write_minds(
        [shown_minds("town", 9, 4 * DAY, 0, held, MODELS), shown_minds("other", 9, 4 * DAY, 0, held[1:], MODELS)], path
    )
    with quiet_page(browser, path.as_uri(), "desktop") as page:
        pick(page, "owner", label="Cleo (town)")
        assert page.locator("#whose").inner_text() == "Cleo (other) on day 1"
        page.locator("#beside-day .mark").first.click()
        assert page.url.endswith("#agent%3Acleo/1&1")
        page.reload()
        assert "remembered by Cleo (other)" in page.locator("#card").inner_text()
        assert page.locator("#whose").inner_text() == "Cleo (town) on day 1"
        page.locator("#find").fill("I kept my word")
        assert "2 memories of all agents match, by time" in page.locator("#count").inner_text()
        pick(page, "owner", label="Ada Smith (town)")
        assert not page.locator("#second").is_visible(), "the other run has no such agent"


def test_the_keyboard_reaches_every_memory(page: Any) -> None:
    last_day(page)
    page.locator(".mark.lane3").focus()
    for key in ("Enter", "ArrowUp"):
        page.keyboard.press(key)
    assert "Visit the mill" in page.locator("#card").inner_text()
    minutes_shown = "shown.to - shown.from"
    assert page.evaluate(minutes_shown) == DAY
    page.keyboard.press("+")
    assert page.evaluate(minutes_shown) == DAY / 2
    page.locator("#list").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator('.row[aria-selected="true"]').count() == 1
    assert page.locator("#list").get_attribute("aria-activedescendant")
    for _ in range(200):
        page.keyboard.press("PageUp")
    assert "Saw thing 6000." in page.locator("#card").inner_text(), "the first of the day"


def test_a_day_of_thousands_of_memories_draws_only_those_in_view(page: Any) -> None:
    last_day(page)
    assert f"{MANY + 3:,} memories of Ada Smith" in page.locator("#count").inner_text()
    assert page.locator(".row").count() < 100
    assert page.locator(".mark").count() < 600
    page.locator(".more").first.click()
    page.locator("#list").evaluate("list => list.scrollTop = list.scrollHeight")
    page.locator(f'.row[aria-posinset="{MANY + 3}"][aria-setsize="{MANY + 3}"]').wait_for()


@pytest.mark.parametrize("text", [CHINESE, ARABIC])
def test_a_search_finds_the_memories_of_all_agents(page: Any, text: str) -> None:
    page.locator("#find").fill(text[3:9])
    assert "1 memory of all agents matches" in page.locator("#count").inner_text()
    page.locator(".row").click()
    assert text in page.locator("#card").inner_text()
    assert page.locator("#owner").input_value() == "1"
    assert f"remembered by Ben {ATTACK}" in page.locator("#card").inner_text()


def test_a_search_lists_matches_by_time_and_counts_them(page: Any) -> None:
    page.locator("#find").fill("saw THING")
    assert f"{4 * MANY:,} memories of all agents match, by time; the first 500 are listed" in (
        page.locator("#count").inner_text()
    )
    page.locator("#find").fill("promise")
    assert page.locator(".row .when").all_inner_texts() == [
        "day 1, 8:20 AM, remembered by Cleo",
        "day 1, 3:50 PM, remembered by Cleo",
    ]
    page.locator("#find").fill("5")
    minutes = page.evaluate("shown.found.map((one) => [one.entry.minute, one.owner])")
    assert minutes == sorted(minutes)
    assert page.locator(".row").first.evaluate("row => row.offsetHeight") == page.evaluate("row()")


def test_a_url_opens_a_memory(page: Any, file: Path) -> None:
    page.goto(f"{file.as_uri()}#agent%3Aben%2F2/2")
    page.locator("#card", has_text=ARABIC).wait_for()
    assert page.locator("#owner").input_value() == "1"
    page.locator("#lanes button").first.click()
    assert page.locator(".mark.lane0").count() == 0
    assert page.locator(".row").count() == 0
