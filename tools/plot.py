#!/usr/bin/env python3
"""Draws a result as SVG: what tuning won, per group, or latencies beside those of other engines, per network.

usage: plot.py RESULT.json [-o FILE.svg] [--title TEXT] [--rows N]

RESULT.json is what `frit tune MODEL --json` printed (of several results the first is drawn), or what
`tools/bench/models.py --json` wrote. Needs nothing but Python 3.
"""
import argparse
import json
import pathlib
import sys
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, ROW, BAR, TOP = 900, 300, 170, 34, 11, 84
INK, FAINT, BEFORE, AFTER, PAPER = "#24292f", "#6e7781", "#b6bcc4", "#c4572c", "#ffffff"


def text(x, y, what, size=13, colour=INK, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{escape(what)}</text>'


def bar(x, y, width, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{BAR}" rx="2" fill="{colour}"/>'


def rows_of(result):
    """Equal groups as one row: (what, how many, heuristic ms, tuned ms), the most time first."""
    rows = {}
    for g in result["groups"]:
        if g["load_time"] or g["heuristic_ms"] <= 0:
            continue
        row = rows.setdefault((g["work"], g["params"], g["tuned_ms"]), [g["work"], 0, 0.0, 0.0])
        row[1] += 1
        row[2] += g["heuristic_ms"]
        row[3] += g["tuned_ms"]
    return sorted(rows.values(), key=lambda r: -r[2])


def draw(result, title, most):
    rows = rows_of(result)
    if not rows:
        sys.exit("plot.py: the result has no group that was measured")
    shown, rest = rows[:most], rows[most:]
    longest = max(max(r[2], r[3]) for r in shown)
    scale = (WIDTH - LEFT - RIGHT) / longest
    height = TOP + ROW * len(shown) + (64 if rest else 40)
    speed = result["speedup"]
    head = f'{result["before_ms"]:.1f} → {result["after_ms"]:.1f} ms, {speed["median"]:.2f}×'
    note = f'95 % interval {speed["low"]:.2f}–{speed["high"]:.2f}, {speed["pairs"]} runs of each in turns'
    threads = result["threads"]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(title)}: {escape(head)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        text(20, 32, f'{title}, {threads} thread{"" if threads == 1 else "s"}: {head}', 18, weight="bold"),
        text(20, 53, note, 12, FAINT),
        bar(LEFT, TOP - 20, 18, BEFORE),
        text(LEFT + 24, TOP - 10, "heuristic", 12, FAINT),
        bar(LEFT + 100, TOP - 20, 18, AFTER),
        text(LEFT + 124, TOP - 10, "tuned", 12, FAINT),
    ]
    for k, (what, count, before, after) in enumerate(shown):
        y = TOP + ROW * k + 6
        what = what.replace("->", "→")
        out.append(text(LEFT - 12, y + 15, f"{count}× {what}" if count > 1 else what, 12, anchor="end"))
        out.append(bar(LEFT, y, before * scale, BEFORE))
        out.append(bar(LEFT, y + BAR + 1, after * scale, AFTER))
        x = LEFT + max(before, after) * scale + 10
        won = 100 * (1 - after / before)
        out.append(text(x, y + 15, f"{before:.2f} → {after:.2f} ms" + (f"  −{won:.0f} %" if won >= 0.5 else ""), 12, FAINT))
    if rest:
        before, after = sum(r[2] for r in rest), sum(r[3] for r in rest)
        what = f"{sum(r[1] for r in rest)} other groups together: {before:.2f} → {after:.2f} ms"
        out.append(text(LEFT, height - 44, what, 12, FAINT))
    cpu = result["target"].split("/")
    out.append(text(20, height - 12, f"measured by frit tune on {'/'.join(cpu[2:]) or result['target']}", 11, FAINT))
    out.append("</svg>")
    return "\n".join(out) + "\n"


PEERS = ("#6e7f91", "#b6bcc4", "#d5d9de")


def draw_latencies(report, title):
    """Networks one below the other, frit's bar first; each network has its own scale, so that small ones are seen."""
    rows = report["rows"]
    bars = 1 + max(len(row["peers"]) for row in rows)
    step = bars * (BAR + 1) + 16
    height = TOP + step * len(rows) + 34
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        text(20, 32, title, 18, weight="bold"),
        text(20, 53, "milliseconds per run, less is better; each network has a scale of its own", 12, FAINT),
    ]
    x = LEFT
    for name, colour in zip(["frit", *names], [AFTER, *PEERS]):
        out += [bar(x, TOP - 20, 18, colour), text(x + 24, TOP - 10, name, 12, FAINT)]
        x += 48 + 8 * len(name)
    for k, row in enumerate(rows):
        y = TOP + step * k + 6
        threads = row["threads"]
        label = f'{pathlib.Path(row["model"]).stem}, {threads} thread{"" if threads == 1 else "s"}'
        out.append(text(LEFT - 12, y + 14, label, 12, anchor="end"))
        times = [("", row["frit_ms"], AFTER)]
        for name, colour in zip(names, PEERS):
            if name in row["peers"]:
                peer = row["peers"][name]
                times.append((f'  {peer["ratio"]:.2f}× frit', peer["ms"], colour))
        scale = (WIDTH - LEFT - RIGHT) / max(ms for _, ms, _ in times)
        for n, (note, ms, colour) in enumerate(times):
            out.append(bar(LEFT, y + n * (BAR + 1), ms * scale, colour))
            out.append(text(LEFT + ms * scale + 8, y + n * (BAR + 1) + 10, f"{ms:.2f} ms{note}", 11, FAINT))
    out.append(text(20, height - 12, f'{report["machine"]}, {report["when"]}, measured by tools/bench/models.py', 11, FAINT))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--title")
    parser.add_argument("--rows", type=int, default=12)
    args = parser.parse_args()
    report = json.loads(args.result.read_text())
    if "rows" in report:
        svg = draw_latencies(report, args.title or "frit beside other engines")
    elif report["results"]:
        result = report["results"][0]
        svg = draw(result, args.title or pathlib.Path(result["model"]).stem, args.rows)
    else:
        sys.exit("plot.py: the tuning has no result (was it interrupted?)")
    if args.output:
        args.output.write_text(svg)
    else:
        sys.stdout.write(svg)


if __name__ == "__main__":
    main()
