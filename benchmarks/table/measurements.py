"""Rounds of sides that take turns, and what they say.

A machine drifts: other work, clock rates, temperature. So each round runs every side of every
model once, sides of a model one after the other, every other round in the opposite order; a ratio
is taken between two sides of one round; and the figure is the median over the rounds. So models
that are compared with each other saw the same minutes, too. What two figures have in common is run
once.
"""
import statistics
import sys
import time

from table.sides import YARDSTICK, run


class Measurements:
    """First want() from all figures, then measure(), then the rest."""

    def __init__(self, programs, rounds):
        self.programs = programs
        self.rounds = rounds
        self.findings = []  # what is wrong: sides that do not agree
        self.listed = []    # models whose rates the table lists
        self._modes = {}    # model: modes, in the order they were asked for
        self._results = {}  # (model, mode): result of each round
        self._started = time.monotonic()

    def want(self, model, *modes, listed=True):
        wanted = self._modes.setdefault(model, [])
        wanted += [mode for mode in modes if mode not in wanted]
        if listed and model not in self.listed:
            self.listed.append(model)

    def wants_yardstick(self):
        return any(YARDSTICK in modes for modes in self._modes.values())

    def measure(self):
        for index in range(self.rounds):
            backwards = index % 2 == 1
            models = [model for model in self._modes if index < model.rounds_most]
            for model in reversed(models) if backwards else models:
                self.say(f"round {index + 1} of {self.rounds}: {model.label}")
                modes = self._modes[model]
                for mode in reversed(modes) if backwards else modes:
                    result = run(model, mode, self.programs)
                    self._results.setdefault((model, mode), []).append(result)
        for model in self._modes:
            self._check_agreement(model, "committed_events")
            self._check_agreement(model, "digest")

    def say(self, text):
        print(f"[{time.monotonic() - self._started:5.0f} s] {text}", file=sys.stderr)

    def modes(self, model):
        return self._modes[model]

    def results(self, model, mode):
        return self._results[model, mode]

    def values(self, model, mode, value_of):
        """value_of(result), a value a round."""
        return [value_of(result) for result in self.results(model, mode)]

    def ratios(self, model, mode, base):
        """How many times as fast as `base`, a value a round."""
        return [mine["events_per_s"] / other["events_per_s"]
                for mine, other in zip(self.results(model, mode), self.results(model, base))]

    def median_rate(self, model, mode):
        return statistics.median(self.values(model, mode, lambda r: r["events_per_s"]))

    def _check_agreement(self, model, key):
        seen = {mode.name: sorted({str(r[key]) for r in self.results(model, mode) if key in r})
                for mode in self._modes[model]}
        if len({value for values in seen.values() for value in values}) != 1:
            self.findings.append(f"{model.label}: {key} differs: {seen}")
