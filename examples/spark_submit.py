"""`crowdstream spark run` for spark-submit, which brings the cluster and its settings.

    spark-submit --master yarn examples/spark_submit.py hdfs:///labels -o hdfs:///decisions

The executors need crowdstream[spark] in the Python that they run.
"""

import sys

from crowdstream.cli import main

sys.argv[1:1] = ["spark", "run"]
main()
