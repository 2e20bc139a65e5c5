"""Adapters to other libraries, each in a module of its name that needs that library."""
