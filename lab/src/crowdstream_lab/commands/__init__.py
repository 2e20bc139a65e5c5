"""The commands that this package adds to ``crowdstream``; pyproject.toml names them.

Quick to import: ``crowdstream --help`` does so.
"""

from crowdstream.cli.plugins import Plugin

COMPARE = Plugin(
    "Compare methods on data whose correct labels are known.",
    "crowdstream_lab.commands.compare:compare",
)
PAPER = Plugin(
    "Repeat the experiments of the paper and check its claims.",
    "crowdstream_lab.commands.paper:paper",
)
POLICIES = Plugin(
    "Compare methods that choose which labels to buy.",
    "crowdstream_lab.commands.policies:policies",
)
