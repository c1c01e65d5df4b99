"""``python -m backscroll_sidecar.cli``: the command line without its script on the PATH."""

from backscroll_sidecar.cli import main

raise SystemExit(main())
