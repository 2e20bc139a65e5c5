"""An annotation consolidation function for SageMaker Ground Truth that weighs workers.

Put it into a Lambda function with crowdstream beside it (a layer or an image), its handler
``ground_truth_lambda.handler``, and name the function in the labelling job. Its role needs
``s3:GetObject`` on the job's output.

Ground Truth calls it with ``{"labelAttributeName": …, "labelingJobArn": …, "labelCategories": […],
"payload": {"s3Uri": …}}`` and takes back one consolidated annotation per object.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import crowdstream as cs


def read_s3(uri: str) -> bytes:
    """What is at an address such as s3://bucket/key."""
    import boto3  # in every Lambda function of AWS

    place = urlsplit(uri)
    found = boto3.client("s3").get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))
    return bytes(found["Body"].read())


def handler(
    event: dict[str, Any], context: object, read: Callable[[str], bytes] = read_s3
) -> list[dict[str, object]]:
    """Decide the objects of a call."""
    payload = json.loads(read(event["payload"]["s3Uri"]))
    return cs.writers.consolidate(event, payload)
