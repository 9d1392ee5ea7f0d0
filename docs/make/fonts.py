"""Make server/static/fonts from LXGW WenKai: ``python docs/make/fonts.py LXGWWenKai-Bold.ttf``.

The font is in the package fonts-lxgw-wenkai of Debian (OFL 1.1); subsetting needs fonttools and brotli.
Characters of headings of pages are in one file, those of the documentation in a second, and those of the
names of concepts in a third; a browser fetches these only for pages that show them.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FONTS = ROOT / "server/static/fonts"
LATIN = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü·—…“”‘’，。、；：？！（）《》×–→"
)


def han(text: str) -> set[str]:
    """Return the Chinese characters of a text."""
    return {item for item in text if "\u3400" <= item <= "\u9fff"}


def headings() -> set[str]:
    """Return the characters of the headings of all pages in Chinese."""
    catalogue = (ROOT / "server/i18n/zh/LC_MESSAGES/messages.po").read_text("utf-8")
    texts = dict(
        re.findall(
            r'msgid "([^"]+)"\n(?:msgid_plural[^\n]*\n)?msgstr(?:\[0\])? "([^"]*)"', catalogue
        )
    )
    found: set[str] = set()
    for path in (ROOT / "server/templates").rglob("*.html"):
        page = path.read_text("utf-8")
        for part in re.findall(r"<(?:h1|h2)\b.*?</(?:h1|h2)>", page, re.DOTALL):
            for key, more in re.findall(r"""t\(["']([\w.-]+)["']\s*(~?)""", part):
                found |= {
                    c
                    for name, text in texts.items()
                    if name == key or (more and name.startswith(key))
                    for c in han(text)
                }
    return found | han(
        "".join(texts[key] for key in texts if key.startswith(("verdict.is_", "theme.")))
    )


def documentation() -> set[str]:
    """Return the characters of the headings of the documentation in Chinese."""
    texts = (path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.zh.md"))
    return han("".join("".join(re.findall(r"^##? .*", text, re.MULTILINE)) for text in texts))


def names() -> set[str]:
    """Return the characters of the Chinese names of concepts."""
    found: set[str] = set()
    for path in (ROOT / "ontology/concepts").glob("*.tsv"):
        rows = [
            line.split("\t")
            for line in path.read_text("utf-8").splitlines()
            if line and line[0] != "#"
        ]
        if "zh" in rows[0]:
            place = rows[0].index("zh")
            found |= {c for row in rows[1:] if len(row) > place for c in han(row[place])}
    return found


def main(font: str) -> None:
    """Write the three files of the face."""
    FONTS.mkdir(parents=True, exist_ok=True)
    first = headings() | {c for c in LATIN if ord(c) > 0x2FFF}
    latin = {c for c in LATIN if ord(c) < 0x3000}
    faces = {
        "latin": latin,
        "headings": first,
        "docs": documentation() - first,
        "names": names() - first,
    }
    for name, characters in faces.items():
        target, text = FONTS / f"wenkai-{name}.woff2", "".join(sorted(characters))
        options = (
            "--flavor=woff2",
            "--layout-features=",
            "--name-IDs=0,13,14",
            "--no-hinting",
            "--desubroutinize",
        )
        command = ["pyftsubset", font, f"--text={text}", f"--output-file={target}", *options]
        subprocess.run(command, check=True)  # noqa: S603
        print(target.name, len(characters), target.stat().st_size)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
