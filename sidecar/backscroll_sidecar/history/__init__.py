"""How messages get in and out: validate, analyse, commit, publish; append, edit, retract, import, read."""
