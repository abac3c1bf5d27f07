"""The book as a static site: `cells` turns notebooks into pages' sources, `sources` lays them out, `build` runs Sphinx.

Sphinx, myst-nb and the theme are the extra `site`; nothing here imports them before a site is asked for.
"""
