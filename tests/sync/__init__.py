"""Annotation tools and a server that come to know the same."""
