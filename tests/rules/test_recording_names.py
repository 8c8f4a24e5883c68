"""Names of recordings: those of telephone systems in their true shapes, and patterns of users."""

import pytest

from app.imports.formats.file_names import NamePattern
from app.imports.formats.records import Unreadable

UUID = "8b7a4d1e-3c52-4f9a-9b1d-0c6f2e7a5d34"
SID = "RE" + "0a1b2c3d" * 4


def understood(pattern: str, name: str, **directions: str) -> dict[str, str]:
    return NamePattern(pattern, directions).values_of(name)


@pytest.mark.parametrize(
    ("system", "name", "fields"),
    [
        (
            "freepbx",
            "2025/03/27/out-08215550163-3201-20250327-092517-1743042317.12206.wav",
            ("outbound", "3201", "08215550163", "20250327T092517", "1743042317.12206"),
        ),
        (
            "freepbx",
            "exten-3201-08215550163-20250327-092517-1743042317.12206.wav",
            ("inbound", "3201", "08215550163", "20250327T092517", "1743042317.12206"),
        ),
        (
            "freepbx",
            "force-08215550163-3201-20250327-092517-1743042317.12206.wav",
            ("outbound", "3201", "08215550163", "20250327T092517", "1743042317.12206"),
        ),
        (
            "freepbx",
            "q-400-+498215550163-20250327-092517-1743042317.12206.WAV",
            ("inbound", None, "+498215550163", "20250327T092517", "1743042317.12206"),
        ),
        (
            "freepbx",
            "external-3201-08215550163-20250327-092517-pbx-1-1743042317.12206.wav",
            ("inbound", "3201", "08215550163", "20250327T092517", "pbx-1-1743042317.12206"),
        ),
        (
            "freepbx",
            "internal-3201-3202-20250327-092517-1743042317.12206.wav",
            ("unknown", None, None, "20250327T092517", "1743042317.12206"),
        ),
        (
            "fusionpbx",
            f"example.com/archive/2024/Mar/05/{UUID}.wav",
            ("unknown", None, None, "20240305T000000", UUID),
        ),
        ("fusionpbx", f"{UUID}.mp3", ("unknown", None, None, None, UUID)),
        (
            "3cx",
            "101/[Lee, Ann]_101-07700900123_20240312103045(1234).wav",
            ("outbound", "101", "07700900123", "20240312T103045", "1234"),
        ),
        (
            "3cx",
            "[07700900123]_07700900123-101_20240312103045(1234).wav",
            ("inbound", "101", "07700900123", "20240312T103045", "1234"),
        ),
        (
            "3cx",
            "[]_100-0836826436_20190211124709(2).wav",
            ("outbound", "100", "0836826436", "20190211T124709", "2"),
        ),
        (
            "vicidial",
            "FR_S_20051020-103108_3125551212.wav",
            ("unknown", None, "3125551212", "20051020T103108", None),
        ),
        (
            "vicidial",
            "20240312-103045_3125550142-all.mp3",
            ("unknown", None, "3125550142", "20240312T103045", None),
        ),
        (
            "vicidial",
            "20240312-103045_1001_3125550142-all.wav",
            ("unknown", "1001", "3125550142", "20240312T103045", None),
        ),
        ("twilio", f"{SID}.wav", ("unknown", None, None, None, SID)),
        (
            "zoom",
            "GMT20221115-181507_88v27Vl8TzyusVnY6y2uHw_VoiceRecording.mp3",
            ("unknown", None, None, "20221115T181507Z", "88v27Vl8TzyusVnY6y2uHw"),
        ),
        (
            "zoom",
            "call_recording_1234abcd-5678-efab-9012-345678abcdef_20221115181507.mp3",
            ("unknown", None, None, "20221115T181507Z", "1234abcd-5678-efab-9012-345678abcdef"),
        ),
    ],
)
def test_names_of_telephone_systems(system: str, name: str, fields: tuple[str | None, ...]) -> None:
    values = understood(system, name)
    names = ("direction", "executive", "number", "recordedAt", "externalId")
    assert values == {key: value for key, value in zip(names, fields, strict=True) if value}


def test_a_mapped_word_says_the_direction_itself() -> None:
    name = "force-08215550163-3201-20250327-092517-1743042317.12206.wav"
    assert understood("freepbx", name, force="inbound")["direction"] == "force"


@pytest.mark.parametrize(
    ("pattern", "name", "fields"),
    [
        (
            "{direction}_{extension}_{date}_{time}",
            "in_101_2024-03-12_10-30-45.wav",
            {"direction": "in", "executive": "101", "recordedAt": "20240312T103045"},
        ),
        (
            "{date}/{ignore}-{externalId}",
            "a/20240312/x-7.wav",
            {"recordedAt": "20240312T000000", "externalId": "7"},
        ),
        ("{executive}({ignore}-{ignore})", "Ann(a-b).wav", {"executive": "Ann"}),
    ],
)
def test_patterns_of_users(pattern: str, name: str, fields: dict[str, str]) -> None:
    assert understood(pattern, name) == fields


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("call", "has no {field}"),
        ("{agent}_{date}", "unknown fields (agent)"),
        ("{label.team}", "unknown fields (label.team)"),
        ("{executive}_{extension}", "a field twice"),
        ("{time}", "either recordedAt, or date"),
        ("{recordedAt}_{date}", "either recordedAt, or date"),
    ],
)
def test_a_pattern_that_says_nothing_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(Unreadable) as refused:
        NamePattern(pattern)
    assert says in refused.value.message


@pytest.mark.parametrize(
    "name",
    [
        *("call.wav", "out-1-2-20250327-0925-1.2.wav", "../RE1.wav"),
        "CO_S_20051020-103108_3125551212.wav",  # the customer alone
    ],
)
def test_a_name_of_another_form_is_refused(name: str) -> None:
    for system in ("freepbx", "3cx", "twilio", "vicidial"):
        with pytest.raises(Unreadable):
            understood(system, name)
