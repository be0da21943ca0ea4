"""Writes a rules.json of every kind: ``python make.py FOLDER``, run with the version of shallowrules to be kept.

The documents were written by the first version that wrote this format. They are never rewritten: users have
such files.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shallowrules import ExplainableKMeans, RuleSet, Tree, rules_of_tree
from shallowrules.cli.commands import shallowrules


def shop(n_rows: int = 120) -> pd.DataFrame:
    """Return a table of all kinds of columns."""
    random = np.random.default_rng(11)
    group = random.integers(0, 4, n_rows)
    return pd.DataFrame(
        {
            "contract": np.array(["Two year", "Month-to-month", "One year", "One year"], object)[group],
            "paid": (group < 2) ^ (random.random(n_rows) < 0.05),
            "months": 12 * group + random.integers(0, 6, n_rows),
            "size": np.array(["S", "M", "L", "XL"], object)[group],
            "amount": np.round(random.normal(size=n_rows) + group, 2),
        }
    )


def by_command_line(folder: Path, name: str, table: str, *options: str) -> None:
    """Fit a table that is text, as a user of the command line does."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "table.csv")
        path.write_text(table, encoding="utf-8")
        arguments = ["fit", str(path), *options, "-o", str(folder / f"{name}.json")]
        result = CliRunner().invoke(shallowrules, arguments)
    assert result.exit_code == 0, result.output


def main(folder: Path) -> None:
    """Write the documents."""
    frame = shop()
    numbers = frame[["months", "amount"]]
    weight = np.linspace(0.0, 2.5, len(frame))
    centers = np.array([[3.0, 0.0], [15.0, 1.0], [27.0, 2.0], [39.0, 3.0]])
    labels = np.where(frame["months"] % 7 == 0, None, np.where(frame["amount"] > 1.5, "it's large", "small"))

    def save(name: str, rules: RuleSet) -> None:
        rules.to_json(folder / f"{name}.json")

    save("numbers", ExplainableKMeans(clusterer=centers).fit(numbers).rules_)
    save("weights", ExplainableKMeans(clusterer=centers).fit(numbers, sample_weight=weight).rules_)
    save("leaf", ExplainableKMeans(clusterer=centers[:1]).fit(numbers).rules_)
    save("labels", ExplainableKMeans(clusterer=labels).fit(frame[["contract", "amount"]]).rules_)
    save(
        "categories",
        ExplainableKMeans(clusterer=frame["months"] // 12).fit(frame[["contract", "paid", "amount"]]).rules_,
    )
    transformer = make_column_transformer(
        (OrdinalEncoder(categories=[["S", "M", "L", "XL"]]), ["size"]), (OneHotEncoder(), ["contract"])
    )
    ordered = ExplainableKMeans(
        clusterer=np.array([[0.0, 0, 0, 1], [1, 1, 0, 0], [2.5, 0, 1, 0]]), transformer=transformer
    )
    save("ordered", ordered.fit(frame).rules_)
    cart = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(numbers.to_numpy(), frame["contract"])
    save("cart", rules_of_tree(Tree.from_sklearn(cart), numbers, reference=frame["contract"]))
    rows = [
        f"{'NA' if i % 9 == 4 else str(amount).replace('.', ',')};{'' if i % 11 == 3 else size};{months}"
        for i, (amount, size, months) in enumerate(zip(frame["amount"], frame["size"], frame["months"], strict=True))
    ]
    text = "amount;size;months\n" + "\n".join(rows) + "\n"
    options = ("--decimal", ",", "--null", "NA", "--null", "", "--impute", "median", "--exclude", "months")
    by_command_line(folder, "conversion", text, "-k", "3", "--scale", "minmax", *options)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
