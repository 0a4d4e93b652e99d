"""What benchmarks/run is made of.

    programs.py      runs the programs, reads what they print
    sides.py         what is measured: PHOLD and studies, each in several modes
    measurements.py  rounds in which the sides take turns; ratios within a round; equal digests
    sizes.py         which models belong to which figure, with the targets: all sizes in one place
    figures.py       from measurements to rows: one function a group of figures
    markdown.py      from rows to the table, and into docs/laboratory/performance.md
    machine.py       what the figures were taken on
"""
