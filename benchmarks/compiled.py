"""The functions of a row in C, Go and Java beside those that m2cgen makes of the same tree, in one program for each.

Both get doubles in the form that they take: ours a struct for each row, m2cgen's an array. A ratio is the lowest time
of several alternating rounds over all rows, divided by that of m2cgen's function; every label is compared.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import m2cgen
import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from shallowrules.exporters.languages import LanguageOptions
from shallowrules.rules import RuleSet
from shallowrules.verification.runners.languages import TOOLCHAINS

__all__ = ["compare_compiled", "compiled_languages"]

ROUNDS = 31

C = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "rules.h"
%(theirs)s
static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return 1e9 * (double)at.tv_sec + (double)at.tv_nsec;
}

int main(void)
{
    double best[2] = {1e300, 1e300};
    double *inputs = malloc(sizeof(double) * %(n)d * %(d)d);
    struct assign_cluster_row *rows = malloc(sizeof *rows * %(n)d);
    volatile double kept;
    if (fread(inputs, sizeof(double) * %(d)d, %(n)d, stdin) != %(n)d) return 2;
    for (long i = 0; i < %(n)d; i++) {
        const double *x = inputs + i * %(d)d;
%(fill)s
        if (assign_cluster(&rows[i]) != (int)score((double *)x)) return 1;
    }
    for (int round = 0; round < %(rounds)d; round++) {
        double start = now(), sum = 0;
        for (long i = 0; i < %(n)d; i++) sum += assign_cluster(&rows[i]);
        kept = sum;
        if (now() - start < best[0]) best[0] = now() - start;
        start = now(), sum = 0;
        for (long i = 0; i < %(n)d; i++) sum += score(inputs + i * %(d)d);
        kept = sum;
        if (now() - start < best[1]) best[1] = now() - start;
    }
    (void)kept;
    printf("%%.17g %%.17g\\n", best[0], best[1]);
    return 0;
}
"""

GO = """package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"labels/rules"
)

%(theirs)s

var kept float64

func main() {
	held, _ := io.ReadAll(os.Stdin)
	inputs := make([][]float64, %(n)d)
	rows := make([]rules.Row, %(n)d)
	for i := range inputs {
		x := make([]float64, %(d)d)
		for j := range x {
			x[j] = math.Float64frombits(binary.LittleEndian.Uint64(held[8*(i*%(d)d+j):]))
		}
		inputs[i] = x
%(fill)s
		if label, _ := rules.AssignCluster(&rows[i]); label != int(score(x)) {
			os.Exit(1)
		}
	}
	best := [2]float64{1e300, 1e300}
	for round := 0; round < %(rounds)d; round++ {
		start, sum := time.Now(), 0.0
		for i := range rows {
			label, _ := rules.AssignCluster(&rows[i])
			sum += float64(label)
		}
		kept = sum
		best[0] = math.Min(best[0], float64(time.Since(start)))
		start, sum = time.Now(), 0.0
		for i := range inputs {
			sum += score(inputs[i])
		}
		kept = sum
		best[1] = math.Min(best[1], float64(time.Since(start)))
	}
	fmt.Println(best[0], best[1])
}
"""

JAVA = """
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;

public final class Main {
    static volatile double kept;

    static double ours(Rules.Row[] rows) {
        double sum = 0;
        for (Rules.Row row : rows) sum += Rules.assignCluster(row);
        return sum;
    }

    static double theirs(double[][] inputs) {
        double sum = 0;
        for (double[] x : inputs) sum += Model.score(x);
        return sum;
    }

    public static void main(String[] arguments) throws java.io.IOException {
        DoubleBuffer held = ByteBuffer.wrap(System.in.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer();
        double[][] inputs = new double[%(n)d][%(d)d];
        Rules.Row[] rows = new Rules.Row[%(n)d];
        for (int i = 0; i < %(n)d; i++) {
            double[] x = inputs[i];
            held.get(x);
            rows[i] = new Rules.Row();
%(fill)s
            if (Rules.assignCluster(rows[i]) != (int) Model.score(x)) System.exit(1);
        }
        double[] best = {1e300, 1e300};
        for (int round = 0; round < %(rounds)d; round++) {
            long start = System.nanoTime();
            kept = ours(rows);
            best[0] = Math.min(best[0], System.nanoTime() - start);
            start = System.nanoTime();
            kept = theirs(inputs);
            best[1] = Math.min(best[1], System.nanoTime() - start);
        }
        System.out.println(best[0] + " " + best[1]);
    }
}
"""


@dataclass(frozen=True)
class Program:
    """A program of both functions: its file, its text, and how a field is filled and it is compiled and run."""

    file: str
    text: str
    field: str
    build: tuple[str, ...]
    run: tuple[str, ...]


PROGRAMS: Mapping[str, Program] = {
    "c": Program(
        "main.c", C, "rows[i].{field} = x[{j}];", ("cc", "-std=gnu99", "-O2", "-o", "main", "main.c"), ("./main",)
    ),
    "go": Program("main.go", GO, "rows[i].{field} = x[{j}]", ("go", "build", "-o", "main", "main.go"), ("./main",)),
    "java": Program("Main.java", JAVA, "rows[i].{field} = x[{j}];", ("javac", "Main.java"), ("java", "Main")),
}


def compiled_languages() -> list[str]:
    """Return the languages whose compilers are installed."""
    return [name for name in PROGRAMS if shutil.which(TOOLCHAINS[name].program)]


def compare_compiled(
    rules: RuleSet, regressor: DecisionTreeRegressor, X: NDArray[np.float64], names: list[str]
) -> dict[str, float]:
    """Return the time of our function divided by that of m2cgen's, by the language."""
    return {name: _compare(name, rules, regressor, X, names) for name in compiled_languages()}


def _compare(
    name: str, rules: RuleSet, regressor: DecisionTreeRegressor, X: NDArray[np.float64], names: list[str]
) -> float:
    program = PROGRAMS[name]
    exporter = TOOLCHAINS[name].exporter()
    inputs = exporter.context(rules, LanguageOptions())["inputs"]
    fill = "\n".join(program.field.format(field=each["field"], j=names.index(each["column"])) for each in inputs)
    theirs = {"c": m2cgen.export_to_c, "go": m2cgen.export_to_go, "java": m2cgen.export_to_java}[name](regressor)
    with tempfile.TemporaryDirectory(prefix="shallowrules-functions-") as folder:
        place = Path(folder, {"c": "rules.h", "go": "rules/rules.go", "java": "Rules.java"}[name])
        place.parent.mkdir(exist_ok=True)
        place.write_text(exporter.export(rules), encoding="utf-8")
        Path(folder, "Model.java").write_text(theirs, encoding="utf-8")
        Path(folder, "go.mod").write_text("module labels\n\ngo 1.18\n", encoding="utf-8")
        facts = {"theirs": theirs, "fill": fill, "n": len(X), "d": X.shape[1], "rounds": ROUNDS}
        Path(folder, program.file).write_text(program.text % facts, encoding="utf-8")
        subprocess.run(program.build, cwd=folder, check=True)
        given = np.ascontiguousarray(X, dtype="<f8").tobytes()
        done = subprocess.run(program.run, cwd=folder, input=given, capture_output=True, check=True)
    ours, others = map(float, done.stdout.split())
    return ours / others
