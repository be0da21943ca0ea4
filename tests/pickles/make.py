"""Writes a pickle of rules and of models: ``python make.py FOLDER``, run with the version of shallowrules to be kept.

The labels that it gave are in labels.json beside them. The files are never rewritten: users have such files. Those in
0.1-flat were written before modules moved into folders.
"""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shallowrules import ExplainableKMeans


def frame() -> pd.DataFrame:
    """Return the table that all were fitted on: numbers and categories."""
    random = np.random.default_rng(5)
    group = np.arange(60) % 3
    return pd.DataFrame(
        {
            "months": 12 * group + random.integers(0, 6, 60),
            "amount": np.round(random.normal(size=60) + 4 * group, 2),
            "contract": np.array(["none", "monthly", "yearly"], object)[group],
        }
    )


def columns(name: str) -> list[str]:
    """Return the columns of the table that the model of a name was fitted on."""
    return ["months", "amount", "contract"] if name in ("categories", "rules") else ["months", "amount"]


def models() -> dict[str, Any]:
    """Return a model of each kind, by its name, not fitted."""
    clusterer = make_pipeline(StandardScaler(), PCA(1), KMeans(3, n_init=1, random_state=0))
    return {
        "own": ExplainableKMeans(3, scale="minmax", random_state=0),
        "clusterer": ExplainableKMeans(clusterer=clusterer),
        "categories": ExplainableKMeans(3, scale="standard", impute="median", random_state=0),
    }


def main(folder: Path) -> None:
    """Write the pickles and their labels."""
    table = frame()
    fitted = {name: model.fit(table[columns(name)]) for name, model in models().items()}
    rules = fitted["categories"].rules_
    labels = {name: model.predict(table[columns(name)]).tolist() for name, model in fitted.items()}
    labels["rules"] = rules.assign(table).tolist()
    for name, made in {**fitted, "rules": rules}.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(made, protocol=4))
    joblib.dump(fitted["own"], folder / "own.joblib", compress=3)
    (folder / "labels.json").write_text(json.dumps(labels) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
