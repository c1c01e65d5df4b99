"""What tuning makes of feedback on a real chat, through a server: recovered, or left alone."""

import pytest

from bench.training.channel_tuning import SHARED
from tests.integration.learning.test_tuning import a_trial

HARM = 0.005
"""So much of hit@5 a channel may lose, and a question of those held back, of which one more or less is chance."""


@pytest.mark.proof
@pytest.mark.row("S5-41", "N-12")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("planted", ["addressed", "called"])
async def test_planted_preferences_are_recovered(planted):
    """S5-41: of what people would gain by their own weights four fifths are gained on held-back questions.

    These weights do not contradict what lines answer: see `bench.training.channel_tuning`.
    """
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
@pytest.mark.parametrize(
    ("feedback", "planted"),
    [
        ("noisy", "shared"),
        ("noisy", "mentions"),
        ("noisy", "named"),
        ("inverted", "shared"),
        ("clique", "stale"),
        ("honest", "stale"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_channel_is_harmed(feedback, planted, seed):
    """N-12: under noise and under malice questions find what they answer as by the server's weights."""
    async with a_trial(feedback, planted, seed) as (trial, _, _, channel):
        before = await trial.worth(SHARED)
        await trial.live_through(12, 500)
        after = await trial.worth(trial.weights)
        assert after.gold_hit >= before.gold_hit - HARM - 1 / len(channel.held)


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
