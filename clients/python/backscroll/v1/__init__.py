"""Messages and services of backscroll.v1, generated from proto/ by `make proto`. Do not edit."""
