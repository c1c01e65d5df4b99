"""How many servers a load needs: a simulation fed with what was measured (docs/guide/scaling.md)."""
