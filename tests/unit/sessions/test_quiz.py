"""The quiz: whole ones, what answers a question, what is refused, and that no answer is told too early."""

import random
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.sessions.modes.base import Action, ActionRefused, Mode, Seat, Table
from backscroll_sidecar.sessions.modes.quiz import Quiz, QuizConfig, QuizState
from backscroll_sidecar.sessions.modes.quiz_answers import is_answer, plain, says_answer
from backscroll_sidecar.sessions.participants import name_key
from backscroll_sidecar.texts import Language
from tests.kit.examples import examples

MODE = Quiz()
NAMES = ("Ann", "Ben", "Cleo", "Dan")
CAPITAL = {"text": "Capital of France?", "answers": ["Paris", "巴黎"], "points": 2}
SIX = {"text": "Two times three?", "answers": ["6", "six"]}
MOON = {"text": "What is above us?", "answers": ["moon"], "points": 3}


def table_of(personas=(), language=Language.EN, count=4):
    seats = tuple(
        Seat(str(n), name, is_persona=str(n) in personas, is_human=str(n) not in personas)
        for n, name in enumerate(NAMES[:count], 1)
    )
    return Table(seats, language, {name_key(one.name): one.id for one in seats})


class Game:
    """A quiz that is played move by move, with everything that was announced."""

    def __init__(self, table=None, questions=(CAPITAL, SIX, MOON), **config):
        self.table = table or table_of()
        self.config = msgspec.convert({"questions": questions, **config}, QuizConfig)
        self.state = MODE.begin(self.config, self.table, 0)
        self.last = None

    def act(self, name, actor="", argument=""):
        before = msgspec.json.encode((self.config, self.state))
        try:
            action = Action(name, actor, argument)
            self.last = MODE.apply(self.config, self.state, self.table, action)
        finally:
            assert msgspec.json.encode((self.config, self.state)) == before
        self.state = self.last.state
        return self

    def say(self, sender, text):
        action = MODE.read_action(self.config, self.state, self.table, sender, text)
        assert action is not None, text
        return self.act(action.name, action.actor_id, action.argument)

    def told(self):
        assert all(one.audience == () for one in self.last.announcements)
        return "\n".join(one.text for one in self.last.announcements)

    def memory(self, viewer=None):
        lines = MODE.memory(self.config, self.state, self.table)
        return "\n".join(one.text for one in lines if not one.audience or viewer in one.audience)

    def waits(self):
        return MODE.waits_for(self.config, self.state, self.table).ids

    def refuses(self, field, name, actor="", argument=""):
        state = self.state
        with pytest.raises(ActionRefused) as caught:
            self.act(name, actor, argument)
        assert caught.value.field == field
        assert self.state is state
        return caught.value.message


def refused_begin(**config):
    with pytest.raises(ActionRefused) as caught:
        Game(**config)
    assert caught.value.message
    return caught.value.field


def test_it_is_a_mode():
    assert isinstance(MODE, Mode)
    for language in (Language.EN, Language.ZH):
        for word in ("name", "persona", "colleagues", "memory"):
            assert MODE.prompts[language].count("{{" + word + "}}") == 1
    for wrong in ({"question": []}, {"questions": [{"text": "?", "answers": [], "x": 1}]}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, QuizConfig)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"round": 1}', type=QuizState)


@pytest.mark.parametrize("language", [Language.EN, Language.ZH])
def test_a_whole_quiz(language):
    zh = language is Language.ZH
    play = Game(table_of("3", language), host="4").say("", "/开始" if zh else "/START")
    assert play.last.event == "started"
    assert "Capital of France?" in play.told()
    assert ("第 1 题" in play.told()) is zh
    play.say("1", "Rome").say("1", "London")
    assert (play.last.event, play.last.announcements, play.state.attempts) == ("wrong", (), {})
    play.say("1", "I think it is PARIS!")
    assert play.state.scores == {"1": 2}
    assert all(part in play.told() for part in ("Ann", "Paris", "Two times three?"))
    assert play.say("2", " ６ ").state.scores == {"1": 2, "2": 1}
    assert MODE.read_action(play.config, play.state, play.table, "4", "moon") is None
    play.say("4", "/skip") if not zh else play.say("4", "／跳过")
    assert "moon" in play.told()
    assert (play.state.phase, play.state.winners) == ("over", ("1",))
    assert play.state.answered_by == ("1", "2", "")
    assert play.last.event == "ended"
    assert MODE.is_over(play.state)
    sep = "：" if zh else ": "
    assert f"Ann{sep}2\nBen{sep}1\nCleo{sep}0" in play.told()
    assert "Dan" not in play.told()
    assert f"Ben{sep}1" in play.memory("1")
    for name in ("start", "answer", "skip", "end"):
        assert play.refuses("name", name)
    assert MODE.read_action(play.config, play.state, play.table, "1", "moon") is None


def test_ties_share_the_win_and_nobody_wins_without_points():
    play = Game(questions=(SIX, SIX, MOON)).act("start").say("2", "six").say("1", "six").act("end")
    assert play.state.winners == ("1", "2")
    assert "Ann, Ben" in play.told()
    play = Game().act("start").act("end")
    assert play.state.winners == ()
    worthless = {"text": "?", "answers": ["x"], "points": 0}
    play = Game(questions=[worthless]).act("start").say("1", "x")
    assert (play.state.answered_by, play.state.winners) == (("1",), ())
    assert Game().act("end").state.phase == "over"


def test_who_may_do_what():
    play = Game(host="4", contestants=("1", "2"))
    assert play.refuses("name", "answer", "1", "Paris")
    assert play.refuses("name", "skip")
    assert play.refuses("actor_id", "start", "3")
    assert MODE.read_action(play.config, play.state, play.table, "1", "Paris") is None
    play.act("start", "1")
    assert play.refuses("name", "start", "1")
    assert "Ann, Ben" in play.refuses("actor_id", "answer", "3", "Paris")
    assert play.refuses("actor_id", "answer", "", "Paris")
    assert play.refuses("actor_id", "answer", "4", "Paris")
    for name in ("skip", "end"):
        assert play.refuses("actor_id", name, "1")
    assert play.refuses("name", "guess", "1")
    assert MODE.read_action(play.config, play.state, play.table, "3", "Paris") is None
    assert play.act("skip", "4").state.index == 1
    assert play.act("end", "4").state.winners == ()
    assert Game(table_of(count=1), host="1").refuses("name", "start")
    assert Game(host="4").act("start", "4").state.phase == "asking"
    assert MODE.audience_of(play.config, play.state, play.table, "1") == ()


def test_personas_have_one_attempt_and_people_as_many_as_is_said():
    play = Game(table_of("234"), host="4", attempts=2)
    assert play.waits() == ()
    play.act("start")
    assert play.waits() == ("2", "3")
    assert MODE.waits_for(play.config, play.state, play.table).in_parallel
    play.say("2", "Rome")
    assert play.waits() == ("3",)
    assert play.state.attempts == {"2": 1}
    assert play.refuses("actor_id", "answer", "2", "Paris")
    play.say("1", "Rome").say("1", "Oslo")
    assert play.refuses("actor_id", "answer", "1", "Paris")
    play.say("3", "Paris")
    assert play.waits() == ("2", "3")
    assert play.state.attempts == {}


def test_a_question_that_nobody_can_answer_any_more_is_done():
    play = Game(table_of("12", count=2)).act("start").say("1", "Rome")
    assert play.last.announcements == ()
    play.say("2", "Oslo")
    assert (play.state.index, play.last.event) == (1, "unsolved")
    assert "Paris" in play.told()
    assert "Two times three?" in play.told()
    assert play.say("1", "7").say("2", "8").say("1", "sun").say("2", "sky").last.event == "ended"


def test_what_does_not_fit_is_refused():
    for questions in (
        (),
        (SIX,) * 201,
        ({"text": " ", "answers": ["x"]},),
        ({"text": "?", "answers": []},),
        ({"text": "?", "answers": ["x", " … "]},),
        ({"text": "?", "answers": ["x"], "points": -1},),
    ):
        assert refused_begin(questions=questions) == "role_config.questions"
    assert Game(questions=(SIX,) * 200)
    assert refused_begin(host="77") == "role_config.host"
    assert refused_begin(contestants=("1", "77")) == "role_config.contestants"
    assert refused_begin(contestants=("1", "1")) == "role_config.contestants"
    assert refused_begin(host="1", contestants=("1", "2")) == "role_config.contestants"
    assert refused_begin(attempts=-1) == "role_config.attempts"


RIGHT = (
    ("Paris", "paris"),
    ("Paris", "I think it is Paris"),
    ("Paris", "“ＰＡＲＩＳ”!"),
    ("Paris", "Paris🎉"),
    ("New York", "it's new-york, no?"),
    ("St. Petersburg", "St Petersburg"),
    ("巴黎", "我觉得是巴黎吧"),
    ("巴黎", "巴 黎"),
    ("Straße", "STRASSE"),
    ("6", "6."),
    ("6", "it is 6, I think"),
    ("猫", "猫！"),
    ("猫", "是 猫"),
    ("1,000", "1000"),
    ("1.5", "about １．５"),
    ("-5", "it is −5"),
    ("C++", "c++"),
)
WRONG = (
    ("Paris", "Parisian"),
    ("Paris", "comparison paris1"),
    ("Paris", "Par"),
    ("Paris", ""),
    ("New York", "New Yorkshire"),
    ("6", "16"),
    ("6", "6.5"),
    ("6", "是6吧"),
    ("猫", "熊猫"),
    ("a", "banana"),
    ("1.5", "15"),
    ("-5", "5"),
    ("5", "-5"),
)


@pytest.mark.parametrize(("answer", "text"), RIGHT)
def test_what_is_an_answer(answer, text):
    assert is_answer(plain(text), ["something else", answer])


@pytest.mark.parametrize(("answer", "text"), WRONG)
def test_what_is_no_answer(answer, text):
    assert not is_answer(plain(text), [answer])


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_an_answer_between_blanks_is_always_found(before, answer, after):
    assert is_answer(plain(f"{before}\n{answer}\n{after}"), [answer]) is bool(plain(answer).text)


@pytest.mark.parametrize("filler", ["a", "a ", "小", "x. ", "-1"])
@pytest.mark.parametrize("count", [20, 300])
def test_a_long_text_is_read_at_its_ends_and_at_once(filler, count):
    answers = (*(filler * n + "b" for n in range(1, count)), "Paris")
    text = (filler * 65_000)[:65_000]
    began = time.process_time()
    assert not says_answer(text, answers)
    assert time.process_time() - began < 1
    assert says_answer("Paris " + text, answers)
    assert says_answer(text + " Paris", answers)
    assert not says_answer(text + " Paris " + text, answers)


def test_where_a_long_text_is_parted_no_word_ends():
    text = "x" * (500 + 2 * 5 - 5) + "Paris" + "ian" * 1_000
    assert not says_answer("." + text, ("Paris",))
    assert not says_answer(text[::-1], ("siraP",))


def test_what_is_remembered():
    play = Game(table_of("3"), host="4")
    assert "/start" in play.memory("1")
    play.act("start")
    assert "Question 1 of 3: Capital of France?" in play.memory()
    assert "Paris, 巴黎" in play.memory("4")
    assert "one attempt" in play.memory("3")
    assert "one attempt" not in play.memory("1")
    play.say("1", "paris")
    assert "Ann: 2" in play.memory("2")
    for one in MODE.memory(play.config, play.state, play.table):
        assert one.field in QuizState.__struct_fields__


# --- random quizzes ------------------------------------------------------------------------------

SECRETS = tuple(f"canary{one}" for one in "abcdef")
"""The answers: words that stand nowhere else."""


def check(play, before):
    state = play.state
    assert msgspec.json.decode(msgspec.json.encode(state), type=MODE.state_type) == state
    done = len(state.answered_by)
    assert done == state.index + (state.phase == "over" and done > state.index)
    assert sum(state.scores.values()) == sum(
        question.points
        for who, question in zip(state.answered_by, play.config.questions, strict=False)
        if who
    )
    best = max(state.scores.values(), default=0)
    ahead = {one for one, points in state.scores.items() if points == best > 0}
    assert set(state.winners) == (ahead if state.phase == "over" else set())
    personas = {one.id for one in play.table.seats if one.is_persona}
    for one, count in state.attempts.items():
        assert 0 < count <= (1 if one in personas else play.config.attempts)
    assert set(play.waits()) <= personas - {play.config.host} - set(state.attempts)
    told = "\n".join(one.text for one in play.last.announcements)
    for viewer in ("1", "2", "3", "4", "", "?"):
        allowed = set(SECRETS[: len(state.answered_by)])
        assert all(one in allowed or one not in told for one in SECRETS)
        if viewer == play.config.host and state.phase == "asking":
            allowed.add(SECRETS[state.index])
        seen = play.memory(viewer)
        assert all(one in allowed or one not in seen for one in SECRETS)
    if before.phase == "over":
        assert state == before


@settings(max_examples=examples(150))
@given(
    st.sets(st.sampled_from("1234")),
    st.sampled_from(["", "4"]),
    st.integers(0, 2),
    st.integers(1, 6),
    st.sampled_from([Language.EN, Language.ZH]),
    st.integers(0, 2**32),
)
def test_random_quizzes(personas, host, attempts, count, language, seed):
    rng = random.Random(seed)
    questions = [
        {"text": f"Question {n}?", "answers": [SECRETS[n]], "points": n + 1} for n in range(count)
    ]
    play = Game(table_of(personas, language), questions, host=host, attempts=attempts)
    fields = set()
    for _ in range(60):
        name = rng.choice(
            ("answer",) * 12 + ("start",) * 3 + ("skip", "end" * (rng.random() < 0.1))
        )
        said = rng.choice(
            (*SECRETS[:count], f"so {SECRETS[play.state.index]}!", "no", "\ud800", "")
        )
        before = play.state
        try:
            play.act(name, rng.choice("1234") * (rng.random() < 0.9), said)
        except ActionRefused as refused:
            fields.add(refused.field if refused.message else "")
        else:
            check(play, before)
    assert fields <= {"name", "actor_id", "argument"}
    if play.state.phase == "lobby":
        play.act("start")
    while play.state.phase != "over":  # it can be played to its end from wherever it stands
        play.act("skip")
    assert MODE.is_over(play.state)
