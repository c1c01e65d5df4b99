"""What tuning makes of feedback on a real chat, through a server: recovered, or left alone."""

import pytest

from tests.integration.learning.test_tuning import a_trial

HARM = 0.005
"""So much of hit@5 a channel may lose, and a question of those held back, of which one more or less is chance."""


@pytest.mark.proof
@pytest.mark.row("S5-41", "N-12")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("planted", ["mentions", "named"])
async def test_planted_preferences_are_recovered(planted):
    """S5-41: of what people would gain by their own weights four fifths are gained on held-back questions."""
    async with a_trial(planted=planted) as (trial, _, _, channel):
        before = await trial.worth(trial.weights)
        await trial.live_through(12, 1_000)
        after = await trial.worth(trial.weights)
        best = await trial.worth(trial._people.planted)
        assert after.liked - before.liked >= 0.8 * (best.liked - before.liked)
        assert after.liked_hit >= before.liked_hit - HARM - 1 / len(channel.held)


@pytest.mark.proof
@pytest.mark.row("N-12")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("feedback", ["noisy", "inverted"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_channel_is_harmed(feedback, seed):
    """N-12: under noise and under malice people find what the server's weights would have given them."""
    async with a_trial(feedback, "shared", seed) as (trial, _, _, channel):
        before = await trial.worth(trial.weights)
        await trial.live_through(5, 800)
        after = await trial.worth(trial.weights)
        margin = HARM + 1 / len(channel.held)
        assert after.gold_hit >= before.gold_hit - margin
        assert after.liked_hit >= before.liked_hit - margin


@pytest.mark.proof
@pytest.mark.row("N-12")
@pytest.mark.timeout(7_200)
async def test_random_feedback_adopts_next_to_nothing():
    """N-12: at most 5 of 100 seeds."""
    adopting = 0
    for seed in range(100):
        async with a_trial("random", "shared", seed) as (trial, _, _, _):
            await trial.live_through(2, 260)
            adopting += "ADOPTED" in trial.reasons
    assert adopting <= 5
