"""The graph of a vault: `links` and `boards` find edges, `edges` makes a graph of them, `walking` follows it.

Four sorts: E1 edges drawn on a canvas; E2 bridges, from a file on one canvas to its neighbours on another; E3 hops from
canvas to canvas, where one names the other or over a file that both show; E4 wikilinks.
"""
