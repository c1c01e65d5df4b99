"""What chats and rooms say of the server's model."""

ASKER = "cli"
ECHO = "[echo: "
"""How the answer of the model begins that is none; a test compares it with the echo's own words in every language."""
NO_MODEL = (
    "no model answered but an echo: give the server BACKSCROLL_MODEL_API_KEY, or BACKSCROLL_MODEL_BASE_URL of a model "
    "of your own; if it has one, its log and backscroll check-config say what is wrong with it"
)
ADVICE = {
    "loading": "wait until the model is loaded",
    "rate_limited": "wait a little, or ask another model",
    "rejected": "look at BACKSCROLL_DEFAULT_MODEL: the model may not exist there; one that refuses a temperature needs "
    "BACKSCROLL_TEMPERATURE=none; the server's log names what the vendor named",
    "unauthorized": "look at BACKSCROLL_MODEL_API_KEY of the server",
    "server_error": "try again; if it never worked, look at BACKSCROLL_MODEL_BASE_URL of the server, and at the "
    "status in its log",
    "timeout": "try again; a model that is silent for longer needs more BACKSCROLL_MODEL_IDLE_SECONDS at the server",
    "connection": "look at BACKSCROLL_MODEL_BASE_URL of the server, and whether the model runs there",
    "bad_response": "look at BACKSCROLL_MODEL_BASE_URL of the server: it ends with the version, such as /v1",
}
