"""What models cost, and the ledger of what sessions used."""
