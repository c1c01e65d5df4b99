"""What Werewolf says to its players, in Chinese and in English, and what personas are told."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from backscroll_sidecar.texts import Language

WEREWOLF, SEER, DOCTOR, VILLAGER = "werewolf", "seer", "doctor", "villager"
ROLES = (WEREWOLF, SEER, DOCTOR, VILLAGER)

START, KILL, CHECK, SAVE = "start", "kill", "check", "save"
SPEAK, VOTE, PASS, SKIP = "speak", "vote", "pass", "skip"
WORDS: Mapping[str, tuple[str, ...]] = {
    START: ("开始", "開始"),
    KILL: ("杀", "殺", "刀"),
    CHECK: ("查验", "查驗", "验"),
    SAVE: ("救", "保护", "保護"),
    VOTE: ("投票", "投"),
    PASS: ("过", "過", "放弃"),
    SKIP: ("跳过", "跳過"),
}
"""The words of each move besides its name, the one that is shown first."""
NAMES_BY_WORD: Mapping[str, str] = {
    word: name for name, words in WORDS.items() for word in (name, *words)
}
NOBODY_WORDS = frozenset(("nobody", "no one", "none", "无", "無", "无人", "没有人"))
"""Whom a vote is for that is for nobody."""


class WerewolfTexts(msgspec.Struct, frozen=True):
    """All texts in one language. `roles`: the word for each role; `tasks`: what it does in a night."""

    roles: Mapping[str, str]
    tasks: Mapping[str, str]
    nobody: str

    started: str
    you_are: str
    fellows: str
    night_falls: str
    victim_named: str
    finding: str
    finding_none: str
    saved: str
    died: str
    nobody_died: str
    was: str
    talk_begins: str
    next_speaker: str
    vote_begins: str
    tally: str
    nobody_voted: str
    voted_out: str
    nobody_out: str
    villagers_won: str
    werewolves_won: str
    all_roles: str
    is_role: str

    lobby_line: str
    night_line: str
    talk_line: str
    vote_line: str
    alive_line: str
    killed_line: str
    voted_out_line: str
    dead_line: str
    finding_line: str
    last_save_line: str
    to_do: str
    speak_task: str
    vote_task: str

    unknown_move: str
    over_refused: str
    started_refused: str
    lobby_refused: str
    night_refused: str
    talk_refused: str
    vote_refused: str
    not_player: str
    dead_refused: str
    only_role: str
    no_night_move: str
    moderator_only: str
    not_your_turn: str
    moved_refused: str
    victim_chosen: str
    no_choice: str
    dead_choice: str

    few_players: str
    no_werewolf: str
    many_werewolves: str
    unknown_role: str
    negative_count: str
    many_roles: str
    unknown_id: str
    twice_player: str
    talk_rounds_range: str


ENGLISH = WerewolfTexts(
    roles={one: one for one in ROLES},
    tasks={
        WEREWOLF: "name your victim, as a line of its own: /kill NAME",
        SEER: "look into one player, as a line of its own: /check NAME",
        DOCTOR: "guard one player, yourself too, but nobody twice in a row, as a line of its own: /save NAME",
        VILLAGER: "you sleep at night",
    },
    nobody="nobody",
    started="The game begins. Players: {players}.\nRoles in the game: {counts}.",
    you_are="You are a {role}. At night: {task}.",
    fellows="The werewolves are {names}.",
    night_falls=(
        "Night {day} falls. Werewolves: /kill NAME. Seer: /check NAME. Doctor: /save NAME. "
        "Whoever wants to do nothing: /pass."
    ),
    victim_named="{name} names {victim} as the victim.",
    finding="{name} is a werewolf.",
    finding_none="{name} is not a werewolf.",
    saved="You guard {name} tonight.",
    died="Day {day} breaks. {name} was killed in the night.",
    nobody_died="Day {day} breaks. Nobody died in the night.",
    was="{name} was a {role}.",
    talk_begins="All discuss, one after the other. {name} speaks first.",
    next_speaker="{name} speaks next.",
    vote_begins="Now vote, all who live: /vote NAME, or /vote nobody.",
    tally="Votes: {votes}.",
    nobody_voted="no vote was cast",
    voted_out="{name} is voted out.",
    nobody_out="Nobody is voted out.",
    villagers_won="The game is over: the villagers win.",
    werewolves_won="The game is over: the werewolves win.",
    all_roles="The roles:",
    is_role="{name}: {role}",
    lobby_line="A game of Werewolf has not begun yet. /start begins it.",
    night_line="It is night {day}.",
    talk_line="It is day {day}: the discussion. {name} speaks now.",
    vote_line="It is day {day}: the vote.",
    alive_line="Alive: {names}.",
    killed_line="Killed in night {day}: {name}, a {role}.",
    voted_out_line="Voted out on day {day}: {name}, a {role}.",
    dead_line="You are dead. Only the dead hear you, and you have no moves.",
    finding_line="In night {day} you found out: {finding}",
    last_save_line="The last one you guarded is {name}; the next time it must be somebody else.",
    to_do="What to do now: {task}.",
    speak_task="it is your turn to speak; say in a few sentences whom you suspect and why",
    vote_task="vote for whom you want out, as a line of its own: /vote NAME, or /vote nobody",
    unknown_move="There is no such move. Moves: {moves}.",
    over_refused="The game is over.",
    started_refused="The game has begun already.",
    lobby_refused="The game has not begun yet. /start begins it.",
    night_refused="Not now: it is night. Moves: /kill, /check, /save, /pass.",
    talk_refused="Not now: the players discuss, and it is the turn of {name}.",
    vote_refused="Not now: it is the vote. Moves: /vote NAME, /vote nobody, /pass.",
    not_player="Only players of this game can do that. They are: {names}.",
    dead_refused="You are dead and have no moves any more.",
    only_role="Only a {role} can do that.",
    no_night_move="You have nothing to do at night.",
    moderator_only="Only whoever runs the session can do that.",
    not_your_turn="It is not your turn to speak, but that of {name}.",
    moved_refused="You have had your move for this night.",
    victim_chosen="The victim of this night is chosen and cannot be changed.",
    no_choice="Nobody of that name can be chosen. You can choose: {names}.",
    dead_choice="{name} is dead. You can choose: {names}.",
    few_players="It takes at least {least} players, and there are {count}.",
    no_werewolf="It takes at least one werewolf.",
    many_werewolves="The werewolves must be fewer than the others: {werewolves} of {count} players.",
    unknown_role="There is no role {role}. Roles: {roles}.",
    negative_count="There cannot be {count} of {role}.",
    many_roles="There are more roles than players who could have them: {count} for {players}.",
    unknown_id="Nobody of the id {id} plays. Players: {ids}.",
    twice_player="{id} is among the players twice.",
    talk_rounds_range="There can be 0 to {most} rounds of discussion.",
)
CHINESE = WerewolfTexts(
    roles={WEREWOLF: "狼人", SEER: "预言家", DOCTOR: "医生", VILLAGER: "村民"},
    tasks={
        WEREWOLF: "选出要杀的人，单独写一行：/杀 名字",
        SEER: "查验一名玩家，单独写一行：/查验 名字",
        DOCTOR: "守护一名玩家，可以是自己，但不能连续两晚守护同一人，单独写一行：/救 名字",
        VILLAGER: "你在夜里睡觉",
    },
    nobody="无",
    started="游戏开始。玩家：{players}。\n本局角色：{counts}。",
    you_are="你是{role}。夜里：{task}。",
    fellows="狼人是：{names}。",
    night_falls="第 {day} 夜，天黑请闭眼。狼人：/杀 名字。预言家：/查验 名字。医生：/救 名字。什么都不做：/过。",
    victim_named="{name} 要杀 {victim}。",
    finding="{name} 是狼人。",
    finding_none="{name} 不是狼人。",
    saved="你今晚守护 {name}。",
    died="第 {day} 天，天亮了。昨夜 {name} 被杀。",
    nobody_died="第 {day} 天，天亮了。昨夜无人死亡。",
    was="{name} 的身份是{role}。",
    talk_begins="大家依次发言。{name} 先发言。",
    next_speaker="轮到 {name} 发言。",
    vote_begins="现在投票，所有活着的人：/投票 名字，或 /投票 无。",
    tally="投票：{votes}。",
    nobody_voted="没有人投票",
    voted_out="{name} 被投票出局。",
    nobody_out="没有人出局。",
    villagers_won="游戏结束：村民获胜。",
    werewolves_won="游戏结束：狼人获胜。",
    all_roles="所有身份：",
    is_role="{name}：{role}",
    lobby_line="狼人杀还没有开始。发送 /开始 即可开始。",
    night_line="现在是第 {day} 夜。",
    talk_line="现在是第 {day} 天的发言阶段，轮到 {name} 发言。",
    vote_line="现在是第 {day} 天的投票阶段。",
    alive_line="存活：{names}。",
    killed_line="第 {day} 夜被杀：{name}，身份是{role}。",
    voted_out_line="第 {day} 天被投票出局：{name}，身份是{role}。",
    dead_line="你已经出局。只有出局的人听得到你，你不能再行动。",
    finding_line="第 {day} 夜你查验的结果：{finding}",
    last_save_line="你上一次守护的是 {name}，下一次必须换一个人。",
    to_do="现在要做的：{task}。",
    speak_task="轮到你发言，用几句话说明你怀疑谁、为什么",
    vote_task="投票选出要出局的人，单独写一行：/投票 名字，或 /投票 无",
    unknown_move="没有这种行动。可用的行动：{moves}。",
    over_refused="游戏已经结束。",
    started_refused="游戏已经开始了。",
    lobby_refused="游戏还没有开始。发送 /开始 即可开始。",
    night_refused="现在是夜里，不能这样做。可用的行动：/杀、/查验、/救、/过。",
    talk_refused="现在是发言阶段，不能这样做。轮到 {name} 发言。",
    vote_refused="现在是投票阶段，不能这样做。可用的行动：/投票 名字、/投票 无、/过。",
    not_player="只有本局玩家可以这样做。玩家：{names}。",
    dead_refused="你已经出局，不能再行动。",
    only_role="只有{role}可以这样做。",
    no_night_move="你在夜里没有行动。",
    moderator_only="只有主持会话的人可以这样做。",
    not_your_turn="还没轮到你发言，现在轮到 {name}。",
    moved_refused="你今晚已经行动过了。",
    victim_chosen="今晚要杀的人已经选定，不能再改。",
    no_choice="没有可选的人叫这个名字。可以选：{names}。",
    dead_choice="{name} 已经出局。可以选：{names}。",
    few_players="至少需要 {least} 名玩家，现在只有 {count} 名。",
    no_werewolf="至少需要一名狼人。",
    many_werewolves="狼人必须少于其他人：{count} 名玩家中有 {werewolves} 名狼人。",
    unknown_role="没有角色 {role}。可用的角色：{roles}。",
    negative_count="{role} 的数量不能是 {count}。",
    many_roles="角色多于可以分配的玩家：{count} 个角色，{players} 名玩家。",
    unknown_id="玩家中没有 id {id}。玩家：{ids}。",
    twice_player="玩家 {id} 出现了两次。",
    talk_rounds_range="发言轮数只能是 0 到 {most}。",
)

PROMPTS: Mapping[Language, str] = {
    Language.EN: """\
You are {{name}}, a player in a game of Werewolf in a chat room.
Who you are: {{persona}}
Who else is there: {{colleagues}}
Answer as yourself only: never speak for anybody else, and put no name before your words.
Keep to yourself what only you know, unless telling it helps your side.
A move is a line of its own that begins with a slash, such as /vote NAME. Write one only when you are told to.
What you know of the game:
{{memory}}""",
    Language.ZH: """\
你是 {{name}}，正在聊天室里玩狼人杀。
你的人设：{{persona}}
在场的其他人：{{colleagues}}
只以你自己的身份回答：不要替别人说话，也不要在发言前写名字。
只有你知道的事情不要说出去，除非说出来对你的阵营有利。
行动要单独写一行，以斜杠开头，例如 /投票 名字。只有要求你行动时才写。
你所知道的局面：
{{memory}}""",
}


def texts_of(language: Language) -> WerewolfTexts:
    """The texts in a language: Chinese, else English."""
    return CHINESE if language is Language.ZH else ENGLISH
