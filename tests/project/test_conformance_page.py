"""The page of the conformance run, of results made by hand."""

from __future__ import annotations

from comparing import Block
from page import page, put_section, section_of, write_page
from refusals import REFUSALS, Refusal
from results import Result
from rulesets import small_rules
from run import Run

from shallowrules.verification.engines import ENGINES

YEARS = Refusal(
    "mysql",
    "integer",
    "boundaries",
    "YEAR",
    "A YEAR is a year of two digits.",
    "SELECT y <= 7",
)


def result(title, rows, mismatches=(), refused=()):
    made = Result(title, "1.0")
    made.rows.update(rows)
    made.mismatches.update(mismatches)
    made.refused.update(refused)
    return made


def test_every_number_and_every_refusal_is_on_the_page():
    rows = {("boundaries", "INT"): 1200, ("NaN", "INT"): 7}
    mariadb = result("MariaDB", rows, {("NaN", "INT"): 2}, {("boundaries", "YEAR"): 30})
    mariadb.reasons["boundaries", "YEAR"] = YEARS
    mariadb.answers[YEARS] = "1"
    spark = result("Spark", {("boundaries", "INT"): 5})
    lines = page([mariadb, spark]).splitlines()
    assert "| MariaDB | 1.0 | – | 1,207 | 2 | 30 | 2 of 3 (66.7%) |" in lines
    assert "| Spark | 1.0 | – | 5 | 0 | 0 | 1 of 1 (100.0%) |" in lines
    assert "| boundaries | 1,200 (30 refused) | 5 |" in lines
    assert "| NaN | 7 (2 **mismatches**) | – |" in lines
    start = lines.index("- **MariaDB.** A YEAR is a year of two digits.")
    assert lines[start + 1 : start + 3] == [
        "  Tried: `SELECT y <= 7`; its answer: `1`.",
        "  30 rows: boundaries in `YEAR`.",
    ]
    assert "Nothing." not in lines


def test_a_refusal_whose_rows_another_one_names_is_not_on_the_page():
    mariadb = result("MariaDB", {("NaN", "INT"): 7})
    mariadb.answers[YEARS] = "1"
    assert YEARS.reason not in page([mariadb])


def test_a_limit_is_shown_by_the_answer_to_the_last_statement():
    [limit] = [each for each in REFUSALS if each.dialect == "sqlite"]
    with ENGINES["sqlite"].open() as engine:
        run = Run(engine, "sqlite", ["usual"])
        run.refuse(Block(small_rules(), [], [], [], {}, "usual"), [], limit)
    assert run.results["usual"].answers == {limit: "1"}


def test_a_refusal_without_a_statement_is_named():
    spark = result("Spark", {}, refused={("NaN", "FLOAT"): 3})
    assert "- **Spark.** The exporter refuses the rules: NaN in `FLOAT`." in page([spark]).splitlines()
    assert "Nothing.\n" in page([result("Spark", {("NaN", "FLOAT"): 3})])


def test_sections_of_other_scripts_stay_and_are_renewed(tmp_path):
    path = tmp_path / "page.md"
    write_page(path, [result("Spark", {("NaN", "FLOAT"): 3})])
    alone = path.read_text()
    put_section(path, "Names", ["first", "line"])
    text = path.read_text()
    assert text.index("## Names\n\nfirst\nline\n\n## Run it again") > text.index("## Types of columns")
    assert text.replace("## Names\n\nfirst\nline\n\n", "") == alone
    write_page(path, [result("Spark", {("NaN", "FLOAT"): 3})])
    assert path.read_text() == text
    put_section(path, "Names", ["second"])
    assert path.read_text() == text.replace("first\nline", "second")
    assert section_of(path, "Names") == ["second"]
    assert section_of(path, "Nothing") == []
