"""With real tools, installed for it: ``make e2e``."""
