"""Rivals, theory, experiments: what crowdstream is measured against, and the paper it stands on."""
