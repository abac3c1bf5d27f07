"""Grading a class: notebooks in, marks, pages and a report out. Nothing heavy is loaded before it is used.

`intake` finds and cleans what students handed in, `run` has it graded, `store` keeps the marks, and `exports`,
`feedback` and `report` write what people read. The sandbox that the code of students runs in is `session`'s.
"""
