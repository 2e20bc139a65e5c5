"""Meaning of tables: the one home of what columns, cells and labels are taken for.

shaping       tables of any shape → one row per label
answers       no answer, one spelling per class
repeats       one label per worker and task
kinds         classes, a scale, scores, choices; or refused, with the words to type
interpreting  all of these in order: tables → the labels of each question
"""
