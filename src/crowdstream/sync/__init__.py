"""Everything from an annotation tool's API → a project on a server, and decisions back.

A webhook may be lost; a sync finds what is missing, changed or gone, and sends only that. Together
they miss nothing. Needs the extra ``serve``.
"""
