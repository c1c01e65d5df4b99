"""What a quiz says to its players, in Chinese and in English, and what personas are told."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from backscroll_sidecar.texts import Language

START, ANSWER, SKIP, END = "start", "answer", "skip", "end"
WORDS: Mapping[str, tuple[str, ...]] = {
    START: ("开始", "開始"),
    SKIP: ("跳过", "跳過"),
    END: ("结束", "結束"),
}
"""The words of each move besides its name, the one that is shown first."""
NAMES_BY_WORD: Mapping[str, str] = {
    word: name for name, words in WORDS.items() for word in (name, *words)
}


class QuizTexts(msgspec.Struct, frozen=True):
    """All texts in one language."""

    question: str
    solved: str
    answer_told: str
    unsolved: str
    over: str
    scores: str
    score: str
    won: str
    nobody_won: str

    lobby_line: str
    over_line: str
    question_line: str
    answers_line: str
    host_line: str
    to_do: str

    unknown_move: str
    started_refused: str
    lobby_refused: str
    over_refused: str
    no_contestants: str
    not_contestant: str
    not_in_quiz: str
    host_only: str
    no_attempt: str

    question_count: str
    empty_question: str
    no_answers: str
    empty_answer: str
    points_range: str
    unknown_id: str
    twice: str
    host_contests: str
    negative_attempts: str


ENGLISH = QuizTexts(
    question="Question {number} of {count}, {points} points: {text}",
    solved="{name} has it: {answer}. {points} points.",
    answer_told="The answer is: {answer}.",
    unsolved="Nobody can try any more.",
    over="The quiz is over.",
    scores="Scores:",
    score="{name}: {score}",
    won="Won by: {names}.",
    nobody_won="Nobody has won.",
    lobby_line="A quiz has not begun yet. /start begins it.",
    over_line="The quiz is over.",
    question_line="Question {number} of {count}: {text}",
    answers_line="Right answers to this question: {answers}",
    host_line="You host the quiz. Do not tell the answer, nor hint at it, while the question is asked.",
    to_do="What to do now: answer the question, with the answer alone, in one line. You have one attempt.",
    unknown_move="There is no such move. Moves: {moves}.",
    started_refused="The quiz has begun already.",
    lobby_refused="The quiz has not begun yet. /start begins it.",
    over_refused="The quiz is over.",
    no_contestants="It takes at least one contestant.",
    not_contestant="Only contestants may answer. They are: {names}.",
    not_in_quiz="Only the host and the contestants can do that.",
    host_only="Only the host and whoever runs the session can do that.",
    no_attempt="You have no attempt left for this question.",
    question_count="A quiz has 1 to {most} questions, and there are {count}.",
    empty_question="Question {number} has no text.",
    no_answers="Question {number} has no answer.",
    empty_answer="Question {number} has an answer without a letter, a number or a sign: {answer}",
    points_range="Question {number} must give 0 to {most} points.",
    unknown_id="Nobody of the id {id} is there. Ids: {ids}.",
    twice="{id} is among the contestants twice.",
    host_contests="{id} hosts the quiz and cannot take part in it.",
    negative_attempts="The number of attempts cannot be negative; 0 is as many as one likes.",
)
CHINESE = QuizTexts(
    question="第 {number} 题（共 {count} 题，{points} 分）：{text}",
    solved="{name} 答对了：{answer}。得 {points} 分。",
    answer_told="答案是：{answer}。",
    unsolved="没有人还能作答。",
    over="问答结束。",
    scores="得分：",
    score="{name}：{score}",
    won="获胜：{names}。",
    nobody_won="没有人获胜。",
    lobby_line="问答还没有开始。发送 /开始 即可开始。",
    over_line="问答已经结束。",
    question_line="第 {number} 题（共 {count} 题）：{text}",
    answers_line="本题的正确答案：{answers}",
    host_line="你是问答的主持人。题目还在作答时，不要说出答案，也不要暗示。",
    to_do="现在要做的：回答这道题，只写答案，一行。你只有一次机会。",
    unknown_move="没有这种行动。可用的行动：{moves}。",
    started_refused="问答已经开始了。",
    lobby_refused="问答还没有开始。发送 /开始 即可开始。",
    over_refused="问答已经结束。",
    no_contestants="至少需要一名参赛者。",
    not_contestant="只有参赛者可以作答。参赛者：{names}。",
    not_in_quiz="只有主持人和参赛者可以这样做。",
    host_only="只有主持人和主持会话的人可以这样做。",
    no_attempt="这道题你已经没有机会作答了。",
    question_count="问答应有 1 到 {most} 道题，现在有 {count} 道。",
    empty_question="第 {number} 题没有题目。",
    no_answers="第 {number} 题没有答案。",
    empty_answer="第 {number} 题有一个答案没有文字、数字或符号：{answer}",
    points_range="第 {number} 题的分数只能是 0 到 {most}。",
    unknown_id="没有 id 为 {id} 的人。现有：{ids}。",
    twice="参赛者 {id} 出现了两次。",
    host_contests="{id} 是主持人，不能参赛。",
    negative_attempts="作答次数不能是负数；0 表示不限次数。",
)

PROMPTS: Mapping[Language, str] = {
    Language.EN: """\
You are {{name}}, and you take part in a quiz in a chat room.
Who you are: {{persona}}
Who else is there: {{colleagues}}
Answer as yourself only: never speak for anybody else, and put no name before your words.
A move is a line of its own that begins with a slash, such as /skip by the host; an answer to a question is not one.
Where the quiz stands:
{{memory}}""",
    Language.ZH: """\
你是 {{name}}，正在参加聊天室里的问答游戏。
你的人设：{{persona}}
在场的其他人：{{colleagues}}
只以你自己的身份回答：不要替别人说话，也不要在发言前写名字。
行动要单独写一行，以斜杠开头，例如主持人的 /跳过；回答题目时不用斜杠。
问答的进展：
{{memory}}""",
}


def texts_of(language: Language) -> QuizTexts:
    """The texts in a language: Chinese, else English."""
    return CHINESE if language is Language.ZH else ENGLISH
