"""`python -m viewer` is `turnlog`."""

from __future__ import annotations

from viewer.start import main

if __name__ == "__main__":
    main()
