"""What WhatsApp itself writes into exports, in the languages it is used in most."""

from __future__ import annotations

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
