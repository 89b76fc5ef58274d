"""The reference pipeline that this repository measures: readers, an index, lanes, fusion, rerankers, one composer.

It knows nothing of the bench; `conftest.py` wires the two together. Importing it loads neither torch nor numpy.
"""
