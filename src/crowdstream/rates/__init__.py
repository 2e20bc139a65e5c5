"""Valid rates from few gold labels: shares of classes, accuracy of systems, differences of both."""

from crowdstream.rates.needed import gold_for_width
from crowdstream.rates.rate import rate
from crowdstream.rates.records import Rate, Rates

__all__ = ["Rate", "Rates", "gold_for_width", "rate"]
