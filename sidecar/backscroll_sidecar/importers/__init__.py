"""Chat logs of many platforms as messages. Pure readers: files in, `backscroll.v1.Message` out; nothing is sent.

`sources` opens files, folders and archives; `recognise` looks at what one begins with and names its format; a format
turns it into `items`; `survey` goes through all of them, twice: once to learn names and find what is wrong, once for
the messages. Each format is one small module, listed in `recognise.FORMATS`.
"""
