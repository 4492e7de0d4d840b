"""Budgets of the board. A budget with too little data fails too: nothing that was not seen is called fine."""

import pytest


@pytest.mark.parametrize("budget", ["p50<=1ms", "mean<=10ms"])
def test_budget(measure, budget):
    run = measure("this-machine", "--duration", "100ms", "--repeats", "2", "--budget", budget)
    not_held = run.budgets[run.budgets["kind"] != "not_seen_broken"]
    assert len(run.budgets) > 0
    assert not_held.empty, "\n".join(f"{row.budget} for {row.case}: {row.text}" for row in not_held.itertuples())
