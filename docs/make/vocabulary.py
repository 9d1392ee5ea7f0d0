"""Write docs/reference/vocabulary/: the reference of the vocabulary, Chinese and English."""

from pathlib import Path

from shiyi.publishing.vocabulary_page import reference_html

FOLDER = Path(__file__).parents[1] / "reference/vocabulary"


def main() -> None:
    """Write both pages."""
    FOLDER.mkdir(exist_ok=True)
    for language in ("zh", "en"):
        (FOLDER / f"{language}.html").write_text(reference_html(language), "utf-8")


if __name__ == "__main__":
    main()
