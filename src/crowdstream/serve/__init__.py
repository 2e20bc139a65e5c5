"""The server: labels in over HTTP, decisions back in the same response, on disk before the answer.

One thread (`engine`) owns every stream and the one connection that writes (`store`); requests wait
for it in a bounded queue and are answered once what they said is on the disk. Needs the extra
``serve``. The client and `crowdstream.sync` share its types (`wire`), the command line starts it.
"""
