"""Certificates for servers that tests start."""

import subprocess
from pathlib import Path

from backscroll_sidecar.edge.listeners import TlsFiles


def certificate_of_own(folder: Path) -> TlsFiles:
    """A certificate for this machine that nobody but itself has signed.

    It says that it is no authority's: rustls takes such a one for no server's.
    """
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert),
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-addext", "basicConstraints=critical,CA:FALSE"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return TlsFiles(cert, key)
