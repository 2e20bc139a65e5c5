"""Every chart of the report by itself, for notebooks and slides (altair, in the report's colours).

Needs the extra ``report``: ``pip install 'crowdstream[report]'``.
"""

from crowdstream.report.charts.agreement import agreement
from crowdstream.report.charts.confidence import confidence
from crowdstream.report.charts.hardest import hardest
from crowdstream.report.charts.money import money
from crowdstream.report.charts.reliability import reliability
from crowdstream.report.charts.trends import trends
from crowdstream.report.charts.workers import workers

__all__ = ["agreement", "confidence", "hardest", "money", "reliability", "trends", "workers"]
