"""A report, and its pages as XML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.report import write

ROOT = Path(__file__).parents[3]
Pages = dict[str, ElementTree.Element]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A report in which pictures are no more than files: drawing the graphs takes seconds, and has its own tests."""
    folder, picture = tmp_path_factory.mktemp("report"), "<svg xmlns='http://www.w3.org/2000/svg'/>"
    pictures = folder / "pictures"
    pictures.mkdir()
    for name in ("fedau_figC61.svg", "fedau_figC61.csv"):
        (pictures / name).write_text(picture)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.report.site.draw", lambda _, out: out.write_text(picture))
        yield write(folder / "site", "laptop", ROOT / "results", pictures).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> Pages:
    """Path within the site -> the page, read as XML: a tag that is not closed, or text not escaped, is no XML."""
    texts = {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    return {at: ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n")) for at, text in texts.items()}
