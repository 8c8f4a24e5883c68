"""Files dropped in a browser: recordings reach a score, imports their dry run, others are refused."""

import shutil
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.pages.accessibility import check_accessibility
from tests.pages.conftest import DEMO_WITHIN_S
from tests.recordings import split_call

CALL = Path(__file__).parents[1] / "data" / "audio" / "calls" / "fx-call-2.stereo.wav"
SILENCE = CALL.parents[1] / "nospeech" / "silence.wav"
TABLE = "conversation_id,role,text\nt-1,customer,My parcel is late.\nt-2,somebody,Hm.\n"


def test_recordings_reach_a_score_and_a_text_is_refused(
    page_of: Callable[..., Page], tmp_path: Path, console: list[str]
) -> None:
    page = page_of("reviewer")
    page.goto("/add")
    check_accessibility(page)
    notes = tmp_path / "notes.txt"
    notes.write_text("Buy milk.")
    page.get_by_label("Channels of recordings").select_option("agent-left")
    log = tmp_path / "calls.csv"
    log.write_text("file,direction\nmorning.wav,inbound\nnight.wav,inbound\n")
    page.get_by_text("Options for recordings").click()
    page.get_by_label("Log of calls").set_input_files(log)
    names = ["morning.wav", "evening.wav"]
    files = [Path(shutil.copy(CALL, tmp_path / name)) for name in names]
    page.get_by_label("Drop files here").set_input_files([*files, notes])
    dropped = page.get_by_role("region", name="Dropped here")
    refusal = dropped.get_by_text("Refused: The format of notes.txt is unknown")
    expect(refusal).to_be_visible()
    console.clear()
    expect(dropped.locator("[data-live]")).to_have_count(len(names))
    for name, is_visible in zip(names, (False, True), strict=True):
        unlogged = (
            dropped.get_by_role("listitem").filter(has_text=name).get_by_text("Not in the log")
        )
        expect(unlogged).to_be_visible(visible=is_visible)
    expect(dropped).to_contain_text("Calls of the log without a recording here: 1")
    expect(dropped.get_by_text("night.wav", exact=True)).to_be_visible()
    recordings = page.get_by_role("region", name="Recordings of the last 24 hours")
    for name in names:
        expect(recordings.get_by_role("row", name=name)).to_be_visible()
    check_accessibility(page)
    night = Path(shutil.copy(SILENCE, tmp_path / "night.wav"))
    page.get_by_label("Drop files here").set_input_files([night])
    expect(dropped.get_by_text("Calls of the log without")).to_be_hidden()
    expect(recordings.get_by_role("row", name="night.wav")).to_be_visible()
    page.reload()
    expect(refusal).to_be_visible()
    for name in names:
        row = recordings.get_by_role("row", name=name)
        expect(row.get_by_text("Judged")).to_be_visible(timeout=1000 * DEMO_WITHIN_S)
        expect(row.get_by_role("link")).to_be_visible()
    check_accessibility(page)


def test_a_recording_with_one_channel_is_pointed_out(page_of: Callable[..., Page]) -> None:
    page = page_of("reviewer")
    page.goto("/add")
    page.get_by_label("Drop files here").set_input_files([SILENCE, CALL])
    dropped = page.get_by_role("region", name="Dropped here")
    for file, is_visible in ((SILENCE, True), (CALL, False)):
        row = dropped.get_by_role("listitem").filter(has_text=file.name)
        notice = row.get_by_text("This recording has one channel")
        expect(notice).to_be_visible(visible=is_visible)
    check_accessibility(page)


def test_two_files_of_one_call_become_one_recording(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    split_call(tmp_path, "noon-out.wav", "noon-in.wav")
    files = [tmp_path / "noon-in.wav", tmp_path / "noon-out.wav"]
    page = page_of("reviewer")
    page.goto("/add")
    page.get_by_label("Drop files here").set_input_files(files)
    dropped = page.get_by_role("region", name="Dropped here")
    expect(dropped.get_by_text("Refused: Which side is the agent's depends")).to_be_visible()
    page.get_by_text("Options for recordings").click()
    page.get_by_label("Direction of calls").select_option("inbound")
    page.get_by_label("Drop files here").set_input_files(files)
    told = "The agent is heard in noon-out.wav, the customer in noon-in.wav."
    expect(dropped.get_by_text(told)).to_be_visible()
    expect(dropped.get_by_role("link", name="Open the evaluation")).to_be_visible(
        timeout=1000 * DEMO_WITHIN_S
    )
    check_accessibility(page)
    page.reload()
    recordings = page.get_by_role("region", name="Recordings of the last 24 hours")
    expect(recordings.get_by_role("row", name="noon.wav")).to_have_count(1)
    dropped.get_by_role("button", name="Forget refused files").click()
    expect(dropped).to_be_hidden()


def test_more_files_than_one_request_names_are_all_taken(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    page = page_of("reviewer")
    page.goto("/add")
    files = [
        tmp_path / f"{number:03}-{'x' * 220}-{side}.wav"
        for side in ("agent", "customer")
        for number in range(200)
    ]
    for file in files:
        file.touch()
    page.get_by_label("Drop files here").set_input_files(files)
    rows = page.get_by_role("region", name="Dropped here").get_by_role("listitem")
    expect(rows).to_have_count(200)
    expect(rows.get_by_text("Two sides of one call")).to_have_count(200)
    page.get_by_role("button", name="Forget refused files").click()


def test_a_table_with_a_bad_line_is_imported_after_a_dry_run(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "chats.csv"
    table.write_text(TABLE)
    page = page_of("reviewer")
    page.goto("/add")
    page.get_by_label("Drop files here").set_input_files(table)
    expect(page.get_by_text("Checked, with errors").first).to_be_visible()
    page.get_by_role("link", name="Check of chats.csv").click()
    errors = page.get_by_role("region", name="Errors")
    expect(errors).to_contain_text("somebody")
    check_accessibility(page)
    counts = page.get_by_role("definition").all_inner_texts()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import")
    expect(errors).to_contain_text("somebody")
    assert page.get_by_role("definition").all_inner_texts() == counts
    check_accessibility(page)


def test_tickets_are_read_by_the_preset_of_their_system(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "tickets.csv"
    table.write_text(
        "ticket_id,campaign,author_role,html_body,public,created_at\n"
        "t-35,Late parcels,end-user,<p>My parcel is late.</p>,true,2026-07-01 09:30:00 UTC\n"
        "t-35,Late parcels,agent,<p>A private note.</p>,false,2026-07-01 09:31:00 UTC\n"
    )
    page = page_of("reviewer")
    page.goto("/add")
    page.get_by_text("Options for conversation files").click()
    page.get_by_label("Columns of CSV are those of").select_option("zendesk")
    check_accessibility(page)
    page.get_by_label("Drop files here").set_input_files(table)
    page.get_by_role("link", name="Check of tickets.csv").click()
    expect(page.get_by_role("region", name="Errors")).to_contain_text("no campaign of this name")
    check_accessibility(page)
    page.get_by_role("button", name="Check it again, and create them").click()
    expect(page.get_by_text("The records with errors are left out")).to_be_hidden()
    expect(page.get_by_role("region", name="Errors")).to_have_count(0)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import")


def test_columns_of_any_table_are_chosen_and_its_conversations_are_there(
    page_of: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "desk.csv"
    raw = "x" * 100_000  # Too large for a form: the file is uploaded.
    table.write_text(
        "Ticket,By,Body,When,Mood,Raw\n"
        f"desk-1,Kunde,My parcel is late and nobody writes to me.,2026-07-01 09:30,bad,{raw}\n"
        f"desk-1,Rep,I am sorry. It comes tomorrow.,2026-07-01 11:30,bad,{raw}\n"
        + f"desk-2,Kunde,Hello?,2026-07-02 10:00,good,{raw}\n"
        * 10
    )
    page = page_of("reviewer")
    page.goto("/add")
    page.get_by_label("Drop files here").set_input_files(table)
    expect(page.get_by_text("Checked, with errors").first).to_be_visible()
    page.get_by_role("link", name="Check of desk.csv").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What each column holds")
    expect(page.get_by_label("Body", exact=True)).to_have_value("text")
    preview = page.get_by_role("region", name="The first conversations")
    expect(preview).to_contain_text("The role of 'Kunde' is unknown")
    check_accessibility(page)
    page.get_by_label("Kunde").select_option("customer")
    page.get_by_label("Rep").select_option("agent")
    page.get_by_label("Mood").select_option("label")
    page.get_by_role("button", name="Show these choices").click()
    expect(preview.get_by_role("row", name="Agent")).to_contain_text("It comes tomorrow.")
    expect(page.get_by_label("Mood")).to_have_value("label")
    check_accessibility(page)
    page.get_by_label("Keep these choices under a name").fill("Our desk")
    page.get_by_role("button", name="Check the file").click()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import")
    page.get_by_role("link", name="All evaluations, latest first").click()
    page.goto("/evaluations?days=all&q=desk-1")
    expect(page.get_by_role("row", name="1 Jul 2026, 09:30")).to_be_visible()
    page.goto("/add")
    page.get_by_text("Options for conversation files").click()
    page.get_by_label("Columns of CSV are those of").select_option("Our desk")
