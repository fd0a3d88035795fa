"""For pytest: the folders of cases are data, in which it need not look for tests."""

collect_ignore_glob = ["*/*"]
