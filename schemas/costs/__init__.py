"""Costs of models, and the ledger of the tokens that sessions used."""
