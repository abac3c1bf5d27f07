"""From a chapter's one text source to the two notebooks, and the checks that keep them honest.

`source` reads, `lint` judges the text, `strip` takes the answers out, `notebooks` shapes, `execute` and `outputs` run,
`build` writes, `check` compares what is committed with what would be written, `run` executes the whole book. `glossary`
knows the words, `links` leads to them, `pages` lists them and the exercises, `site` publishes all of it.
Nothing is imported here: jupytext and nbclient are loaded by the command that needs them.
"""
