"""`sojourn gate` over the history of a repository: ten commits of a Go service, two of them slower.

Usage: sudo .venv/bin/python bench/compare/commits.py [--within 4m] [--out FILE]

A small search over HTTP is written into a Git repository, commit by commit, and built by `go`. Each
commit is measured against the one before it. Commits 3 (search without case) and 8 (indented JSON)
are slower by design; the others change names, words and a header. Printed are exit code, seconds,
load of the machine and the answer of each gate. Exit 1: one of the two was missed, or another
commit was called worse. A gate that cannot decide is neither. Rows are JSON Lines.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
SLOWER = (3, 8)
MAIN = """package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"sort"
	"strings"
)

type Item struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags"`
}

var items []Item

func find(query string) []Item {
	var out []Item
	for _, it := range items {
		if strings.Contains(it.Name, query) {
			out = append(out, it)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Price < out[j].Price })
	return out
}

func handle(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(find("7"))
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func main() {
	for i := 0; i < 300; i++ {
		name, price := fmt.Sprintf("item %d", i*37%300), float64(i*7919%1000)
		items = append(items, Item{i, name, price, []string{"a", "b", fmt.Sprint(i % 9)}})
	}
	http.HandleFunc("/", handle)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""
LOWER = "strings.Contains(strings.ToLower(it.Name), strings.ToLower(query))"
UPPER = "strings.Contains(strings.ToUpper(it.Name), strings.ToUpper(query))"
#: Of each commit: its subject, a piece of the source, and what comes in its place.
COMMITS = (
    ("name the query", 'Marshal(find("7"))', "Marshal(find(query))"),
    ("a header", "\tw.Write(body)", '\tw.Header().Set("X-Shop", "1")\n\tw.Write(body)'),
    ("search without case", "strings.Contains(it.Name, query)", f"{UPPER} || {LOWER}"),
    ("an empty list is [], not null", "var out []Item", "out := []Item{}"),
    ("no internals in errors", "err.Error(), 500", '"internal", 500'),
    ("a comment", "func find(", "// find has the items of a query, cheapest first.\nfunc find("),
    ("names in the comparison", "out[i].Price < out[j].Price", "cheap(out[i], out[j])"),
    ("indented JSON for people", "Marshal(find(query))", 'MarshalIndent(find(query), "", "  ")'),
    ("version 2 of the header", '"X-Shop", "1"', '"X-Shop", "2"'),
    ("a line in the log", "\thttp.HandleFunc", '\tlog.Println("up")\n\thttp.HandleFunc'),
)
#: What two of them need besides.
WITH = {
    "name the query": ("func handle(", 'const query = "7"\n\nfunc handle('),
    "names in the comparison": (
        "func handle(",
        "func cheap(a, b Item) bool { return a.Price < b.Price }\n\nfunc handle(",
    ),
}


def history(folder: Path) -> list[Path]:
    """The repository with its commits; the program of each, the first one included."""
    source = folder / "shop" / "main.go"
    source.parent.mkdir()

    def call(*argv: str) -> None:
        subprocess.run(argv, cwd=source.parent, check=True, timeout=300)

    call("git", "init", "--quiet")
    (source.parent / "go.mod").write_text("module shop\n\ngo 1.21\n")
    text, programs = MAIN, []
    for number, (subject, old, new) in enumerate((("a search", "", ""), *COMMITS)):
        for before, after in ((old, new), WITH.get(subject, ("", ""))):
            assert before in text, f"{subject}: {before!r} is not in the source"  # noqa: S101
            text = text.replace(before, after, 1) if before else text
        source.write_text(text)
        programs.append(folder / f"{number:02}")
        call("go", "build", "-o", str(programs[-1]))
        call("git", "add", "-A")
        who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        call("git", *who, "commit", "--quiet", "-m", subject)
    return programs


def gate(before: Path, after: Path, within: str, folder: Path) -> dict[str, object]:
    """One commit against the one before it."""
    begun, markdown = time.monotonic(), folder / f"{after.name}.md"
    words = ["--baseline", f"{before} {{port}}", "--candidate", f"{after} {{port}}"]
    words += ["--within", within, "--quiet", "--force", "--yes", "--markdown", str(markdown)]
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "gate", *words, "--results", str(folder / "results")],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    return {
        "commit": int(after.name),
        "code": done.returncode,
        "seconds": round(time.monotonic() - begun, 1),
        "load": os.getloadavg()[0],
        "markdown": markdown.read_text() if markdown.exists() else done.stderr[-500:],
    }


def main() -> int:
    """Ten gates; exit 1 if one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--within", default="4m")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    parser.add_argument("--out", type=Path, default=HERE / "runs" / f"commits-{stamp}.jsonl")
    args = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="gate-commits-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        programs = history(folder)
        for before, after in itertools.pairwise(programs):
            row = gate(before, after, args.within, folder)
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            number, code = row["commit"], row["code"]
            wrong += code == 1 if number not in SLOWER else code == 0
            wrong += code not in (0, 1, 3)
            first = str(row["markdown"]).splitlines()[0] if row["markdown"] else ""
            print(f"{number:>2} {COMMITS[int(after.name) - 1][0]:30} {code} {first}", flush=True)
    print(f"wrong: {wrong} of {len(COMMITS)}; rows: {args.out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
