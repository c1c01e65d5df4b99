"""The path of BuildContext, top to bottom: route, open, question, pick, lines, fit, assemble, record.

Modules on it name the members of enumerations they compare with once (``_NEAR = Reach.NEAR``): Python 3.11 finds a
member by `EnumType.__getattr__`, nearly 900 instructions a look, of which a build had 28.
"""
