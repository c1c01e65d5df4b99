"""What WhatsApp itself writes into exports, in the languages it is used in most."""

import re

_MARK = "\u200e?"
_FILE = r"(?P<file>[^<>\n]+\.\w{1,5})"
ATTACHED = re.compile(rf"{_MARK}<{_MARK}[^<>\n:：]{{2,24}}\s?[:：]\s*{_FILE}>")
"""iOS: ``<attached: 00000012-PHOTO-2025-07-11-15-38-00.jpg>``, whatever the word."""
_BEHIND = (
    "file attached|Datei angehängt|archivo adjunto|fichier joint|arquivo anexado|file allegato|bestand bijgevoegd"
    "|файл добавлен|dosya ekli|文件附件|附件|已附加文件|附加檔案|檔案已附加|添付ファイル|파일 첨부됨|الملف مرفق"
)
ATTACHED_BEHIND = re.compile(rf"{_MARK}{_FILE}\s?[（(](?:{_BEHIND})[)）]", re.IGNORECASE)
"""Android: ``IMG-20250711-WA0001.jpg (file attached)``."""

_LEFT_OUT = (
    "omitted|weggelassen|ausgeschlossen|omitid[oa]|omitt?is?e?s?|absente?|oculta|ocultad[oa]|omess[oa]|weggelaten"
    "|пропущен[оаы]?|без медиафайлов|eklenmedi|已忽略|已省略|省略|略去|除外|생략됨|استبعاد"
)
_OMITTED = re.compile(
    rf"{_MARK}<?(?P<what>[^<>\n]{{0,80}}?)\s?(?:{_LEFT_OUT})\s?(?P<more>[^<>\n]{{0,12}})>?",
    re.IGNORECASE,
)
_KINDS = {
    "image": "image|photo|bild|foto|imagen|imagem|immagine|afbeelding|图像|图片|圖片|影像|画像|изображение|사진",
    "video": "video|vídeo|видео|视频|視頻|影片|動画|gif|동영상",
    "audio": "audio|voice|sprachnachricht|аудио|音频|語音|语音|音訊|オーディオ|오디오",
    "sticker": "sticker|figurinha|стикер|贴图|貼圖|スタンプ|스티커",
    "contact": "contact|kontakt|contacto|contato|contatto|联系人|聯絡人|連絡先|연락처",
    "file": "document|dokument|documento|документ|文件|文档|ドキュメント|문서",
    "media": "media|medien|multimedia|médias?|mídia|медиа|媒体|媒體|多媒体|メディア|archivo|미디어|الوسائط",
}
_KIND_WORDS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _KINDS.items()}

DELETED = re.compile(
    "This message was deleted|You deleted this message|This message was deleted by admin .*"
    "|Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht"
    "|Se eliminó este mensaje|Este mensaje fue eliminado|Eliminaste este mensaje|Se ha eliminado este mensaje"
    "|Ce message a été supprimé|Vous avez supprimé ce message|Mensagem apagada|Você apagou esta mensagem"
    "|Esta mensagem foi apagada|Questo messaggio è stato eliminato|Hai eliminato questo messaggio"
    "|Dit bericht is verwijderd|Это сообщение удалено|Данное сообщение удалено|Вы удалили данное сообщение"
    "|Bu mesaj silindi"
    "|此消息已删除|该消息已被删除|这条消息已删除|消息已删除|您删除了这条消息|您已删除此消息|你已删除此消息|您已刪除此訊息|這則訊息已刪除|此訊息已刪除|你已刪除此訊息"
    "|このメッセージは削除されました|삭제된 메시지입니다|تم حذف هذه الرسالة|حذفتَ هذه الرسالة|لقد حذفت هذه الرسالة"
)
EDITED = re.compile(
    rf"\s*{_MARK}<{_MARK}[^<>\n]*(?:edited|bearbeitet|editó|editado|editada|modifié|modificato|bewerkt|изменено|düzenlendi"
    rf"|已编辑|已編輯|编辑过|編集済み|수정됨|تعديل)[^<>\n]*>\s*$",
    re.IGNORECASE,
)


def omitted(line: str) -> str:
    """The kind of what was left out of an export: ``<Media omitted>``, ``image omitted``; empty for anything else."""
    found = _OMITTED.fullmatch(line)
    if found is None:
        return ""
    what = found["what"] + found["more"]
    is_marked = line.startswith("<")
    kinds = [kind for kind, words in _KIND_WORDS.items() if words.search(what)]
    if not kinds and not is_marked:
        return ""
    short = len(what.split()) <= 2 or "•" in what
    return (kinds or ["media"])[0] if is_marked or short else ""


_QUOTES = ("“", "”"), ("«", "»"), ("„", "“”"), ("「", "」"), ("『", "』")
_NOTICE = re.compile(
    # Calls and messages are encrypted; what follows may hold a colon, such as an address to learn more.
    r"(?:\w{1,3} )?(?:messages|calls|chats?|nachrichten|mensajes|mensagens|messaggi|berichten|сообщения|mesajlar)\b.*?"
    r"(?:end-to-end (?:encrypt|versleuteld|verschlüsselt|crittograf)|ende-zu-ende-verschlüssel|de extremo a extremo"
    r"|de bout en bout|de ponta a ponta|ponto a ponto|crittografat[ie] end-to-end|crittografia end-to-end"
    r"|сквозн\w+ шифрован|uçtan uca şifre)"
    r"|.*(?:端到端加密|端對端加密|エンドツーエンド|종단\s?간 암호화|مشفرة تمام|التشفير التام بين الطرفين)"
    # Somebody changed what the group is called or what is said of it, or made it.
    r"|.+ (?:changed|updated|deleted) (?:the|this) (?:group(?:'s|’s)? )?(?:subject|name|description|icon|settings)\b"
    r"|.+ (?:created|added you to) (?:the |this )?(?:group|community)\b"
    r"|.+ (?:hat|hast) (?:den (?:Betreff|Namen|Gruppennamen)|die (?:Gruppe|Gruppenbeschreibung|Beschreibung))\b"
    r"|.+ (?:cambió|cambiaste|modificó) (?:el asunto|el nombre|la descripción|el ícono)\b"
    r"|.+ (?:creó|creaste) el grupo\b"
    r"|.+ (?:a|avez) (?:changé|modifié) (?:l['’]objet|le sujet|le nom|la description)\b"
    r"|.+ (?:a|avez) créé le groupe\b"
    r"|.+ (?:mudou|alterou|mudaste|alteraste) (?:o nome|o assunto|a descrição)\b|.+ criou (?:o |este )?grupo\b"
    r"|.+ (?:ha|hai) (?:cambiato|modificato) (?:l['’]oggetto|il nome|la descrizione)\b|.+ (?:ha|hai) creato il gruppo\b"
    r"|.+ (?:heeft|hebt) (?:het onderwerp|de naam|de groepsnaam|de (?:groeps)?beschrijving|de groep)\b"
    r"|.+ (?:изменил|изменила|изменил\(а\)|изменили) (?:тему|название|описание)\b"
    r"|.+ (?:создал|создала|создал\(а\)) группу\b"
    r"|.+ (?:grubun|grup|bu grubun) (?:konusunu|adını|ismini|açıklamasını)\b"
    r"|.+(?:更改|更改了|修改了|变更了|變更了|将|將|已将|已將)(?:此|本|该|該)?(?:群组|群組|群)?(?:的)?(?:主题|主題|名称|名稱|描述|说明|說明|简介|簡介)"
    r"|.+(?:创建了|建立了)(?:此|本|该|該)?(?:群组|群組)"
    r"|.+(?:グループ名|グループの件名|グループの説明|件名)を"
    r"|.+(?:그룹 이름|그룹 설명|그룹 제목|제목)을 "
    r"|.+(?:غيّر|غيّرت|غير|قام بتغيير) (?:الموضوع|اسم المجموعة|وصف المجموعة)",
    re.IGNORECASE | re.DOTALL,
)


def is_notice(before_colon: str) -> bool:
    """Whether what stands before a colon is no name, but the beginning of something that WhatsApp itself says.

    So it is where a quotation is still open: Ann changed the group name from “tea” to “tea: the sequel”.
    """
    is_quoting = any(
        before_colon.count(opening) > sum(map(before_colon.count, closing))
        for opening, closing in _QUOTES
    )
    return is_quoting or _NOTICE.match(before_colon) is not None
