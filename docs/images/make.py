"""Makes the README's two pictures from what the book itself shows: a report, and an attention figure.

Run it in the book's environment when either looks different: `python docs/images/make.py`. It needs Chromium. The
outputs are those stored in the worked chapter 05, on a white page, as a reader of a code host sees them.
"""

import json
from pathlib import Path

from playwright.sync_api import sync_playwright

from utils.paths import solutions_dir
from utils.show.bundle import script

HERE = Path(__file__).resolve().parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
STYLE = (
    "body{margin:0;background:#fff;color:#1a1a1a;font:15px/1.45 'DejaVu Sans',sans-serif}"
    "#shown{padding:14px 18px}details{display:none}"
)
MOST_BYTES = 150_000
# file → key of the cell that shows it, width in pixels, what to wait for
PICTURES = {
    "grade.png": ("attention-scores-mistake", 740, ".book-report svg"),
    "attention.png": ("patterns", 740, ".book-heads-box canvas"),
}


def stored_html(key: str) -> str:
    """The HTML that this cell of chapter 05 stores."""
    notebook = json.loads((solutions_dir() / "05_attention.ipynb").read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if cell["metadata"]["book"]["key"] == key]
    return "".join("".join(output.get("data", {}).get("text/html", "")) for output in cell["outputs"])


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (key, width, ready) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": 900})
            drawing = script() if "canvas" in ready else ""
            page.set_content(f"<style>{STYLE}</style><div id='shown'>{drawing}{stored_html(key)}</div>")
            page.locator(ready).first.wait_for()
            page.wait_for_timeout(1500)  # CircuitsVis draws its canvases one after the other and does not say when
            page.locator("#shown").screenshot(path=HERE / name)
            size = (HERE / name).stat().st_size
            print(f"{name}: {size:,} bytes")
            assert size <= MOST_BYTES, f"{name} is too large for a README"
        browser.close()


if __name__ == "__main__":
    main()
