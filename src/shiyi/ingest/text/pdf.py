"""PDF as text, through pypdf; a page is a paragraph, since a sentence may cross its end."""

from pathlib import Path

from shiyi.errors import TooLargeError, UsageError

_PAGES = 5_000


def pdf_text(path: Path, limit: int) -> tuple[str, str]:
    """Give the title and the text of a PDF; scanned pages hold none, which is said."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(path)
        if len(reader.pages) > _PAGES:
            raise TooLargeError(str(path), len(reader.pages), _PAGES, "pages")
        title = str((reader.metadata.title if reader.metadata else None) or path.stem)
        parts: list[str] = []
        for page in reader.pages:
            parts.append(page.extract_text())
            if sum(map(len, parts[-1:])) > limit:
                raise TooLargeError(str(path), len(parts[-1]), limit)
    except (PyPdfError, OSError, ValueError, KeyError, RecursionError) as fault:
        if isinstance(fault, TooLargeError):
            raise
        raise UsageError(f"{path} is not a readable PDF: {fault}") from fault
    text = "\n".join(parts)
    if not text.strip():
        raise UsageError(f"{path} holds pictures of pages and no text; recognise its text first")
    return title, text
