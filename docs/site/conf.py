"""Sphinx's settings for the book's site; `book site` copies this folder beside the pages and runs Sphinx there.

Nothing on a page may come from the network, and two builds must be the same bytes: no CDN, no dates, no addresses.
"""

project = "The GPT-2 exercise book"
author = ""
language = "en"
extensions = ["myst_nb", "utils.book.site.mathml"]

nb_execution_mode = "off"
nb_output_stderr = "remove"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "utils.book.glossary.slug"
html_math_renderer = "mathml"
smartquotes = False

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_favicon = "favicon.svg"
html_use_index = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "toc_title": "On this page",
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
