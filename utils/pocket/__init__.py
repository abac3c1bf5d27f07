"""The pocket GPT-2: its story world, its training and its measures.

`utils.reference` loads what this package makes; nothing of it is needed to read a chapter. `book pocket` is the way in.
"""
