#!/usr/bin/env python3
"""Draws a flame graph (Gregg 2016) of what `perf` has recorded, as one small SVG.

    perf record -m 16384 -a -e cpu-clock -F 499 --call-graph dwarf,8192 \\
        bcl perf latency --hosts netns --device udp --size 8 --iterations 300000
    perf script --no-inline -F comm,ip,sym --comm bcl | scripts/flame.py 'TITLE' > docs/flame-8-bytes.svg

A box is a function, as wide as its share of the samples; below it is who called it. Boxes narrower than a pixel are
left out, names of Rust are shortened to their last two parts, and what comes before the program's own loop is cut off.
Needs nothing but Python.
"""
import re
import sys
from html import escape

WIDTH, ROW, LEFT_OUT = 1200, 17, 1.0
BEFORE = re.compile(r"\[unknown\]|_start|__libc_start|main$|lang_start|__rust_begin|rank::play")
COLOURS = {"kernel": "#8fb6d9", "libc": "#c9c9c9", "check": "#e6a15c", "ours": "#9bcf8f"}


def main():
    title = sys.argv[1] if len(sys.argv) > 1 else "Where the time goes"
    tree = new_node()
    for stack in stacks(sys.stdin):
        add(tree, stack)
    if not tree["count"]:
        sys.exit("no samples: is the --comm of `perf script` the program's name?")
    print(draw(tree, title))


def stacks(lines):
    """Each sample as names from the outermost caller to the function that ran."""
    frames, begun = [], False
    for line in lines:
        if not line.strip():
            if begun and frames:
                yield trimmed(frames[::-1])
            frames, begun = [], False
        elif line[0].isspace():
            name = line.split(None, 1)[1].strip() if len(line.split(None, 1)) > 1 else "?"
            address = line.split(None, 1)[0]
            frames.append((short(name), kind(address, name)))
        else:
            begun = True
    if frames:
        yield trimmed(frames[::-1])


def trimmed(frames):
    while len(frames) > 1 and BEFORE.search(frames[0][0]):
        frames = frames[1:]
    return frames


def kind(address, name):
    if address.startswith("ffff"):
        return "kernel"
    if re.search(r"bcl_wire", name):
        return "check"
    return "ours" if "::" in name else "libc"


def short(name):
    name = re.sub(r"\+0x[0-9a-f]+$", "", name)
    name = re.sub(r"<impl ([^<>]*)>", lambda found: found.group(1).split("::")[-1], name)
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return "::".join([part for part in name.split("::") if part][-2:])


def new_node():
    return {"count": 0, "children": {}}


def add(tree, stack):
    tree["count"] += 1
    for frame in stack:
        tree = tree["children"].setdefault(frame, new_node())
        tree["count"] += 1


def draw(tree, title):
    total, boxes, deepest = tree["count"], [], 0
    todo = [(tree, 0.0, 0)]
    while todo:
        node, x, depth = todo.pop()
        for (name, of), child in sorted(node["children"].items()):
            width = child["count"] * WIDTH / total
            if width >= LEFT_OUT:
                boxes.append((x, depth, width, name, of, child["count"]))
                deepest = max(deepest, depth)
                todo.append((child, x, depth + 1))
            x += width
    height = (deepest + 3) * ROW + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="6" y="14" font-size="13">{escape(title)}</text>',
    ]
    for index, (of, colour) in enumerate(COLOURS.items()):
        x = WIDTH - 300 + 72 * index
        out.append(f'<rect x="{x}" y="4" width="11" height="11" fill="{colour}"/><text x="{x + 15}" y="14">{of}</text>')
    for x, depth, width, name, of, count in boxes:
        y = height - (depth + 1) * ROW - 2
        shown = name[: int((width - 4) / 6.8)] if width > 22 else ""
        out.append(
            f'<g><title>{escape(name)} {100 * count / total:.1f} %</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.4, 0.4):.1f}" height="{ROW - 1}" fill="{COLOURS[of]}"/>'
            + (f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(shown)}</text>' if shown else "")
            + "</g>"
        )
    return "\n".join(out + ["</svg>"])


main()
