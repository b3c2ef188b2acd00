#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""timeline.py TRACE: draws what `banyan run --trace TRACE` has written as SVG, on standard output.

A row for the root and one for each node, in the order of the places: the phases of its daemon, and below them a bar
for each of its ranks. Spans are drawn from the outermost to the innermost, and labelled where the label fits.
"""
import json
import sys
from html import escape

LEFT, WIDTH, RIGHT, TOP = 70, 780, 20, 10
PHASE, RANK, GAP = 24, 14, 10
CHARACTER = 6.7  # of a monospace font of 11px
RANKS = "#e0e0e0"
COLOURS = ("#9ecae1", "#bcbddc", "#fdae6b", "#a1d99b", "#fdd0a2", "#c6dbef", "#dadaeb", "#c7e9c0")
STYLE = "text{font:11px monospace;fill:#222}rect{stroke:#666;stroke-width:.5}line{stroke:#ddd}svg{background:#fff}"


def read_rows(events):
    """Of each process but `banyan run` itself: its name, the spans of its daemon, and those of its ranks."""
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    rows = []
    for pid in sorted(names):
        if names[pid] == "banyan run":
            continue
        spans = sorted((e for e in events if e["ph"] == "X" and e["pid"] == pid), key=lambda e: (e["ts"], -e["dur"]))
        ranks = [e for e in spans if e["name"].startswith("rank ")]
        ranks.sort(key=lambda e: int(e["name"].split()[1]))
        rows.append((names[pid], [e for e in spans if not e["name"].startswith("rank ")], ranks))
    return rows


def is_covered(span, spans):
    """Whether others, inside it, leave nothing of it to see, as the phases of a job do."""
    inner = sum(e["dur"] for e in spans
                if e is not span and e["ts"] >= span["ts"] and e["ts"] + e["dur"] <= span["ts"] + span["dur"] + 0.01)
    return inner >= 0.99 * span["dur"]


def tick_of(end_us):
    """The distance of marks on the axis, 1, 2 or 5 times a power of ten, of which there are at most ten."""
    step = 1.0
    while True:
        for factor in (1, 2, 5):
            if end_us / (step * factor) <= 10:
                return step * factor
        step *= 10


class Picture:
    def __init__(self, end_us):
        self.scale = WIDTH / end_us
        self.lines = []

    def text(self, x, y, words, anchor="start"):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def bar(self, span, y, height, colour):
        x, width = LEFT + span["ts"] * self.scale, max(span["dur"] * self.scale, 1)
        title = f'{span["name"]}: {span["dur"] / 1000:.2f} ms from {span["ts"] / 1000:.2f} ms on'
        self.lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}">'
                          f'<title>{escape(title)}</title></rect>')
        if len(span["name"]) * CHARACTER + 6 <= width:
            self.text(x + 4, y + height / 2 + 4, span["name"])

    def axis(self, end_us, bottom):
        """Drawn first: the bars cover its lines."""
        step = tick_of(end_us)
        for number in range(int(end_us / step) + 1):
            x = LEFT + number * step * self.scale
            self.lines.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
            self.text(x, bottom + 16, f"{number * step / 1000:g}", "middle")
        self.text(LEFT - 10, bottom + 16, "ms", "end")

    def legend(self, colours, y):
        """Returns where it ends."""
        x = LEFT
        for name, colour in colours.items():
            width = 18 + len(name) * CHARACTER + 20
            if x + width > LEFT + WIDTH and x > LEFT:
                x, y = LEFT, y + 20
            self.lines.append(f'<rect x="{x:.1f}" y="{y}" width="12" height="12" fill="{colour}"/>')
            self.text(x + 18, y + 10, name)
            x += width
        return y + 22


def draw(rows):
    every = [span for _, phases, ranks in rows for span in phases + ranks]
    end_us = max(span["ts"] + span["dur"] for span in every)
    names = dict.fromkeys(span["name"] for _, phases, _ in rows for span in phases if not is_covered(span, phases))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    bottom = TOP + sum(PHASE + RANK * len(ranks) + GAP for _, _, ranks in rows)
    picture = Picture(end_us)
    picture.axis(end_us, bottom)
    y = TOP
    for name, phases, ranks in rows:
        picture.text(LEFT - 10, y + PHASE / 2 + 4, name, "end")
        for span in phases:
            if span["name"] in colours:
                picture.bar(span, y, PHASE, colours[span["name"]])
        y += PHASE
        for span in ranks:
            picture.bar(span, y, RANK, RANKS)
            y += RANK
        y += GAP
    height = picture.legend({**colours, "rank": RANKS} if any(ranks for _, _, ranks in rows) else colours, bottom + 28)
    width = LEFT + WIDTH + RIGHT
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}">', f"<style>{STYLE}</style>",
                      f"<title>the phases of {len(rows) - 1} nodes</title>", *picture.lines, "</svg>"])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: timeline.py TRACE")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            events = json.load(file)
    except OSError as error:
        sys.exit(f"timeline.py: cannot read {sys.argv[1]}: {error.strerror}")
    except ValueError as error:
        sys.exit(f"timeline.py: {sys.argv[1]} is not JSON: {error}")
    rows = read_rows(events) if isinstance(events, list) else []
    if not any(phases for _, phases, _ in rows):
        sys.exit(f"timeline.py: {sys.argv[1]} has no phases of nodes; `banyan run --trace` writes them")
    print(draw(rows))


main()
